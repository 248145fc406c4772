-- The order of the change feed: (epoch, xid, position). Transaction ids only order what one database wrote in one life, so each
-- life has an epoch: rows restored from a backup keep the epoch they were written in and rank before everything written after.

-- One row a life, written by the first append in it. The identity tells a restored copy from its origin.
CREATE TABLE feed_epoch (
  epoch     integer PRIMARY KEY CHECK (epoch > 0),
  identity  text NOT NULL
);
CREATE TRIGGER feed_epoch_append_only BEFORE UPDATE OR DELETE ON feed_epoch
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER feed_epoch_no_truncate BEFORE TRUNCATE ON feed_epoch
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON feed_epoch TO tocsin_app;

-- Cluster, timeline and database: a dump restored elsewhere changes the first, a restore to a point in time the second (its
-- transaction ids start again from that point), a copy beside its origin the third.
CREATE FUNCTION tocsin_feed_identity() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT c.system_identifier || '.' || substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) || '.' || d.oid
    FROM pg_catalog.pg_control_system() c, pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()
$$;

-- The epoch to write in; starts a new one where the newest was another life's, and keeps the answer for the transaction. Two
-- first writers agree: the later one waits for the earlier and finds its row.
CREATE FUNCTION tocsin_feed_epoch() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  here    text := public.tocsin_feed_identity();
  newest  public.feed_epoch;
BEGIN
  SELECT * INTO newest FROM public.feed_epoch ORDER BY epoch DESC LIMIT 1;
  IF newest.identity IS DISTINCT FROM here THEN
    newest.epoch := coalesce(newest.epoch, 0) + 1;
    INSERT INTO public.feed_epoch (epoch, identity) VALUES (newest.epoch, here) ON CONFLICT (epoch) DO NOTHING;
  END IF;
  PERFORM pg_catalog.set_config('tocsin.feed_epoch', newest.epoch::text, true);
  RETURN newest.epoch;
END $$;

-- What stands already was written before there were epochs, and is complete: no writer gets past this lock. It ranks first.
ALTER TABLE ledger_entry ADD COLUMN epoch integer NOT NULL DEFAULT 0;
-- From here on the function is asked for the first row of a transaction only.
ALTER TABLE ledger_entry ALTER COLUMN epoch
  SET DEFAULT coalesce(nullif(current_setting('tocsin.feed_epoch', true), '')::integer, tocsin_feed_epoch());

CREATE INDEX ledger_entry_feed ON ledger_entry (epoch, xid, position);

-- A range of the feed, in its order. The planner guesses how much lies between the bounds by their first column alone, takes it
-- for next to nothing, and would sort all that follows a place for the sake of a page; with these settings it walks the index.
CREATE FUNCTION tocsin_feed_range(after_epoch integer, after_xid xid8, after_position bigint, below_epoch integer, below_xid xid8, most integer)
RETURNS TABLE (epoch integer, xid xid8, "position" bigint, event_id text, version integer)
LANGUAGE sql STABLE SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT e.epoch, e.xid, e.position, e.event_id, e.version FROM public.ledger_entry e
   WHERE (e.epoch, e.xid, e.position) > ($1, $2, $3) AND (e.epoch, e.xid) < ($4, $5)
   ORDER BY e.epoch, e.xid, e.position LIMIT $6
$$;
