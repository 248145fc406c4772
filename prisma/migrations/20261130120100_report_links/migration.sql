-- Links to reports. The token stands in the message only; here is its hash.
CREATE TABLE report_link (
  link_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  token_hash   bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  event_id     text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  artifact_id  text COLLATE "C" NOT NULL REFERENCES artifact (artifact_id),
  -- By which it was sent; its codes go by the other one.
  channel      text NOT NULL CHECK (channel IN ('sms', 'email')),
  expires_at   timestamptz(3) NOT NULL,
  -- Wrong codes ever, and codes ever sent: both are bounded for good.
  tries        integer NOT NULL DEFAULT 0,
  codes        integer NOT NULL DEFAULT 0,
  -- The one code that opens it now, as a keyed hash; null once used or used up.
  code_hash    bytea,
  code_until   timestamptz(3),
  code_tries   integer NOT NULL DEFAULT 0,
  -- The notification that carries the code.
  code_event   text COLLATE "C",
  UNIQUE (event_id, channel)
);
GRANT INSERT, SELECT ON report_link TO tocsin_app;
GRANT UPDATE (tries, codes, code_hash, code_until, code_tries, code_event) ON report_link TO tocsin_app;

-- Every access, also to what does not exist: so that both cost the same, and tries are seen.
CREATE TABLE report_access (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Null where there is no such link.
  link_id     bigint REFERENCES report_link (link_id),
  action      text NOT NULL CHECK (action IN ('page', 'code', 'open')),
  result      text NOT NULL,
  at          timestamptz(3) NOT NULL,
  request_id  text NOT NULL,
  -- A keyed hash of the client's network.
  client      bytea NOT NULL
);
CREATE INDEX report_access_link ON report_access (link_id, id) WHERE link_id IS NOT NULL;
CREATE TRIGGER report_access_append_only BEFORE UPDATE OR DELETE ON report_access FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER report_access_no_truncate BEFORE TRUNCATE ON report_access FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON report_access TO tocsin_app;
