-- Until when each provider's status reads are paid for: what keeps all coordinators together under its rate.

CREATE TABLE poll_pace (
  provider    text PRIMARY KEY,
  paid_until  timestamptz NOT NULL
);
INSERT INTO poll_pace (provider, paid_until) VALUES ('twilio', '-infinity'), ('sinch', '-infinity'), ('smtp', '-infinity'), ('resend', '-infinity');
GRANT INSERT, SELECT, UPDATE ON poll_pace TO tocsin_app;

-- A provider with a long backlog must not be read through for what is due at another one, nor its own for the nearest deadline.
CREATE INDEX attempt_poll_provider ON attempt (provider, next_poll_at) WHERE next_poll_at IS NOT NULL;
CREATE INDEX attempt_poll_deadline ON attempt (provider, decision_deadline_at) WHERE next_poll_at IS NOT NULL;
DROP INDEX attempt_poll_due;
