-- What a provider said stands beside the entry that it caused, one for each: that entry is its key. The number of its own was never asked for, and cost
-- an index and a sequence with every answer.
ALTER TABLE observation_raw DROP COLUMN id, ADD PRIMARY KEY (event_id, version);
DROP INDEX observation_raw_entry;
CREATE OR REPLACE FUNCTION tocsin_keep_observation() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.event_id, NEW.version, NEW.at) IS DISTINCT FROM (OLD.event_id, OLD.version, OLD.at) OR NEW.box IS NOT NULL
     OR (OLD.box IS NULL AND NEW.destroyed_at IS DISTINCT FROM OLD.destroyed_at) THEN
    RAISE EXCEPTION 'an observation of % can be destroyed once, and nothing else', OLD.event_id USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NEW;
END $$;
