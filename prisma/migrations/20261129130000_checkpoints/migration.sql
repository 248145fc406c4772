-- Signed checkpoints over the ledger; the same lines stand in a file outside of this database.

CREATE TABLE checkpoint (
  sequence   bigint PRIMARY KEY CHECK (sequence > 0),
  minute_at  timestamptz(3) NOT NULL,
  -- A backlog larger than one checkpoint takes several of one minute.
  part       integer NOT NULL CHECK (part > 0),
  -- Every entry of a transaction that had ended by this snapshot (pg_snapshot) is covered by this checkpoint or by one before it.
  snapshot   text NOT NULL,
  -- The canonical text (RFC 8785) that hash and signature cover.
  body       text NOT NULL,
  prev_hash  bytea NOT NULL,
  hash       bytea NOT NULL,
  key_id     text NOT NULL,
  signature  bytea NOT NULL,
  UNIQUE (minute_at, part),
  CHECK (hash = sha256(prev_hash || convert_to(body, 'UTF8')))
);

CREATE TRIGGER checkpoint_append_only BEFORE UPDATE OR DELETE ON checkpoint
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER checkpoint_no_truncate BEFORE TRUNCATE ON checkpoint
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();

GRANT INSERT, SELECT ON checkpoint TO tocsin_app;
