-- What somebody is told. One row for each incident of a key: the unique index makes one of any number of coordinators the one that raises it.
CREATE TABLE alert (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dedup_key   text COLLATE "C" NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('at_risk', 'reserve_used', 'stalled')),
  purpose     text NOT NULL,
  -- The notification that it names: of a page the one it is about, of a warning the oldest of its purpose.
  event_id    text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  -- Codes, ids and instants: never an address or a text.
  facts       jsonb NOT NULL,
  raised_at   timestamptz(3) NOT NULL,
  -- The look at which it still held, the newest one.
  seen_at     timestamptz(3) NOT NULL,
  ended_at    timestamptz(3)
);
CREATE UNIQUE INDEX alert_open ON alert (dedup_key) WHERE ended_at IS NULL;

-- What each receiver is still to be told. `due_at` is null once it knows the end.
CREATE TABLE alert_post (
  alert_id      bigint NOT NULL REFERENCES alert (id),
  receiver      text NOT NULL CHECK (receiver IN ('alertmanager', 'webhook')),
  due_at        timestamptz(3),
  leased_until  timestamptz(3),
  posted_at     timestamptz(3),
  failures      integer NOT NULL DEFAULT 0,
  PRIMARY KEY (alert_id, receiver)
);
CREATE INDEX alert_post_due ON alert_post (due_at) WHERE due_at IS NOT NULL;

GRANT INSERT, SELECT, UPDATE ON alert, alert_post TO tocsin_app;
