-- The check of the chain asked the planner for a plan of its own each time, and got one that read the whole ledger for a group of entries:
-- what stands before an entry was looked up in a hash of all of them. As scalar subqueries they can only be probes of the primary
-- keys, whatever is known of the tables, and one plan serves a connection. Costs the same at a million notifications as at one.

CREATE OR REPLACE FUNCTION tocsin_check_chain() RETURNS trigger
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE broken text;
BEGIN
  SELECT e.event_id || ' version ' || e.version INTO broken
    FROM added e
   WHERE CASE WHEN e.version = 1
     THEN (SELECT n.intent_hash FROM public.notification n WHERE n.event_id = e.event_id)
     ELSE (SELECT p.hash FROM public.ledger_entry p WHERE p.event_id = e.event_id AND p.version = e.version - 1)
     END IS DISTINCT FROM e.prev_hash
   LIMIT 1;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'the chain is broken at %', broken USING ERRCODE = 'integrity_constraint_violation';
  END IF;
  RETURN NULL;
END $$;
