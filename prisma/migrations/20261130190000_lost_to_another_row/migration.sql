-- An append also loses to what has no version here: a provider's state, the suppression list, a consent taken back, a throttle. Its
-- decider then finds the version that it had decided on.
ALTER TABLE lost_race DROP CONSTRAINT lost_race_check;
ALTER TABLE lost_race ADD CONSTRAINT lost_race_check CHECK (found >= decided_on);
