-- Whose texts somebody had shown to himself: written before they are.
CREATE TABLE payload_shown (
  id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id  text COLLATE "C" NOT NULL REFERENCES notification (event_id),
  at        timestamptz(3) NOT NULL,
  actor     text NOT NULL,
  -- The command that showed them.
  means     text NOT NULL,
  -- A code.
  reason    text NOT NULL
);
CREATE INDEX payload_shown_event ON payload_shown (event_id);
CREATE TRIGGER payload_shown_append_only BEFORE UPDATE OR DELETE ON payload_shown FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER payload_shown_no_truncate BEFORE TRUNCATE ON payload_shown FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON payload_shown TO tocsin_app;
