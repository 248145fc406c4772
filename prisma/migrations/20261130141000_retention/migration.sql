-- What is past its retention is removed for good, by the owner, through one narrow function, and a signed tombstone says what it was.

-- One step of a removal: notifications of one purpose and class that were requested in one month.
CREATE TABLE ledger_tombstone (
  tombstone_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at            timestamptz(3) NOT NULL,
  -- The canonical text (RFC 8785) that the signature covers: month, purpose, class, counts, positions, and a digest of the heads below.
  body          text NOT NULL CHECK (octet_length(body) <= 4096),
  key_id        text NOT NULL CHECK (octet_length(key_id) <= 64),
  signature     bytea NOT NULL CHECK (octet_length(signature) = 64)
);
-- The last version and hash of each notification that was removed.
CREATE TABLE tombstone_head (
  event_id      text COLLATE "C" PRIMARY KEY,
  tombstone_id  bigint NOT NULL REFERENCES ledger_tombstone (tombstone_id),
  version       integer NOT NULL CHECK (version > 0),
  head_hash     bytea NOT NULL
);
CREATE INDEX tombstone_head_of ON tombstone_head (tombstone_id);
-- Where a month of a purpose was looked through and nothing is left of it.
CREATE TABLE retention_done (
  month    text NOT NULL CHECK (month ~ '^[0-9]{4}-[0-9]{2}$'),
  purpose  text NOT NULL,
  at       timestamptz(3) NOT NULL,
  PRIMARY KEY (month, purpose)
);
CREATE TRIGGER ledger_tombstone_append_only BEFORE UPDATE OR DELETE ON ledger_tombstone FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER ledger_tombstone_no_truncate BEFORE TRUNCATE ON ledger_tombstone FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER tombstone_head_append_only BEFORE UPDATE OR DELETE ON tombstone_head FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER tombstone_head_no_truncate BEFORE TRUNCATE ON tombstone_head FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT SELECT ON ledger_tombstone, tombstone_head TO tocsin_app;
GRANT INSERT, SELECT ON retention_done TO tocsin_app;

-- As before for everyone and everything, but for what has its tombstone.
CREATE FUNCTION tocsin_refuse_unburied() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM public.tombstone_head t WHERE t.event_id = OLD.event_id) THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% on % is refused: it is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE FUNCTION tocsin_refuse_unburied_access() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM public.report_link l JOIN public.tombstone_head t USING (event_id) WHERE l.link_id = OLD.link_id) THEN RETURN OLD; END IF;
  RAISE EXCEPTION '% on % is refused: it is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;
DROP TRIGGER ledger_entry_append_only ON ledger_entry;
CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE ON ledger_entry FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_unburied();
DROP TRIGGER notification_immutable ON notification;
CREATE TRIGGER notification_immutable BEFORE UPDATE OR DELETE ON notification FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_unburied();
DROP TRIGGER lost_race_append_only ON lost_race;
CREATE TRIGGER lost_race_append_only BEFORE UPDATE OR DELETE ON lost_race FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_unburied();
DROP TRIGGER report_access_append_only ON report_access;
CREATE TRIGGER report_access_append_only BEFORE UPDATE OR DELETE ON report_access FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_unburied_access();

-- Who deletes a notification is asked for each row that could name it. Ids come in the order of time, so a summary of some pages each is
-- enough to find them, and costs a writer nothing; a tree would be paid for by every append.
CREATE INDEX attempt_of_event ON attempt USING brin (event_id);
CREATE INDEX dead_letter_of_event ON dead_letter USING brin (event_id);
CREATE INDEX suppression_of_event ON suppression USING brin (event_id);

-- Removes notifications with all that stands beside them. Refused as a whole unless each of them is past its retention (by the caller's
-- clock and by this one), of that purpose, class and month, and settled with nothing due; and unless the tombstone says just what is removed.
CREATE FUNCTION tocsin_remove_retained(removed text[], until timestamptz, tombstone text, signer text, signed bytea) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public SET enable_seqscan = off AS $$
DECLARE
  said   jsonb := tombstone::jsonb;
  heads  record;
  span   record;
  made   bigint;
