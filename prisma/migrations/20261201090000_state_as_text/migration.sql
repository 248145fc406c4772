-- A state is written with every append and read back whole: it is kept as the text it came as, checked to be JSON, and no longer taken apart and put
-- together again each time. What is asked of a part of it (an erasure, a retention, a list) reads it as before.
ALTER TABLE notification_state ALTER COLUMN state TYPE json USING state::json;
