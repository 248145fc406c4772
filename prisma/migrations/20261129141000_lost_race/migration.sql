-- Of two appends on one version one lost, loaded again and decided anew. What it then appended says so in its request id; where
-- nothing was left to do there is no such entry, and this is what an auditor sees of it.
CREATE TABLE lost_race (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id   text COLLATE "C" NOT NULL,
  at         timestamptz(3) NOT NULL,
  actor      text NOT NULL,
  request_id text NOT NULL,
  decided_on integer NOT NULL,
  found      integer NOT NULL CHECK (found > decided_on)
);
CREATE INDEX lost_race_event ON lost_race (event_id, id);

CREATE TRIGGER lost_race_append_only BEFORE UPDATE OR DELETE ON lost_race
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER lost_race_no_truncate BEFORE TRUNCATE ON lost_race
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();

GRANT INSERT, SELECT ON lost_race TO tocsin_app;
