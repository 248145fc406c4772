-- The ledger and what is materialized beside it. No default reads a clock: every instant is a parameter.
-- Ids sort as bytes ("C"), for ledger_entry is partitioned by ranges of them and a ULID begins with its time.

CREATE TABLE policy_version (
  purpose     text NOT NULL,
  version     integer NOT NULL CHECK (version > 0),
  hash        text NOT NULL,
  definition  jsonb NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  PRIMARY KEY (purpose, version)
);

CREATE TABLE policy_activation (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  purpose       text NOT NULL,
  version       integer NOT NULL,
  activated_at  timestamptz(3) NOT NULL,
  actor         text NOT NULL,
  FOREIGN KEY (purpose, version) REFERENCES policy_version (purpose, version)
);
CREATE INDEX policy_activation_newest ON policy_activation (purpose, id DESC);

CREATE TABLE template_version (
  name        text NOT NULL,
  version     integer NOT NULL CHECK (version > 0),
  hash        text NOT NULL,
  definition  jsonb NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  PRIMARY KEY (name, version)
);

-- The immutable intent. Nothing in it ever changes, so nothing but INSERT and SELECT is granted on it.
CREATE TABLE notification (
  event_id              text COLLATE "C" PRIMARY KEY CHECK (event_id ~ '^evt_[0-9A-HJKMNP-TV-Z]{26}$'),
  tenant                text NOT NULL,
  idempotency_key       text NOT NULL,
  request_fingerprint   bytea NOT NULL,
  purpose               text NOT NULL,
  policy_version        integer NOT NULL,
  template_versions     jsonb NOT NULL,
  region                text NOT NULL,
  locale                text NOT NULL,
  urgency               text NOT NULL,
  classification        text NOT NULL,
  requested_at          timestamptz(3) NOT NULL,
  expires_at            timestamptz(3) NOT NULL,
  retention_until       timestamptz(3) NOT NULL,
  recipient_commitment  text NOT NULL,
  consent_references    jsonb NOT NULL,
  artifact_references   jsonb NOT NULL,
  request_id            text NOT NULL,
  intent                text NOT NULL,
  intent_hash           bytea NOT NULL CHECK (intent_hash = sha256(convert_to(intent, 'UTF8'))),
  UNIQUE (tenant, idempotency_key),
  FOREIGN KEY (purpose, policy_version) REFERENCES policy_version (purpose, version)
);