BEGIN
  IF cardinality(removed) NOT BETWEEN 1 AND 1000 THEN RAISE EXCEPTION 'a step removes 1 to 1000 notifications'; END IF;
  PERFORM FROM notification_state WHERE event_id = ANY(removed) ORDER BY event_id FOR UPDATE;
  SELECT count(*) AS notifications, sum(s.version) AS entries,
         encode(sha256(convert_to(string_agg(s.event_id || ' ' || s.version || ' ' || encode(s.head_hash, 'hex'), E'\n' ORDER BY s.event_id), 'UTF8')), 'hex') AS digest
    INTO heads
    FROM notification n JOIN notification_state s USING (event_id)
   WHERE n.event_id = ANY(removed) AND n.retention_until <= least(until, clock_timestamp()) AND n.purpose = said->>'purpose' AND n.classification = said->>'classification'
     AND to_char(n.requested_at AT TIME ZONE 'UTC', 'YYYY-MM') = said->>'month'
     AND s.decide_at IS NULL AND s.state->>'settledAt' IS NOT NULL
     AND NOT EXISTS (SELECT FROM attempt a WHERE a.attempt_key > n.event_id || '.' AND a.attempt_key < n.event_id || '/' AND a.next_poll_at IS NOT NULL)
     AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.event_id = n.event_id AND d.resolved_at IS NULL);
  IF heads.notifications <> cardinality(removed) THEN
    RAISE EXCEPTION 'not removed: something of it is younger than its retention, still open, or not of this month and purpose' USING ERRCODE = 'insufficient_privilege';
  END IF;
  SELECT count(*) AS entries, min(e.position) AS first, max(e.position) AS last INTO span FROM ledger_entry e WHERE e.event_id = ANY(removed);
  IF (said->>'notifications')::bigint <> heads.notifications OR (said->>'entries')::bigint <> heads.entries OR span.entries <> heads.entries OR said->>'heads' <> heads.digest
     OR (said->>'first_position')::bigint <> span.first OR (said->>'last_position')::bigint <> span.last THEN
    RAISE EXCEPTION 'not removed: the tombstone does not say what would be' USING ERRCODE = 'insufficient_privilege';
  END IF;

  INSERT INTO ledger_tombstone (at, body, key_id, signature) VALUES (until, tombstone, signer, signed) RETURNING tombstone_id INTO made;
  INSERT INTO tombstone_head (event_id, tombstone_id, version, head_hash)
  SELECT s.event_id, made, s.version, s.head_hash FROM notification_state s WHERE s.event_id = ANY(removed);

  DELETE FROM outbox WHERE event_id = ANY(removed);
  DELETE FROM report_access a USING report_link l WHERE l.event_id = ANY(removed) AND a.link_id = l.link_id;
  DELETE FROM report_link WHERE event_id = ANY(removed);
  DELETE FROM dead_letter_request q USING dead_letter d WHERE d.event_id = ANY(removed) AND q.dead_letter_id = d.id;
  DELETE FROM dead_letter WHERE event_id = ANY(removed);
  -- A suppression goes on to hold; what it rested on is gone.
  UPDATE suppression SET event_id = NULL WHERE event_id = ANY(removed);
  DELETE FROM observation_raw WHERE event_id = ANY(removed);
  DELETE FROM lost_race WHERE event_id = ANY(removed);
  DELETE FROM sealed_payload WHERE event_id = ANY(removed);
  DELETE FROM recipient WHERE event_id = ANY(removed);
  DELETE FROM ticket WHERE event_id = ANY(removed);
  DELETE FROM attempt a USING unnest(removed) r(event_id) WHERE a.attempt_key > r.event_id || '.' AND a.attempt_key < r.event_id || '/';
  DELETE FROM notification_state WHERE event_id = ANY(removed);
  DELETE FROM ledger_entry WHERE event_id = ANY(removed);
  DELETE FROM notification WHERE event_id = ANY(removed);
  RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION tocsin_remove_retained(text[], timestamptz, text, text, bytea) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tocsin_remove_retained(text[], timestamptz, text, text, bytea) TO tocsin_app;

-- Gives back the room of a month that is past and of which nothing is left. Gives up soon where somebody is at work: it can be tried again.
CREATE FUNCTION tocsin_drop_empty_month(suffix text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public SET lock_timeout = '500ms' AS $$
DECLARE
  name    text := 'ledger_entry_' || suffix;
  filled  boolean;
BEGIN
  IF suffix !~ '^[0-9]{4}_[0-9]{2}$' OR to_date(suffix, 'YYYY_MM') > clock_timestamp() - interval '2 months' THEN RAISE EXCEPTION 'not a past month of the ledger: %', suffix; END IF;
  IF to_regclass('public.' || name) IS NULL THEN RETURN false; END IF;
  -- Looked at before anybody has to wait, and once more when nobody can write.
  EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
  IF filled THEN RETURN false; END IF;
  LOCK TABLE public.ledger_entry IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
  IF filled THEN RETURN false; END IF;
  EXECUTE format('DROP TABLE public.%I', name);
  RETURN true;
END $$;
REVOKE EXECUTE ON FUNCTION tocsin_drop_empty_month(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tocsin_drop_empty_month(text) TO tocsin_app;
