-- An acceptance may start the first submission in the same transaction. These of its events must not, because their destination was suppressed,
-- or a consent taken back, since it was decided: as `tocsin_barred_starts` has it, for events whose rows are not there yet. It too takes the locks of the
-- destinations first, shared and in one order, and looks only then, with a snapshot of that moment.
-- starts: {event_id, channel, sender, known, tenant, print}, the print of the destination.
CREATE FUNCTION tocsin_barred_acceptances(starts jsonb) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 1 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM public.tocsin_hold_destination(held.lock, false) FROM (
    SELECT DISTINCT public.tocsin_destination_lock(s.print) AS lock FROM jsonb_to_recordset(starts) AS s(print bytea) ORDER BY 1) held;
  RETURN QUERY
  SELECT s.event_id FROM jsonb_to_recordset(starts) AS s(event_id text, channel text, sender text, known text[], tenant text, print bytea)
   WHERE (
     SELECT true FROM public.suppression x
      WHERE x.removed_at IS NULL AND x.address_print = s.print AND x.channel = s.channel AND x.tenant = s.tenant
        AND (x.sender_print = '' OR s.sender IS NULL OR x.sender_print = decode(s.sender, 'hex')) LIMIT 1)
    OR (
     SELECT true FROM public.consent_withdrawal x
      WHERE x.restored_at IS NULL AND x.address_print = s.print AND x.channel = s.channel AND x.tenant = s.tenant
        AND (s.known IS NULL OR x.basis <> ALL (s.known)) LIMIT 1);
END $$;
