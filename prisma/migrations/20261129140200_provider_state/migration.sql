-- What is known of the providers' accounts: one row each, written only together with the ledger entries that say why.

CREATE TABLE provider_state (
  provider          text PRIMARY KEY,
  -- Named by every conditional write, and by every submission that rests on it.
  revision          integer NOT NULL CHECK (revision >= 0),
  state             text NOT NULL CHECK (state IN ('closed', 'open', 'probing')),
  reason            text,
  opened_at         timestamptz(3),
  closed_at         timestamptz(3),
  failures          integer NOT NULL,
  probe_at          timestamptz(3),
  probe_attempt     text COLLATE "C",
  probe_submission  integer,
  probe_until       timestamptz(3),
  CHECK ((state = 'open') = (probe_at IS NOT NULL)),
  CHECK ((state = 'probing') = (probe_attempt IS NOT NULL) AND (probe_attempt IS NULL) = (probe_until IS NULL))
);
GRANT INSERT, SELECT, UPDATE ON provider_state TO tocsin_app;

-- Since when a queued attempt waits for its provider; found by it when the provider is back.
ALTER TABLE attempt ADD COLUMN provider_wait_at timestamptz(3);
CREATE INDEX attempt_waiting ON attempt (provider, provider_wait_at) WHERE provider_wait_at IS NOT NULL;
