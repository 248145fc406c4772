import type { FocusName } from './focus.ts';
import { STATEMENT_MUTANTS } from './statement-mutants.ts';

interface Patch { file: string; find: string; put: string }

/** A mistake of the list, as a change of the product's own text. */
export interface Mutant {
  number: number; name: string; patches: Patch[];
  /** What looks for it: the simulation, or the statement rounds on a real Postgres. The simulation where nothing is said. */
  on?: 'statements';
}

const one = (number: number, name: string, file: string, [find, put]: [string, string]): Mutant => ({ number, name, patches: [{ file, find, put }] });

/** Mistakes that lie where only few seeds lead, and what the plans are made richer in to get there. */
const FOCUS: Readonly<Record<string, FocusName>> = {
  'claim-before-the-answer': 'late-reads',
  'late-delivery-retracts-fallback': 'late-truth',
  'failed-enqueue-read-as-duplicate': 'queue-away',
  'retry-after-delivery': 'late-retries',
  'one-lease-for-poll-and-decision-in-the-twin': 'stopped-pollers',
  'dead-letter-for-every-refusal': 'refused-accounts',
  'nobody-is-told-that-it-is-back': 'refused-accounts',
  'lost-worker-never-rescued': 'dead-workers',
  'question-open-and-sent-all-the-same': 'asked-origins',
  'answer-stands-for-good': 'asked-origins',
  'no-read-as-yes': 'asked-origins',
  'an-error-never-holds': 'asked-origins',
  'a-shadow-is-submitted': 'in-shadow',
  'a-shadow-alarms': 'in-shadow',
  'quiet-hours-at-planning-only': 'quiet-hours',
  'deadline-from-planning': 'quiet-hours',
  'withdrawal-not-in-the-append': 'withdrawals',
  'throttle-not-in-the-append': 'floods',
  'started-with-its-decision-unasked': 'asked-origins',
  'a-shadow-is-started-with-its-decision': 'in-shadow',
};

const DELIVERY = 'shared/delivery';
const DOMAIN = 'shared/domain';
/** The statements' twin in memory: what it shares with the SQL is the conformance suite. */
const TWIN = 'test/simulation/memory-ledger.ts';

const UNKNOWN: [string, string] = [
  'return attempt.state === \'submitting\' ? outcomeUnknown(work, attempt, result.reason) : late(work, attempt, result);', '',
];

const IS_WITHDRAWN = 'if (isWithdrawn(n, append)) return false;';
const IS_THROTTLED = 'if (isThrottled(n, append)) return false;';
const IS_BARRED = 'if (isBarred(n, append)) return false;';

/**
 * The planted mistakes that must be caught by name; the numbers are those of the list, and one number may be planted in several
 * places. One more is a line here (found by the simulation) or in `statement-mutants.ts` (found on a real Postgres).
 */
