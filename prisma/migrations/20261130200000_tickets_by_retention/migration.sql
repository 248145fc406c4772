-- What players wrote goes by its own retention, day by day: found by this index, whose size is what is still kept, and not by looking through every ticket there ever was.
CREATE INDEX ticket_kept_until ON ticket (retention_until) WHERE box IS NOT NULL;
