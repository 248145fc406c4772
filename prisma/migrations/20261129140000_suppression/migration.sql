-- Destinations that must not be contacted, by their keyed fingerprints. A row that no longer holds stays, and says who took it back.

CREATE TABLE suppression (
  id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant          text NOT NULL,
  channel         text NOT NULL CHECK (channel IN ('sms', 'email')),
  address_print   bytea NOT NULL,
  -- Of the sender whose messages must not go there; empty for every sender.
  sender_print    bytea NOT NULL,
  reason          text NOT NULL CHECK (reason ~ '^[a-z][a-z_]{0,39}$'),
  source          text NOT NULL CHECK (source IN ('provider', 'hand', 'stop', 'unsubscribe')),
  at              timestamptz(3) NOT NULL,
  actor           text NOT NULL,
  -- The notification and the attempt whose answer it rests on.
  event_id        text COLLATE "C" REFERENCES notification (event_id),
  attempt_key     text COLLATE "C",
  removed_at      timestamptz(3),
  removed_by      text,
  removed_reason  text CHECK (removed_reason ~ '^[a-z][a-z_]{0,39}$'),
  CHECK ((removed_at IS NULL) = (removed_by IS NULL) AND (removed_at IS NULL) = (removed_reason IS NULL))
);
-- One that holds per destination and sender: whoever says it again changes nothing. Every decision and every start looks in here.
CREATE UNIQUE INDEX suppression_standing ON suppression (address_print, channel, tenant, sender_print) WHERE removed_at IS NULL;
GRANT INSERT, SELECT, UPDATE ON suppression TO tocsin_app;

-- The lock of one destination: shared by those that start a submission to it, alone for whoever suppresses it. Two destinations
-- may share a lock; then one waits for the other for the length of a statement.
CREATE FUNCTION tocsin_destination_lock(address_print bytea) RETURNS integer LANGUAGE sql IMMUTABLE
RETURN pg_catalog.hashtext(pg_catalog.encode(address_print, 'hex'));

CREATE FUNCTION tocsin_hold_destination(lock integer, alone boolean) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF alone THEN PERFORM pg_catalog.pg_advisory_xact_lock(8025, lock);
  ELSE PERFORM pg_catalog.pg_advisory_xact_lock_shared(8025, lock);
  END IF;
END $$;

-- Whoever suppresses, by whatever statement, waits for the starts that are being committed, and those to come wait for it.
CREATE FUNCTION tocsin_hold_suppressed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.tocsin_hold_destination(public.tocsin_destination_lock(NEW.address_print), true);
  RETURN NEW;
END $$;
CREATE TRIGGER suppression_holds BEFORE INSERT ON suppression FOR EACH ROW EXECUTE FUNCTION tocsin_hold_suppressed();

-- The events of an append that must not start their submission, because the destination was suppressed since they were decided on.
-- First it takes the locks of all destinations that the append starts to or suppresses, in one order, so that two appends wait for
-- each other instead of deadlocking. Only then it looks, with a snapshot of that moment: a volatile function takes a new one for each
-- query, while the statement that calls it may have waited with an older one. `locked` has it called after the rows are locked.
-- starts: {event_id, channel, sender}, the sender's print in hex, null where it is not known; suppressions: {event_id, channel, …}.
-- The settings and the subqueries make every question one probe of an index, planned once for a connection: plans made anew for each call
-- cost more than all the rest of it.
CREATE FUNCTION tocsin_barred_starts(locked text[], starts jsonb, suppressions jsonb) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 1 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  IF starts = '[]'::jsonb AND suppressions = '[]'::jsonb THEN RETURN; END IF;
  PERFORM public.tocsin_hold_destination(held.lock, held.alone) FROM (
    SELECT public.tocsin_destination_lock(w.print) AS lock, bool_or(w.alone) AS alone FROM (
      SELECT (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id) AS print, false AS alone
        FROM jsonb_to_recordset(starts) AS s(event_id text, channel text)
       UNION ALL
      SELECT (SELECT CASE o.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = o.event_id), true
        FROM jsonb_to_recordset(suppressions) AS o(event_id text, channel text)) w
     WHERE w.print IS NOT NULL GROUP BY 1 ORDER BY 1) held;
  RETURN QUERY
  SELECT s.event_id FROM jsonb_to_recordset(starts) AS s(event_id text, channel text, sender text)
   WHERE (
     SELECT true FROM public.suppression x
      WHERE x.removed_at IS NULL AND x.address_print = (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id)
        AND x.channel = s.channel AND x.tenant = (SELECT n.tenant FROM public.notification n WHERE n.event_id = s.event_id)
        AND (x.sender_print = '' OR s.sender IS NULL OR x.sender_print = decode(s.sender, 'hex')) LIMIT 1)
    -- Of one statement a suppression counts as the earlier.
    OR (suppressions <> '[]'::jsonb AND (
     SELECT bool_or(o.event_id <> s.event_id AND o.channel = s.channel AND (SELECT CASE o.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = o.event_id) = (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id))
       FROM jsonb_to_recordset(suppressions) AS o(event_id text, channel text)));
END $$;
