-- The application's role may insert, so a number or a minute that a forged row could take must not be what a genuine one needs.
-- A signature is what nobody can take beforehand; which rows are genuine is told by it, in code.

ALTER TABLE checkpoint DROP CONSTRAINT checkpoint_pkey;
ALTER TABLE checkpoint DROP CONSTRAINT checkpoint_minute_at_part_key;
ALTER TABLE checkpoint ADD PRIMARY KEY (sequence, signature);
-- Some four times what a checkpoint takes at most: no row is too large to be read. Rows from before are left as they are.
ALTER TABLE checkpoint ADD CONSTRAINT checkpoint_size CHECK (octet_length(signature) = 64 AND octet_length(body) <= 16777216 AND octet_length(snapshot) <= 1048576 AND octet_length(key_id) <= 64 AND octet_length(prev_hash) = 32) NOT VALID;
