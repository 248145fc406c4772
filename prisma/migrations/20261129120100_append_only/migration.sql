-- Append-only, for every role that is not asked to be: the grants say so to the application, these triggers to everyone.

CREATE FUNCTION tocsin_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% on % is refused: it is append-only', TG_OP, TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TRIGGER ledger_entry_append_only BEFORE UPDATE OR DELETE ON ledger_entry
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON ledger_entry_default
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER notification_immutable BEFORE UPDATE OR DELETE ON notification
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER notification_no_truncate BEFORE TRUNCATE ON notification
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();

-- Gapless versions and an unbroken chain, checked once per statement over all its rows.
CREATE FUNCTION tocsin_check_chain() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE broken text;
BEGIN
  SELECT e.event_id || ' version ' || e.version INTO broken
    FROM added e
   WHERE NOT (CASE WHEN e.version = 1
     THEN EXISTS (SELECT 1 FROM notification n WHERE n.event_id = e.event_id AND n.intent_hash = e.prev_hash)
     ELSE EXISTS (SELECT 1 FROM ledger_entry p WHERE p.event_id = e.event_id AND p.version = e.version - 1 AND p.hash = e.prev_hash)
     END)
   LIMIT 1;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'the chain is broken at %', broken USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER ledger_entry_chain AFTER INSERT ON ledger_entry
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tocsin_check_chain();

-- A month's partition, made ahead of its month. The bounds are event ids, given by the caller.
CREATE FUNCTION tocsin_ensure_partition(suffix text, from_id text, to_id text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
DECLARE name text := 'ledger_entry_' || suffix;
BEGIN
  IF suffix !~ '^[0-9]{4}_[0-9]{2}$' OR from_id !~ '^evt_[0-9A-Z]{26}$' OR to_id !~ '^evt_[0-9A-Z]{26}$' THEN
    RAISE EXCEPTION 'not a partition of the ledger: %', suffix;
  END IF;
  IF to_regclass('public.' || name) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE public.%I PARTITION OF public.ledger_entry FOR VALUES FROM (%L) TO (%L)', name, from_id, to_id);
  EXECUTE format('CREATE TRIGGER ledger_entry_no_truncate BEFORE TRUNCATE ON public.%I FOR EACH STATEMENT EXECUTE FUNCTION public.tocsin_refuse_change()', name);
  RETURN true;
END $$;
