-- The plan of the chain's check has no parameters, so a connection makes it once and keeps it: made while a month's partition was
-- still empty it would read that partition whole for every entry, until something analyses it.
ALTER FUNCTION tocsin_check_chain() SET enable_seqscan = off;
