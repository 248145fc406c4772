-- Until when each provider's status reads are paid for: what keeps all coordinators together under its rate.

CREATE TABLE poll_pace (
  provider    text PRIMARY KEY,
  paid_until  timestamptz NOT NULL
);
GRANT INSERT, SELECT, UPDATE ON poll_pace TO tocsin_app;

-- A provider with a long backlog must not be read through to find what is due at another one.
CREATE INDEX attempt_poll_provider ON attempt (provider, next_poll_at) WHERE next_poll_at IS NOT NULL;
