-- Persons who were erased, by keyed fingerprints alone: by these each erasure is done again in a database that was restored from before it.
CREATE TABLE erasure (
  erasure_id       text COLLATE "C" PRIMARY KEY CHECK (erasure_id ~ '^ers_[0-9A-HJKMNP-TV-Z]{26}$'),
  tenant           text NOT NULL,
  -- What was requested until then is erased; who comes back later is not.
  at               timestamptz(3) NOT NULL,
  reason           text NOT NULL CHECK (reason ~ '^[a-z][a-z_]{0,39}$'),
  actor            text NOT NULL,
  -- What was given, read as a recipient's reference, as a player's, and where it is one as a number or an address.
  reference_print  bytea NOT NULL,
  player_print     bytea NOT NULL,
  sms_print        bytea,
  email_print      bytea,
  -- Keyed, over all of the above: a line of the copy outside of this database counts only with it.
  mac              bytea NOT NULL,
  -- In which database (see tocsin_feed_identity) it was carried out; in any other one it is due again.
  applied_at       timestamptz(3),
  applied_in       text,
  CHECK ((applied_at IS NULL) = (applied_in IS NULL))
);
CREATE FUNCTION tocsin_keep_erasure() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.erasure_id, NEW.tenant, NEW.at, NEW.reason, NEW.actor, NEW.reference_print, NEW.player_print, NEW.sms_print, NEW.email_print, NEW.mac)
     IS DISTINCT FROM (OLD.erasure_id, OLD.tenant, OLD.at, OLD.reason, OLD.actor, OLD.reference_print, OLD.player_print, OLD.sms_print, OLD.email_print, OLD.mac)
     OR NEW.applied_at IS NULL THEN
    RAISE EXCEPTION 'erasure % can be carried out, and nothing else', OLD.erasure_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER erasure_kept BEFORE UPDATE ON erasure FOR EACH ROW EXECUTE FUNCTION tocsin_keep_erasure();
CREATE TRIGGER erasure_no_delete BEFORE DELETE ON erasure FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER erasure_no_truncate BEFORE TRUNCATE ON erasure FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON erasure TO tocsin_app;
GRANT UPDATE (applied_at, applied_in) ON erasure TO tocsin_app;

-- What else may tell of a person can be destroyed now, once, and nothing else.
ALTER TABLE observation_raw ALTER COLUMN key_id DROP NOT NULL, ALTER COLUMN box DROP NOT NULL, ADD COLUMN destroyed_at timestamptz(3),
  ADD CHECK ((box IS NULL) = (destroyed_at IS NOT NULL) AND (box IS NULL) = (key_id IS NULL));
GRANT UPDATE (key_id, box, destroyed_at) ON observation_raw TO tocsin_app;
CREATE FUNCTION tocsin_keep_observation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.id, NEW.event_id, NEW.version, NEW.at) IS DISTINCT FROM (OLD.id, OLD.event_id, OLD.version, OLD.at) OR NEW.box IS NOT NULL
     OR (OLD.box IS NULL AND NEW.destroyed_at IS DISTINCT FROM OLD.destroyed_at) THEN
    RAISE EXCEPTION 'an observation of % can be destroyed once, and nothing else', OLD.event_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER observation_raw_destroy_only BEFORE UPDATE ON observation_raw FOR EACH ROW EXECUTE FUNCTION tocsin_keep_observation();

REVOKE UPDATE ON ticket FROM tocsin_app;
GRANT UPDATE (key_id, box, erased_at) ON ticket TO tocsin_app;
CREATE FUNCTION tocsin_keep_ticket() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.event_id, NEW.category, NEW.region, NEW.locale, NEW.queue, NEW.urgency, NEW.received_at, NEW.retention_until, NEW.receipt_token_hash)
     IS DISTINCT FROM (OLD.event_id, OLD.category, OLD.region, OLD.locale, OLD.queue, OLD.urgency, OLD.received_at, OLD.retention_until, OLD.receipt_token_hash)
     OR NEW.box IS NOT NULL OR NEW.key_id IS NOT NULL OR (OLD.box IS NULL AND NEW.erased_at IS DISTINCT FROM OLD.erased_at) THEN
    RAISE EXCEPTION 'the ticket of % can be erased once, and nothing else', OLD.event_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER ticket_erase_only BEFORE UPDATE ON ticket FOR EACH ROW EXECUTE FUNCTION tocsin_keep_ticket();

GRANT UPDATE (key_id, box) ON dead_letter_request TO tocsin_app;
CREATE FUNCTION tocsin_keep_request_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.key_id, NEW.box) IS DISTINCT FROM (OLD.key_id, OLD.box) AND NEW.box IS NOT NULL THEN
    RAISE EXCEPTION 'the text of request % can be destroyed, and nothing else', OLD.id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER dead_letter_request_text BEFORE UPDATE ON dead_letter_request FOR EACH ROW EXECUTE FUNCTION tocsin_keep_request_text();

-- A link ends with whom it was made for.
GRANT UPDATE (expires_at) ON report_link TO tocsin_app;
