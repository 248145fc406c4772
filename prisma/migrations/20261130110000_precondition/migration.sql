-- One more part that may be sealed: where the origin system is asked whether a notice is still needed.
ALTER TABLE sealed_payload DROP CONSTRAINT sealed_payload_part_check;
ALTER TABLE sealed_payload ADD CONSTRAINT sealed_payload_part_check CHECK (part IN ('variables', 'secrets', 'operator_text', 'precondition'));
