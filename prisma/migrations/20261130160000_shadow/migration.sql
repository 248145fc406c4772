-- What ran in shadow was never submitted.
ALTER TABLE attempt ADD CONSTRAINT attempt_shadowed_unsubmitted CHECK (state <> 'shadowed' OR (submitted_at IS NULL AND provider_message_id IS NULL));