export const MUTANTS: readonly Mutant[] = [
  ...STATEMENT_MUTANTS,
  one(1, 'append-without-version-check-in-the-twin', TWIN, ["if (!n || n.version !== Number(append.rows.state['expected'])) return false;", 'if (!n) return false;']),
  one(3, 're-send-on-unknown', `${DOMAIN}/submissions.ts`, [UNKNOWN[0], 'return notProcessed(work, attempt, result.reason, null);']),
  one(4, 'unknown-booked-as-failed', `${DOMAIN}/submissions.ts`, [UNKNOWN[0], "return work.emit({ kind: 'AttemptRejected', details: { attempt: key, source: 'submit', reason: result.reason } });"]),
  {
    number: 5, name: 'failed-read-triggers-fallback', patches: [
      { file: `${DOMAIN}/escalation.ts`, find: "if (hasFailed(attempt)) return 'failed';", put: "if (hasFailed(attempt) || attempt.failedReads > 0) return 'failed';" },
      { file: `${DOMAIN}/escalation.ts`, find: '=== \'escalate\' && failedFirsthand(attempt)', put: '=== \'escalate\' && (failedFirsthand(attempt) || attempt.failedReads > 0)' },
    ],
  },
  one(6, 'claim-before-the-answer', `${DOMAIN}/decide.ts`, ['recordStatus(work, command.attempt, command.reading, command);', 'advance(work); recordStatus(work, command.attempt, command.reading, command);']),
  one(7, 'late-observation-downgrades', `${DOMAIN}/observations.ts`, ['const recordOnly = !isReconciling(attempt);', 'const recordOnly = false;']),
  one(8, 'late-delivery-retracts-fallback', `${DOMAIN}/observations.ts`, [
    "case 'delivered': return work.emit({ kind: 'AttemptDelivered', details: { attempt: key, source, reason } });",
    "case 'delivered': { work.emit({ kind: 'AttemptDelivered', details: { attempt: key, source, reason } }); for (const other of work.state.attempts) if (other.state === 'queued') work.emit({ kind: 'AttemptCancelled', details: { attempt: other.key, reason: 'superseded' } }); return; }",
  ]),
  one(9, 'expiry-pushed-by-a-retry', `${DOMAIN}/evolve.ts`, [
    'next.version = state.version + 1;',
    "next.version = state.version + 1; if (transition.kind === 'SubmissionDeferred') next.expiresAt += 60_000;",
  ]),
  {
    number: 10, name: 'start-after-close', patches: [
      { file: `${DOMAIN}/lifecycle.ts`, find: "takeBackQueued(work, 'closed');", put: '' },
      { file: `${DOMAIN}/submissions.ts`, find: 'state.closed || ', put: '' },
    ],
  },
  one(11, 'start-while-paused', `${DOMAIN}/submissions.ts`, ["if (state.paused) return 'paused';", '']),
  one(12, 'no-fence', `${DELIVERY}/perform-attempt.ts`, ['mayStart: () => leftToStartMs() >= 0', 'mayStart: () => true']),
  one(13, 'started-after-the-call', `${DELIVERY}/perform-attempt.ts`, [
    'const started = await start(engine, key, parts.eventId, settings);',
    `const early = await engine.load(parts.eventId);
  const waiting = early && findAttempt(early.state, key);
  if (early && waiting?.state === 'queued') {
    const bound = await engine.versions.bind(early.state.purpose, early.state.policyVersion);
    const made = renderFor(engine, early, bound, { step: stepOf(bound.policy, waiting.step), attemptKey: key, plannedAt: waiting.plannedAt });
    if (made.ok) await settings.transport.submit({ attemptKey: key, message: made.message, mayStart: () => true });
  }
  const started = await start(engine, key, parts.eventId, settings);`,
  ]),
  one(14, 'outbox-row-outside-the-append', 'shared/ledger/rows.ts', ['rows.outbox.push(outboxRow(request, eventId))', '(chain.before.version === 0 ? rows.outbox : []).push(outboxRow(request, eventId))']),
  one(15, 'relay-deletes-first-in-the-twin', TWIN, [
    "await enqueue(rows);\n        await reach('remove-outbox', () => ledger.remove(transaction));", "await reach('remove-outbox', () => ledger.remove(transaction));\n        await enqueue(rows);",
  ]),
  one(16, 'failed-enqueue-read-as-duplicate', `${DELIVERY}/relay.ts`, ['.map((row) => jobOf(row, now)))));', '.map((row) => jobOf(row, now))).catch(() => undefined)));']),
  one(17, 'fallback-leaves-the-first-alive', `${DOMAIN}/escalation.ts`, ["takeBackQueued(work, 'superseded');", '']),
  one(18, 'retry-after-delivery', `${DOMAIN}/retry.ts`, ["if (!overrides.evenIfDelivered && isReached(state, attempt.channel)) return 'delivered';", '']),
  one(21, 'next-poll-in-memory', 'shared/ledger/rows.ts', ['next_poll_at: attempt.nextPollAt,', 'next_poll_at: null,']),
  one(22, 'one-lease-for-poll-and-decision-in-the-twin', TWIN, [
    'filter((n) => n.decideAt !== null && n.decideAt <= now)', 'filter((n) => n.decideAt !== null && n.decideAt <= now && ![...n.attempts.values()].some((row) => (row.leasedUntil ?? 0) > now))',
  ]),
  one(23, 'retry-after-ignored', `${DOMAIN}/clocks.ts`, ['Math.max(wish.retryAfterMs ?? 0, ', 'Math.max(0, ']),
  one(24, 'new-key-for-each-retry', `${DELIVERY}/perform-attempt.ts`, [
    'attemptKey: key, message: started.message', 'attemptKey: started.submission === 1 ? key : key.replace(/\\d+$/, String(started.submission)), message: started.message',
  ]),
  {
    number: 25, name: 'another-date-on-retry', patches: [
      { file: `${DELIVERY}/perform-attempt.ts`, find: 'plannedAt: attempt.plannedAt });', put: 'plannedAt: attempt.submissions > 0 ? engine.now() : attempt.plannedAt });' },
      { file: `${DELIVERY}/perform-attempt.ts`, find: 'if (render.hash !== attempt.renderHash)', put: 'if (attempt.submissions === 0 && render.hash !== attempt.renderHash)' },
    ],
  },
  one(26, 'hash-without-the-previous', 'shared/security/chain-hash.ts', ['bytes.set(previousHash);', 'bytes.fill(0, 0, previousHash.length);']),
  {
    number: 27, name: 'suppression-at-the-claim-only', patches: [
      { file: `${DOMAIN}/lifecycle.ts`, find: '      endBarred(work);\n', put: '' },
      { file: TWIN, find: IS_BARRED, put: '' },
    ],
  },
  one(28, 'payload-destroyed-before-the-last-submission', `${DOMAIN}/payload-lifetime.ts`, [
    'return state.expired || !mayStillSubmit(state) ? state.requestedAt : state.expiresAt;', 'return state.attempts.some((attempt) => attempt.submissions > 0) ? state.requestedAt : null;',
  ]),
  one(29, 'recovery-skips-queued', `${DOMAIN}/lifecycle.ts`, ["attempt.state === 'queued' ? attempt.requeueAt : null,", '']),
  one(30, 'clock-of-the-host', `${DELIVERY}/decide-and-append.ts`, ['now: engine.now(), random', 'now: Date.now(), random']),
  // Beyond the list.
  one(31, 'lost-worker-never-rescued', `${DOMAIN}/lifecycle.ts`, ["if (attempt.state === 'submitting') next = earliest(next, attempt.outcomeDueAt);", '']),
  one(32, 'claim-on-old-evidence', `${DOMAIN}/escalation.ts`, ['const needsLook = canBeRead(attempt) && !isFresh(work, attempt);', 'const needsLook = false as boolean;']),
  one(33, 'suppression-not-in-the-append', TWIN, [IS_BARRED, '']),
  one(34, 'opt-out-outside-the-append', 'shared/ledger/rows.ts', ["if (request.kind === 'suppress') rows", "if (request.kind === 'suppress' && requests.length > 99) rows"]),
  one(35, 'payload-kept-for-good', `${DOMAIN}/lifecycle.ts`, ['state.version === 0) return nextDestructionAt(state);', 'state.version === 0) return null;']),
  one(36, 'box-outlives-its-entry', TWIN, ["for (const { part } of append.rows.destroyed) n[part === 'addresses' ? 'recipient' : part] = null;", '']),
  one(37, 'start-while-the-provider-is-open', `${DOMAIN}/provider-state.ts`, ["provider.state !== 'closed' && provider.probe?.attempt !== key && !isProbeDue(provider, now);", "provider.state === 'closed' && key === '' && now < 0;"]),
  one(38, 'dead-letter-for-every-refusal', `${DOMAIN}/submissions.ts`, ["if (begins || attempt.origin === 'operator') return deadLetter", 'if (reason !== null) return deadLetter']),
  one(39, 'nobody-is-told-that-it-is-back', `${DOMAIN}/provider-trouble.ts`, ["} else if (provider.state === 'closed') release(work, attempt, 'provider_back');", "} else if (provider.state === 'closed') continue;"]),
  one(40, 'question-open-and-sent-all-the-same', `${DOMAIN}/precondition.ts`, ['if (blockedUntil(work.state) !== null) return false;', 'if (blockedUntil(work.state) !== null) return true;']),
  one(41, 'answer-stands-for-good', `${DOMAIN}/precondition.ts`, ['validUntil !== null && now < validUntil;', 'validUntil !== null && now > 0;']),
  one(42, 'no-read-as-yes', `${DELIVERY}/origin-desk.ts`, ['answer: answer.kind satisfies PreconditionAnswer', "answer: answer.kind === 'not_needed' ? 'needed' : answer.kind"]),
  one(43, 'an-error-never-holds', `${DOMAIN}/precondition.ts`, ["(precondition.answer === 'error' && precondition.onError === 'hold' ? precondition.validUntil : null);", 'null;']),
  one(44, 'a-shadow-is-submitted', `${DOMAIN}/decide.ts`, ['if (shadow) endShadowed(work, key, null);', 'if (shadow && step < 0) endShadowed(work, key, null);']),
  one(45, 'a-shadow-alarms', `${DOMAIN}/plan-attempt.ts`, ['if (!step.shadow) work.request(', 'work.request(']),
  one(46, 'quiet-hours-at-planning-only', `${DOMAIN}/eligibility.ts`, ['else if (work.state.quietHours?.[attempt.channel]) heedQuietHours(work, attempt);', '']),
  one(47, 'deadline-from-planning', `${DOMAIN}/plan-attempt.ts`, ['laterSteps(work, index) : [], startsAt, work.state.expiresAt)', 'laterSteps(work, index) : [], now, work.state.expiresAt)']),
  one(48, 'withdrawal-not-in-the-append', TWIN, [IS_WITHDRAWN, '']),
  one(49, 'throttle-not-in-the-append', TWIN, [IS_THROTTLED, '']),
  one(50, 'started-with-its-decision-unasked', `${DOMAIN}/take-up.ts`, ['&& work.state.precondition === null ', '']),
  one(51, 'a-shadow-is-started-with-its-decision', `${DOMAIN}/take-up.ts`, [' && !attempt.shadow', '']),
  one(52, 'called-though-the-acceptance-was-there-already', `${DELIVERY}/accept-notification.ts`, ["if (accepted.kind === 'exists') return replay(accepted);", "if (accepted.kind === 'exists') { grasp?.submit(decision, after); return replay(accepted); }"]),
];

/** The focus under which a mistake is looked for; none for most. */
export const focusOf = (mutant: Mutant): FocusName | undefined => FOCUS[mutant.name];
