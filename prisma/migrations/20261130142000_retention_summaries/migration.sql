-- Finer summaries, kept up by themselves: of what no summary covers yet, every page was read for each notification that is removed.
ALTER INDEX attempt_of_event SET (pages_per_range = 32, autosummarize = on);
ALTER INDEX dead_letter_of_event SET (pages_per_range = 32, autosummarize = on);
ALTER INDEX suppression_of_event SET (pages_per_range = 32, autosummarize = on);
REINDEX INDEX attempt_of_event;
REINDEX INDEX dead_letter_of_event;
REINDEX INDEX suppression_of_event;

-- Before a removal: what no vacuum has come by is summarized now.
CREATE FUNCTION tocsin_summarize_events() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public AS $$
BEGIN
  PERFORM brin_summarize_new_values('public.attempt_of_event'), brin_summarize_new_values('public.dead_letter_of_event'), brin_summarize_new_values('public.suppression_of_event');
END $$;
REVOKE EXECUTE ON FUNCTION tocsin_summarize_events() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION tocsin_summarize_events() TO tocsin_app;
