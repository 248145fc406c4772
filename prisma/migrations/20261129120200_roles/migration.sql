-- The application's role. Services take it on for every connection; it cannot change what is append-only.

DO $$
BEGIN
  CREATE ROLE tocsin_app NOLOGIN;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$;
GRANT tocsin_app TO CURRENT_USER;

GRANT USAGE ON SCHEMA public TO tocsin_app;
GRANT INSERT, SELECT ON ledger_entry, notification, policy_version, policy_activation, template_version, observation_raw TO tocsin_app;
GRANT USAGE ON SEQUENCE ledger_position TO tocsin_app;
GRANT INSERT, SELECT, UPDATE ON notification_state, attempt, sealed_payload, recipient, ticket, dead_letter, api_key, engine_heartbeat TO tocsin_app;
GRANT INSERT, SELECT, UPDATE, DELETE ON outbox TO tocsin_app;
REVOKE EXECUTE ON FUNCTION tocsin_ensure_partition(text, text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tocsin_ensure_partition(text, text, text) TO tocsin_app;
DO $$ BEGIN
  IF to_regclass('public._prisma_migrations') IS NOT NULL THEN
    GRANT SELECT ON _prisma_migrations TO tocsin_app;
  END IF;
END $$;
