-- Why a version was activated: a code, or `other` with the sentence sealed beside it. What no person activated is the newest shipped one.
ALTER TABLE policy_activation
  ADD COLUMN reason text NOT NULL DEFAULT 'newest',
  ADD COLUMN reason_key_id text,
  ADD COLUMN reason_box bytea,
  ADD CHECK ((reason_key_id IS NULL) = (reason_box IS NULL));

-- A published version never changes, and what was active when stays known: for every role, not the application's alone.
CREATE TRIGGER policy_version_immutable BEFORE UPDATE OR DELETE ON policy_version
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER policy_version_no_truncate BEFORE TRUNCATE ON policy_version
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER template_version_immutable BEFORE UPDATE OR DELETE ON template_version
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER template_version_no_truncate BEFORE TRUNCATE ON template_version
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER policy_activation_append_only BEFORE UPDATE OR DELETE ON policy_activation
  FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER policy_activation_no_truncate BEFORE TRUNCATE ON policy_activation
  FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
