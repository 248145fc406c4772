-- When a notification that does not go its usual way is to be looked at. Null for all others, so that what goes well is in none of these
-- indexes, and what was settled has left them. Deliveries on closed notifications are a list of their own, of the last day.
ALTER TABLE notification_state ADD COLUMN risk_at timestamptz(3);
CREATE INDEX notification_state_risk ON notification_state (risk_at) WHERE risk_at IS NOT NULL AND status NOT IN ('delivered', 'partially_delivered');
CREATE INDEX notification_state_late ON notification_state (risk_at) WHERE risk_at IS NOT NULL AND status IN ('delivered', 'partially_delivered');
