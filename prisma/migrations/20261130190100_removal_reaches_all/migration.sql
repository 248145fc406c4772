-- Whatever names a notification goes with it once it is past its retention and has its tombstone: also what was made beside that function.
ALTER TABLE payload_shown DROP CONSTRAINT payload_shown_event_id_fkey,
  ADD CONSTRAINT payload_shown_event_id_fkey FOREIGN KEY (event_id) REFERENCES notification (event_id) ON DELETE CASCADE;
DROP TRIGGER payload_shown_append_only ON payload_shown;
CREATE TRIGGER payload_shown_append_only BEFORE UPDATE OR DELETE ON payload_shown FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_unburied();

ALTER TABLE alert DROP CONSTRAINT alert_event_id_fkey,
  ADD CONSTRAINT alert_event_id_fkey FOREIGN KEY (event_id) REFERENCES notification (event_id) ON DELETE CASCADE;
ALTER TABLE alert_post DROP CONSTRAINT alert_post_alert_id_fkey,
  ADD CONSTRAINT alert_post_alert_id_fkey FOREIGN KEY (alert_id) REFERENCES alert (id) ON DELETE CASCADE;
-- Who deletes a notification is asked for its alerts.
CREATE INDEX alert_of_event ON alert (event_id);
