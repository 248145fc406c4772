-- Reports that notices carry by reference. The bytes lie encrypted outside of the database; what is needed to read them, here.
CREATE TABLE artifact (
  artifact_id  text COLLATE "C" PRIMARY KEY CHECK (artifact_id ~ '^art_[0-9A-HJKMNP-TV-Z]{26}$'),
  tenant       text NOT NULL,
  sha256       bytea NOT NULL CHECK (octet_length(sha256) = 32),
  bytes        bigint NOT NULL CHECK (bytes >= 0),
  media_type   text NOT NULL,
  -- The key of these bytes alone, sealed for this row; gone with the bytes.
  key_id       text,
  box          bytea,
  stored_at    timestamptz(3) NOT NULL,
  expires_at   timestamptz(3) NOT NULL CHECK (expires_at > stored_at),
  request_id   text NOT NULL,
  actor        text NOT NULL,
  destroyed_at timestamptz(3),
  CHECK ((key_id IS NULL) = (destroyed_at IS NOT NULL) AND (box IS NULL) = (destroyed_at IS NOT NULL))
);
-- The same bytes of a tenant, as the same type, are one artifact.
CREATE UNIQUE INDEX artifact_standing ON artifact (tenant, sha256, media_type) WHERE destroyed_at IS NULL;
CREATE INDEX artifact_expiry ON artifact (expires_at) WHERE destroyed_at IS NULL;

-- Immutable but for two things: it may live longer, never shorter, and its key can be destroyed once.
CREATE FUNCTION tocsin_keep_artifact() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.artifact_id, NEW.tenant, NEW.sha256, NEW.bytes, NEW.media_type, NEW.stored_at, NEW.request_id, NEW.actor)
     IS DISTINCT FROM (OLD.artifact_id, OLD.tenant, OLD.sha256, OLD.bytes, OLD.media_type, OLD.stored_at, OLD.request_id, OLD.actor)
     OR NEW.expires_at < OLD.expires_at OR OLD.destroyed_at IS NOT NULL
     OR (NEW.destroyed_at IS NULL AND (NEW.key_id, NEW.box) IS DISTINCT FROM (OLD.key_id, OLD.box)) THEN
    RAISE EXCEPTION 'artifact % can live longer or be destroyed, and nothing else', OLD.artifact_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER artifact_immutable BEFORE UPDATE ON artifact FOR EACH ROW EXECUTE FUNCTION tocsin_keep_artifact();
CREATE TRIGGER artifact_no_delete BEFORE DELETE ON artifact FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER artifact_no_truncate BEFORE TRUNCATE ON artifact FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();

GRANT INSERT, SELECT ON artifact TO tocsin_app;
GRANT UPDATE (expires_at, key_id, box, destroyed_at) ON artifact TO tocsin_app;

-- Which notifications carry an artifact: their event and request ids are its metadata, and stand in the immutable intent.
CREATE INDEX notification_artifacts ON notification USING gin (artifact_references jsonb_path_ops) WHERE artifact_references <> '[]'::jsonb;
