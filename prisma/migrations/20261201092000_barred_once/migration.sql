-- As before, and the tenant and the print of a start are looked up once and not for every list that they are held against. `OFFSET 0` keeps it so.
CREATE OR REPLACE FUNCTION tocsin_barred_starts(locked text[], starts jsonb, suppressions jsonb) RETURNS SETOF text
LANGUAGE plpgsql VOLATILE ROWS 1 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  IF starts = '[]'::jsonb AND suppressions = '[]'::jsonb THEN RETURN; END IF;
  PERFORM public.tocsin_hold_destination(held.lock, held.alone) FROM (
    SELECT public.tocsin_destination_lock(w.print) AS lock, bool_or(w.alone) AS alone FROM (
      SELECT (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id) AS print, s.most IS NOT NULL AS alone
        FROM jsonb_to_recordset(starts) AS s(event_id text, channel text, most integer)
       UNION ALL
      SELECT (SELECT CASE o.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = o.event_id), true
        FROM jsonb_to_recordset(suppressions) AS o(event_id text, channel text)) w
     WHERE w.print IS NOT NULL GROUP BY 1 ORDER BY 1) held;
  RETURN QUERY
  SELECT s.event_id FROM (
    SELECT t.event_id, t.channel, t.sender, t.known, (SELECT n.tenant FROM public.notification n WHERE n.event_id = t.event_id) AS tenant,
           (SELECT CASE t.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = t.event_id) AS print
      FROM jsonb_to_recordset(starts) AS t(event_id text, channel text, sender text, known text[]) OFFSET 0) s
   WHERE (
     SELECT true FROM public.suppression x
      WHERE x.removed_at IS NULL AND x.address_print = s.print AND x.channel = s.channel AND x.tenant = s.tenant
        AND (x.sender_print = '' OR s.sender IS NULL OR x.sender_print = decode(s.sender, 'hex')) LIMIT 1)
    OR (
     SELECT true FROM public.consent_withdrawal x
      WHERE x.restored_at IS NULL AND x.address_print = s.print AND x.channel = s.channel AND x.tenant = s.tenant
        AND (s.known IS NULL OR x.basis <> ALL (s.known)) LIMIT 1)
    -- Of one statement a suppression counts as the earlier.
    OR (suppressions <> '[]'::jsonb AND (
     SELECT bool_or(o.event_id <> s.event_id AND o.channel = s.channel AND (SELECT CASE o.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = o.event_id) = s.print)
       FROM jsonb_to_recordset(suppressions) AS o(event_id text, channel text)));
  IF NOT jsonb_path_exists(starts, '$[*].most') THEN RETURN; END IF;
  -- Those of one statement count among each other, in the order of their ids, whichever of them loses for another reason.
  RETURN QUERY
  SELECT t.event_id FROM (
    SELECT p.*, row_number() OVER (PARTITION BY p.print, p.channel, p.tenant, p.purpose ORDER BY p.event_id) AS place FROM (
      SELECT s.event_id, s.channel, s.most, s.since, n.tenant, n.purpose, CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END AS print
        FROM jsonb_to_recordset(starts) AS s(event_id text, channel text, most integer, since timestamptz)
        CROSS JOIN LATERAL (SELECT x.tenant, x.purpose FROM public.notification x WHERE x.event_id = s.event_id OFFSET 0) n
        CROSS JOIN LATERAL (SELECT x.sms_print, x.email_print FROM public.recipient x WHERE x.event_id = s.event_id OFFSET 0) r
       WHERE s.most IS NOT NULL) p) t
   WHERE t.place + (SELECT count(*) FROM (
     SELECT 1 FROM public.throttled_start x
      WHERE x.address_print = t.print AND x.channel = t.channel AND x.tenant = t.tenant AND x.purpose = t.purpose AND x.at > t.since LIMIT t.most) c) > t.most;
END $$;
