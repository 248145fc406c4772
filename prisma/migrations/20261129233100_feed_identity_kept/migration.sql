-- Who this database is does not change while a connection lasts: a restore, to whatever point, needs a start of the server, and a standby
-- that is promoted could not have been asked before (it has no WAL position of its own). Reading it cost every append a quarter of a
-- millisecond, for the control file is read from disk; it is kept for the connection instead. The newest epoch is read as before.

CREATE OR REPLACE FUNCTION tocsin_feed_epoch() RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  here    text := pg_catalog.current_setting('tocsin.feed_identity', true);
  newest  public.feed_epoch;
BEGIN
  IF here IS NULL OR here = '' THEN
    here := public.tocsin_feed_identity();
    PERFORM pg_catalog.set_config('tocsin.feed_identity', here, false);
  END IF;
  SELECT * INTO newest FROM public.feed_epoch ORDER BY epoch DESC LIMIT 1;
  IF newest.identity IS DISTINCT FROM here THEN
    newest.epoch := coalesce(newest.epoch, 0) + 1;
    INSERT INTO public.feed_epoch (epoch, identity) VALUES (newest.epoch, here) ON CONFLICT (epoch) DO NOTHING;
  END IF;
  PERFORM pg_catalog.set_config('tocsin.feed_epoch', newest.epoch::text, true);
  RETURN newest.epoch;
END $$;
