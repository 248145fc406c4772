-- Consents that were taken back, by the keyed fingerprint of the destination; an empty basis stands for every one. A row that no longer
-- holds stays, and says who gave it back.
CREATE TABLE consent_withdrawal (
  id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant           text NOT NULL,
  channel          text NOT NULL CHECK (channel IN ('sms', 'email')),
  address_print    bytea NOT NULL,
  basis            text NOT NULL CHECK (basis ~ '^([a-z][a-z0-9_]{0,39})?$'),
  reason           text NOT NULL CHECK (reason ~ '^[a-z][a-z_]{0,39}$'),
  at               timestamptz(3) NOT NULL,
  actor            text NOT NULL,
  restored_at      timestamptz(3),
  restored_by      text,
  restored_reason  text CHECK (restored_reason ~ '^[a-z][a-z_]{0,39}$'),
  CHECK ((restored_at IS NULL) = (restored_by IS NULL) AND (restored_at IS NULL) = (restored_reason IS NULL))
);
CREATE UNIQUE INDEX consent_withdrawal_standing ON consent_withdrawal (address_print, channel, tenant, basis) WHERE restored_at IS NULL;
GRANT INSERT, SELECT, UPDATE ON consent_withdrawal TO tocsin_app;
-- The lock of the destination, as for a suppression: whoever takes a consent back waits for the starts that are being committed.
CREATE TRIGGER consent_withdrawal_holds BEFORE INSERT ON consent_withdrawal FOR EACH ROW EXECUTE FUNCTION tocsin_hold_suppressed();

-- What was begun under a step with a throttle: one row for each attempt, at its first submission. Only what a window may still count is kept.
CREATE TABLE throttled_start (
  attempt_key    text COLLATE "C" PRIMARY KEY,
  tenant         text NOT NULL,
  channel        text NOT NULL,
  purpose        text NOT NULL,
  address_print  bytea NOT NULL,
  at             timestamptz(3) NOT NULL
);
CREATE INDEX throttled_start_window ON throttled_start (address_print, channel, tenant, purpose, at);
GRANT INSERT, SELECT, DELETE ON throttled_start TO tocsin_app;

-- As before; and starts whose consent was taken back since they were decided on, and those beyond a throttle. `known`: the bases (empty: every
-- one) that were taken back when it was decided on, and left another one. `most`, `since`: no more than that many rows of its purpose and
-- destination after that instant; null where nothing is throttled. Such a start holds its destination alone, so that two never count the same.
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
  SELECT s.event_id FROM jsonb_to_recordset(starts) AS s(event_id text, channel text, sender text, known text[])
   WHERE (
     SELECT true FROM public.suppression x
      WHERE x.removed_at IS NULL AND x.address_print = (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id)
        AND x.channel = s.channel AND x.tenant = (SELECT n.tenant FROM public.notification n WHERE n.event_id = s.event_id)
        AND (x.sender_print = '' OR s.sender IS NULL OR x.sender_print = decode(s.sender, 'hex')) LIMIT 1)
    OR (
     SELECT true FROM public.consent_withdrawal x
      WHERE x.restored_at IS NULL AND x.address_print = (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id)
        AND x.channel = s.channel AND x.tenant = (SELECT n.tenant FROM public.notification n WHERE n.event_id = s.event_id)
        AND (s.known IS NULL OR x.basis <> ALL (s.known)) LIMIT 1)
    -- Of one statement a suppression counts as the earlier.
    OR (suppressions <> '[]'::jsonb AND (
     SELECT bool_or(o.event_id <> s.event_id AND o.channel = s.channel AND (SELECT CASE o.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = o.event_id) = (SELECT CASE s.channel WHEN 'sms' THEN r.sms_print ELSE r.email_print END FROM public.recipient r WHERE r.event_id = s.event_id))
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