-- What is materialized from the entries. Beside the intent and not in it, so that a change rewrites a small row.
CREATE TABLE notification_state (
  event_id    text COLLATE "C" PRIMARY KEY REFERENCES notification (event_id),
  version     integer NOT NULL CHECK (version > 0),
  head_hash   bytea NOT NULL,
  state       jsonb NOT NULL,
  status      text NOT NULL,
  decide_at   timestamptz(3),
  updated_at  timestamptz(3) NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX notification_state_due ON notification_state (decide_at) WHERE decide_at IS NOT NULL;

CREATE TABLE attempt (
  attempt_key           text COLLATE "C" PRIMARY KEY,
  event_id              text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  step                  integer NOT NULL,
  origin                text NOT NULL CHECK (origin IN ('policy', 'operator')),
  channel               text NOT NULL CHECK (channel IN ('sms', 'email')),
  sequence              integer NOT NULL CHECK (sequence > 0),
  state                 text NOT NULL CHECK (state IN (
    'planned', 'queued', 'submitting', 'submitted', 'submitted_unknown', 'delivered', 'undelivered', 'rejected', 'suppressed',
    'render_failed', 'dead_lettered', 'expired', 'cancelled', 'shadowed')),
  provider              text NOT NULL,
  provider_message_id   text,
  render_hash           text,
  policy_version        integer NOT NULL,
  template              text NOT NULL,
  template_version      integer NOT NULL,
  outcome               text,
  reason                text,
  reason_by             text CHECK (reason_by IN ('provider', 'tocsin')),
  decision_deadline_at  timestamptz(3) NOT NULL,
  planned_at            timestamptz(3) NOT NULL,
  queued_at             timestamptz(3),
  submitted_at          timestamptz(3),
  settled_at            timestamptz(3),
  next_poll_at          timestamptz(3),
  poll_leased_until     timestamptz(3),
  CHECK (attempt_key = event_id || '.' || channel || '.' || sequence)
) WITH (fillfactor = 70);
-- At most one live attempt per (event, channel); each step planned at most once by policy; no message belongs to two attempts.
CREATE UNIQUE INDEX attempt_one_live ON attempt (event_id, channel)
  WHERE state IN ('planned', 'queued', 'submitting') OR (state IN ('submitted', 'submitted_unknown') AND settled_at IS NULL);
CREATE UNIQUE INDEX attempt_step_once ON attempt (event_id, step) WHERE origin = 'policy';
CREATE UNIQUE INDEX attempt_provider_message ON attempt (provider, provider_message_id) WHERE provider_message_id IS NOT NULL;
CREATE INDEX attempt_poll_due ON attempt (next_poll_at) WHERE next_poll_at IS NOT NULL;

CREATE SEQUENCE ledger_position AS bigint;

CREATE TABLE ledger_entry (
  event_id        text COLLATE "C" NOT NULL,
  version         integer NOT NULL CHECK (version > 0),
  position        bigint NOT NULL DEFAULT nextval('ledger_position'),
  xid             xid8 NOT NULL DEFAULT pg_current_xact_id(),
  kind            text NOT NULL,
  at              timestamptz(3) NOT NULL,
  actor           text NOT NULL,
  request_id      text NOT NULL,
  policy_version  integer NOT NULL,
  attempt_key     text COLLATE "C",
  from_state      text,
  to_state        text NOT NULL,
  -- The canonical text (RFC 8785) that the hash covers: event_id, version, kind, at, actor, request id, policy version, from, to, details.
  body            text NOT NULL,
  prev_hash       bytea NOT NULL,
  hash            bytea NOT NULL,
  PRIMARY KEY (event_id, version),
  CHECK (hash = sha256(prev_hash || convert_to(body, 'UTF8')))
) PARTITION BY RANGE (event_id);
CREATE TABLE ledger_entry_default PARTITION OF ledger_entry DEFAULT;

CREATE TABLE outbox (
  id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id       text COLLATE "C" NOT NULL,
  attempt_key    text COLLATE "C" NOT NULL,
  channel        text NOT NULL,
  generation     integer NOT NULL,
  not_before_at  timestamptz(3) NOT NULL
);

-- Addresses, variables and free text: encrypted, destroyable. With recipient, ticket and observation_raw the only places that hold any.
CREATE TABLE sealed_payload (
  event_id      text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  part          text NOT NULL CHECK (part IN ('variables', 'secrets', 'operator_text')),
  key_id        text,
  box           bytea,
  destroyed_at  timestamptz(3),
  PRIMARY KEY (event_id, part),
  CHECK ((box IS NULL) = (destroyed_at IS NOT NULL))
);

CREATE TABLE recipient (
  event_id           text COLLATE "C" PRIMARY KEY REFERENCES notification (event_id),
  reference_print    bytea,
  sms_print          bytea,
  email_print        bytea,
  key_id             text,
  box                bytea,
  erased_at          timestamptz(3),
  CHECK ((box IS NULL) = (erased_at IS NOT NULL))
);
CREATE INDEX recipient_reference ON recipient (reference_print) WHERE reference_print IS NOT NULL;

CREATE TABLE ticket (
  event_id            text COLLATE "C" PRIMARY KEY REFERENCES notification (event_id),
  category            text NOT NULL,
  region              text NOT NULL,
  locale              text NOT NULL,
  queue               text NOT NULL,
  urgency             text NOT NULL,
  received_at         timestamptz(3) NOT NULL,
  retention_until     timestamptz(3) NOT NULL,
  receipt_token_hash  bytea NOT NULL UNIQUE,
  key_id              text,
  box                 bytea,
  erased_at           timestamptz(3),
  CHECK ((box IS NULL) = (erased_at IS NOT NULL))
);
CREATE INDEX ticket_newest ON ticket (received_at DESC);

CREATE TABLE observation_raw (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id  text COLLATE "C" NOT NULL,
  version   integer NOT NULL,
  at        timestamptz(3) NOT NULL,
  key_id    text NOT NULL,
  box       bytea NOT NULL
);
CREATE INDEX observation_raw_entry ON observation_raw (event_id, version);

CREATE TABLE dead_letter (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  attempt_key  text COLLATE "C" NOT NULL,
  event_id     text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  channel      text NOT NULL,
  reason       text NOT NULL,
  created_at   timestamptz(3) NOT NULL,
  resolved_at  timestamptz(3),
  resolution   text
);
CREATE UNIQUE INDEX dead_letter_open ON dead_letter (attempt_key) WHERE resolved_at IS NULL;

CREATE TABLE api_key (
  id          text PRIMARY KEY,
  hash        bytea NOT NULL UNIQUE,
  tenant      text NOT NULL,
  label       text NOT NULL,
  created_at  timestamptz(3) NOT NULL,
  revoked_at  timestamptz(3)
);

-- When a sweep last finished; read by every coordinator's heartbeat.
CREATE TABLE engine_heartbeat (
  duty         text PRIMARY KEY,
  finished_at  timestamptz(3) NOT NULL
);
