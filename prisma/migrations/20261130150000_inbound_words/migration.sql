-- What recipients text back, as far as it is a word that stops messages or has them go on. No other text is kept, and no number in clear.

-- How far the inbound messages to a sender of ours have been read, all coordinators together.
CREATE TABLE inbound_cursor (
  provider      text NOT NULL,
  sender_print  bytea NOT NULL,
  read_until    timestamptz(3) NOT NULL,
  -- Nobody reads before that: whoever reads says when the next read is due, and until when it is at it.
  next_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (provider, sender_print)
);
GRANT INSERT, SELECT, UPDATE ON inbound_cursor TO tocsin_app;

CREATE TABLE inbound_word (
  provider       text NOT NULL,
  message_id     text COLLATE "C" NOT NULL,
  word           text NOT NULL CHECK (word IN ('stop', 'start')),
  address_print  bytea NOT NULL,
  sender_print   bytea NOT NULL,
  -- By the provider's clock: of several words of one person the last one counts.
  received_at    timestamptz(3) NOT NULL,
  at             timestamptz(3) NOT NULL,
  result         text NOT NULL CHECK (result IN ('suppressed', 'standing', 'lifted', 'nothing', 'outdated')),
  -- A listing is read with an overlap: each message counts once.
  PRIMARY KEY (provider, message_id)
);
CREATE INDEX inbound_word_last ON inbound_word (address_print, sender_print, received_at);
CREATE TRIGGER inbound_word_append_only BEFORE UPDATE OR DELETE ON inbound_word FOR EACH ROW EXECUTE FUNCTION tocsin_refuse_change();
CREATE TRIGGER inbound_word_no_truncate BEFORE TRUNCATE ON inbound_word FOR EACH STATEMENT EXECUTE FUNCTION tocsin_refuse_change();
GRANT INSERT, SELECT ON inbound_word TO tocsin_app;

-- Does what one message says, once; null where it was done before. The number is the whole deployment's, so that a stop holds for every
-- tenant; a start takes back what a stop said, and neither what was done by hand nor what a provider said. The lock of the destination comes
-- first: it puts the words of one person in a row, and no submission to him is started after a stop was committed (decision 0013).
CREATE FUNCTION tocsin_hear_word(provider text, message_id text, word text, address bytea, sender bytea, received_at timestamptz, heard_at timestamptz) RETURNS text
LANGUAGE plpgsql VOLATILE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_variable
DECLARE
  result text;
BEGIN
  PERFORM public.tocsin_hold_destination(public.tocsin_destination_lock(address), true);
  PERFORM 1 FROM public.inbound_word w WHERE w.provider = provider AND w.message_id = message_id;
  IF FOUND THEN RETURN NULL; END IF;
  PERFORM 1 FROM public.inbound_word w WHERE w.address_print = address AND w.sender_print = sender AND w.received_at > received_at LIMIT 1;
  IF FOUND THEN
    result := 'outdated';
  ELSIF word = 'stop' THEN
    INSERT INTO public.suppression AS s (tenant, channel, address_print, sender_print, reason, source, at, actor)
    SELECT t.tenant, 'sms', address, sender, 'stop_word', 'stop', heard_at, 'recipient'
      FROM (SELECT 'default' AS tenant UNION SELECT k.tenant FROM public.api_key k) t
    ON CONFLICT (address_print, channel, tenant, sender_print) WHERE removed_at IS NULL DO NOTHING;
    result := CASE WHEN FOUND THEN 'suppressed' ELSE 'standing' END;
  ELSE
    UPDATE public.suppression s SET removed_at = heard_at, removed_by = 'recipient', removed_reason = 'resubscribed'
     WHERE s.address_print = address AND s.channel = 'sms' AND s.sender_print = sender AND s.source = 'stop' AND s.removed_at IS NULL;
    result := CASE WHEN FOUND THEN 'lifted' ELSE 'nothing' END;
  END IF;
  INSERT INTO public.inbound_word VALUES (provider, message_id, word, address, sender, received_at, heard_at, result);
  RETURN result;
END $$;
