-- Dead letters are looked at, retried and discarded: the rows are the truth, the failed jobs on the board a projection of them.

ALTER TABLE dead_letter
  -- How often it was put before an operator; part of its job's id, so that each time has a job of its own.
  ADD COLUMN showing   integer NOT NULL DEFAULT 0,
  -- Whether a failed job stands for it on the board.
  ADD COLUMN projected boolean NOT NULL DEFAULT false,
  ADD CONSTRAINT dead_letter_resolution CHECK ((resolved_at IS NULL) = (resolution IS NULL));

CREATE INDEX dead_letter_event ON dead_letter (event_id) WHERE resolved_at IS NULL;
CREATE INDEX dead_letter_list ON dead_letter (channel, id) WHERE resolved_at IS NULL;
CREATE INDEX dead_letter_to_show ON dead_letter (id) WHERE resolved_at IS NULL AND NOT projected;
CREATE INDEX dead_letter_to_hide ON dead_letter (id) WHERE resolved_at IS NOT NULL AND projected;

-- What an operator asked for. A request stays; only how it was handled is written later.
CREATE TABLE dead_letter_request (
  id                bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  dead_letter_id    bigint NOT NULL REFERENCES dead_letter (id),
  action            text NOT NULL CHECK (action IN ('retry', 'discard')),
  actor             text NOT NULL,
  -- A code; a sentence is `other`, and sealed in the box.
  reason            text NOT NULL,
  key_id            text,
  box               bytea,
  even_if_delivered boolean NOT NULL DEFAULT false,
  accept_duplicate  boolean NOT NULL DEFAULT false,
  requested_at      timestamptz(3) NOT NULL,
  leased_until      timestamptz(3),
  handled_at        timestamptz(3),
  -- `retried`, `discarded`, or why it was refused.
  result            text,
  CHECK ((key_id IS NULL) = (box IS NULL)),
  CHECK ((handled_at IS NULL) = (result IS NULL))
);
-- One at a time: a second click, or a command beside the board, finds the first.
CREATE UNIQUE INDEX dead_letter_request_open ON dead_letter_request (dead_letter_id) WHERE handled_at IS NULL;
CREATE INDEX dead_letter_request_due ON dead_letter_request (id) WHERE handled_at IS NULL;
CREATE INDEX dead_letter_request_of ON dead_letter_request (dead_letter_id, id);

GRANT INSERT, SELECT ON dead_letter_request TO tocsin_app;
GRANT UPDATE (leased_until, handled_at, result) ON dead_letter_request TO tocsin_app;
