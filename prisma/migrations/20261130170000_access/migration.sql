-- Who may do what: operators and their sessions, what an API key is good for, and the trail of what was done with either.

CREATE TABLE operator (
  name                 text PRIMARY KEY CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$'),
  role                 text NOT NULL CHECK (role IN ('viewer', 'operator', 'admin')),
  -- scrypt, with the parameters it was made with: scrypt$N$r$p$salt$hash.
  password_hash        text NOT NULL CHECK (password_hash LIKE 'scrypt$%'),
  created_at           timestamptz(3) NOT NULL,
  password_changed_at  timestamptz(3) NOT NULL,
  disabled_at          timestamptz(3)
);
-- Ada and ada would be taken for one another in every list. A row stays for good: the trail names it.
CREATE UNIQUE INDEX operator_name ON operator (lower(name));
GRANT INSERT, SELECT ON operator TO tocsin_app;
GRANT UPDATE (role, password_hash, password_changed_at, disabled_at) ON operator TO tocsin_app;

-- Sessions of the dashboard. The token stands in the browser's cookie only; here is its hash.
CREATE TABLE operator_session (
  session_id  text PRIMARY KEY CHECK (session_id ~ '^[0-9a-f]{16}$'),
  token_hash  bytea NOT NULL UNIQUE CHECK (octet_length(token_hash) = 32),
  -- Of the form it was opened with: a form that was sent again opens nothing.
  form_hash   bytea NOT NULL UNIQUE CHECK (octet_length(form_hash) = 32),
  operator    text NOT NULL REFERENCES operator (name),
  created_at  timestamptz(3) NOT NULL,
  seen_at     timestamptz(3) NOT NULL,
  expires_at  timestamptz(3) NOT NULL,
  ended_at    timestamptz(3)
);
CREATE INDEX operator_session_open ON operator_session (operator) WHERE ended_at IS NULL;
CREATE INDEX operator_session_expiry ON operator_session (expires_at);
GRANT INSERT, SELECT, DELETE ON operator_session TO tocsin_app;
GRANT UPDATE (seen_at, ended_at) ON operator_session TO tocsin_app;

-- Failed logins in a window, by keyed hashes of name and network: no name that somebody typed is kept.
CREATE TABLE login_throttle (
  key       bytea PRIMARY KEY,
  failures  integer NOT NULL,
  until_at  timestamptz(3) NOT NULL
);
CREATE INDEX login_throttle_until ON login_throttle (until_at);
GRANT INSERT, SELECT, UPDATE, DELETE ON login_throttle TO tocsin_app;

-- Keys of before go on being good for everything.
ALTER TABLE api_key ADD COLUMN scopes text[] NOT NULL
  DEFAULT ARRAY['notifications:write', 'notifications:read', 'notifications:act', 'artifacts:write', 'feed:read'];

-- Every change by a person, every login, every read of this trail. Codes, names and ids only.
CREATE TABLE audit_entry (
  id          bigint PRIMARY KEY,
  at          timestamptz(3) NOT NULL,
  actor       text NOT NULL CHECK (actor ~ '^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$'),
  -- What the actor might do at that moment; null for who works on the database itself.
  role        text CHECK (role IN ('viewer', 'operator', 'admin')),
  via         text NOT NULL CHECK (via IN ('dashboard', 'basic', 'cli', 'service')),
  -- The first half of a session's id, and a keyed hash of the client's network: never an address.
  session     text CHECK (session ~ '^[0-9a-f]{8}$'),
  client      text CHECK (client ~ '^[0-9a-f]{16}$'),
  action      text NOT NULL CHECK (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- An id or a name; nothing that a person wrote freely.
  target      text NOT NULL CHECK (target ~ '^[A-Za-z0-9_.:/=,*-]{1,200}$'),
  result      text NOT NULL CHECK (result ~ '^[a-z][a-z_]{0,39}$'),
  reason      text CHECK (reason ~ '^[a-z][a-z_]{0,39}$'),
  request_id  text NOT NULL CHECK (request_id ~ '^[A-Za-z0-9_.:-]{1,64}$'),
  -- What the hash covers, and the chain. Written by the trigger below.
  body        text NOT NULL,
  prev_hash   bytea NOT NULL,
  hash        bytea NOT NULL,
  CHECK (hash = sha256(prev_hash || convert_to(body, 'UTF8')))
);
CREATE INDEX audit_entry_actor ON audit_entry (actor, id);
CREATE INDEX audit_entry_action ON audit_entry (action, id);
CREATE INDEX audit_entry_at ON audit_entry (at, id);

-- One entry after the other: numbers without a gap, instants that never go back, each hash over the one before. Such entries are
-- few, so that waiting for each other costs nothing. It comes last in a transaction: whoever holds it waits for nobody.
CREATE FUNCTION tocsin_chain_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE last public.audit_entry;
BEGIN
  PERFORM pg_catalog.pg_advisory_xact_lock(8026, 0);
  SELECT * INTO last FROM public.audit_entry ORDER BY id DESC LIMIT 1;
  NEW.id := coalesce(last.id, 0) + 1;
  NEW.at := greatest(NEW.at, last.at);
  NEW.body := jsonb_build_object(
    'id', NEW.id, 'at', (extract(epoch FROM NEW.at) * 1000)::bigint, 'actor', NEW.actor, 'role', NEW.role, 'via', NEW.via, 'session', NEW.session, 'client', NEW.client,
    'action', NEW.action, 'target', NEW.target, 'result', NEW.result, 'reason', NEW.reason, 'request_id', NEW.request_id)::text;
  NEW.prev_hash := coalesce(last.hash, decode(repeat('00', 32), 'hex'));
  NEW.hash := sha256(NEW.prev_hash || convert_to(NEW.body, 'UTF8'));
  RETURN NEW;
END $$;
CREATE TRIGGER audit_entry_chain BEFORE INSERT ON audit_entry FOR EACH ROW EXECUTE FUNCTION tocsin_chain_audit();
CREATE TRIGGER audit_entry_append_only BEFORE UPDATE OR DELETE ON audit_entry FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON audit_entry TO tocsin_app;
