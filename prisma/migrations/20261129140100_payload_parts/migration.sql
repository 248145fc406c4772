-- A sealed box is written once. From then on it can be destroyed, and nothing else: not rewritten, not brought back, not moved to another
-- row. The grants say so to the application, the triggers to everyone.

REVOKE UPDATE ON sealed_payload, recipient FROM tocsin_app;
GRANT UPDATE (key_id, box, destroyed_at) ON sealed_payload TO tocsin_app;
GRANT UPDATE (key_id, box, erased_at, reference_print, sms_print, email_print) ON recipient TO tocsin_app;

CREATE FUNCTION tocsin_keep_sealed_payload() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.event_id, NEW.part) IS DISTINCT FROM (OLD.event_id, OLD.part) OR NEW.box IS NOT NULL OR NEW.key_id IS NOT NULL
     OR (OLD.box IS NULL AND NEW.destroyed_at IS DISTINCT FROM OLD.destroyed_at) THEN
    RAISE EXCEPTION 'a sealed part of % can be destroyed once, and nothing else', OLD.event_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER sealed_payload_destroy_only BEFORE UPDATE ON sealed_payload
  FOR EACH ROW EXECUTE FUNCTION tocsin_keep_sealed_payload();

-- The prints stay when the box is destroyed, so that an erasure still finds what else there is of that recipient; it then takes them away.
CREATE FUNCTION tocsin_keep_recipient() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.event_id IS DISTINCT FROM OLD.event_id
     OR (NEW.box IS NOT NULL AND (NEW.box, NEW.key_id) IS DISTINCT FROM (OLD.box, OLD.key_id)) OR (NEW.box IS NULL AND NEW.key_id IS NOT NULL)
     OR (NEW.reference_print IS NOT NULL AND NEW.reference_print IS DISTINCT FROM OLD.reference_print)
     OR (NEW.sms_print IS NOT NULL AND NEW.sms_print IS DISTINCT FROM OLD.sms_print)
     OR (NEW.email_print IS NOT NULL AND NEW.email_print IS DISTINCT FROM OLD.email_print) THEN
    RAISE EXCEPTION 'the recipient of % can be erased, and nothing else', OLD.event_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER recipient_erase_only BEFORE UPDATE ON recipient
  FOR EACH ROW EXECUTE FUNCTION tocsin_keep_recipient();
