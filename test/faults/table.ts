/** A mistake, as a change of the product's own text: each file, what stands there, and what is put in its place. */
export interface Mistake { name: string; patches: readonly { file: string; find: string; put: string }[] }

/** One reported fault, the test that shows how the product behaves, and a mistake under which that test fails. */
export interface Row { fault: number; behaviour: string; file: string; mistake: Mistake }

const one = (name: string, file: string, find: string, put: string): Mistake => ({ name, patches: [{ file, find, put }] });
const row = (fault: number, behaviour: string, file: string, mistake: Mistake): Row => ({ fault, behaviour, file: `test/${file.startsWith('../') ? file.slice(3) : `faults/${file}`}.test.ts`, mistake });

const DOMAIN = 'shared/domain';
const TWILIO = 'shared/transports/twilio';

/** Two workers may start one attempt: the ledger no longer refuses the second. */
const STARTED_TWICE: Mistake = {
  name: 'an attempt that is under way may be started again', patches: [
    { file: `${DOMAIN}/submissions.ts`, find: "if (attempt.state === 'submitting' || attempt.state === 'submitted' || attempt.state === 'submitted_unknown') return 'already_started';", put: '' },
    { file: `${DOMAIN}/submissions.ts`, find: "if (attempt.state !== 'queued' || state.closed", put: "if (!['queued', 'submitting', 'submitted'].includes(attempt.state) || state.closed" },
  ],
};
const QUEUED_FORGOTTEN = { file: `${DOMAIN}/lifecycle.ts`, find: "attempt.state === 'queued' ? attempt.requeueAt : null,", put: '' };

const ON_THE_BOARD = 'A dead letter is retried from any tab of the board, newest first, without a secret, and not by who may only read';
const SEVERAL_OPERATORS = 'Several operators, each with a name and a role that count at once; nothing of it is paid';

/** The faults of the list, each with its test and a mistake that the test finds. */
export const FAULTS: readonly Row[] = [
  row(1, 'The answer to a submit is lost: unknown, exactly one POST', 'ambiguity', one('sending again on unknown', `${DOMAIN}/submissions.ts`,
    'return attempt.state === \'submitting\' ? outcomeUnknown(work, attempt, result.reason) : late(work, attempt, result);', 'return notProcessed(work, attempt, result.reason, null);')),
  row(2, 'A reset before the message was written: tried again; after it: looked for', 'ambiguity', one('a reset before the message counts as unknown', 'shared/transports/smtp/submit.ts',
    "return { kind: 'deferred', reason: progress === 'connecting' ? 'connection_refused' : 'reset_before_write', retryAfterMs: null };", "return { kind: 'unknown', reason: 'lost_response' };")),
  row(2, 'A reset before the message was written: tried again; after it: looked for', 'ambiguity', one('a reset after the request counts as not sent', 'shared/transports/http/error-meaning.ts',
    "return { kind: 'unknown', reason: outcome.reason };", "return { kind: 'deferred', reason: 'reset_before_write', retryAfterMs: null };")),
  row(3, 'The connection drops after the DATA dot: unknown, one message in the mailbox', 'ambiguity', one('what is lost after the dot counts as not sent', 'shared/transports/smtp/submit.ts',
    "if (progress === 'dot') {", "if (progress === ('never' as string)) {")),
  row(4, 'A send call never returns: its own limit ends it, the slot is free, the attempt unknown', 'ambiguity', one('a call has no limit', 'shared/transports/http/exchange.ts',
    "setTimeout(() => failWith('request_timeout'), limitMs)", "setTimeout(() => failWith('request_timeout'), limitMs * 1_000)")),
  row(5, 'A provider answers 5xx and sends all the same: found by our own reference', 'ambiguity', one('5xx counts as refused', 'shared/transports/http/error-meaning.ts',
    'if (httpStatus >= 500) return AMBIGUOUS;', 'if (httpStatus >= 500) return REFUSED;')),
  row(6, '404 a few times, then delivered: delivered', 'status', one('a 404 ends the attempt', `${DOMAIN}/observations.ts`,
    "case 'not_found': return observed(", "case 'not_found': if (isReconciling(attempt)) return work.emit({ kind: 'AttemptUndelivered', details: { attempt: key, source: 'poll', reason: 'not_found' } }); return observed(")),
  row(7, 'A 404 within the grace is pending, not failed', 'status', one('a 404 is read as a refusal', `${TWILIO}/read-status.ts`,
    "if (outcome.kind !== 'read') return outcome;", "if (outcome.kind === 'not_found') return { kind: 'observed', outcome: 'rejected', reason: 'refused_by_provider' };\n  if (outcome.kind !== 'read') return outcome;")),
  row(8, 'Accepted, later failed as opted out: suppressed, and on the list with recipient and sender', '../scenarios/suppression', one('an opt-out is not put on the list', `${DOMAIN}/eligibility.ts`,
    "if (outcome !== 'suppressed' && reason !== 'opted_out') return;", "if (outcome !== 'suppressed' || reason !== 'unheard_of' as string) return;")),
  row(9, '*sending* after *sent* is ignored, and kept as evidence', 'status', one('a status may fall', `${DOMAIN}/evolve-attempt.ts`,
    'before !== undefined && RANK[before] > RANK[now] ? before : now', 'now')),
  row(10, 'Every end has a reason, which says whether the provider said it or we failed', 'status', one('every reason is laid at our own door', 'shared/ledger/rows.ts',
    '(reason ? reasonBy(reason) : null)', "(reason ? (reasonBy(reason), 'tocsin') : null)")),
  row(10, 'Every end has a reason, which says whether the provider said it or we failed', 'status', {
    name: 'an end without a code has no reason', patches: [
      { file: `${TWILIO}/status-table.ts`, find: "undelivered: { outcome: 'undelivered', reason: 'carrier_failed' }", put: "undelivered: { outcome: 'undelivered', reason: null }" },
      { file: `${DOMAIN}/observations.ts`, find: "reason: reason ?? 'carrier_failed' } });\n    case 'rejected'", put: "reason: reason as never } });\n    case 'rejected'" }],
  }),
  row(11, '*failed* is never shown as delivered', 'status', one('failed is in the table as delivered', `${TWILIO}/status-table.ts`,
    "failed: { outcome: 'rejected', reason: 'refused_by_provider' }", "failed: { outcome: 'delivered', reason: null }")),
  row(12, 'A temporary carrier error is tried again, undelivered is the end', 'status', one('a full queue counts as refused', `${TWILIO}/error-table.ts`,
    "30001: { class: 'deferred', reason: 'quota_exhausted' }", "30001: { class: 'rejected', reason: 'quota_exhausted' }")),
  row(13, 'A landline: one POST, the email at once, no error of ours', 'status', one('a landline is tried again', `${TWILIO}/error-table.ts`,
    "21614: { class: 'rejected', reason: 'invalid_destination' }", "21614: { class: 'deferred', reason: 'invalid_destination' }")),
  row(14, 'The fallback is not held up by *sent*', 'status', one('what is accepted is waited for', `${DOMAIN}/escalation.ts`,
    '.escalateWhen.includes(evidenceClass(attempt)) && nextToStart', ".escalateWhen.includes(evidenceClass(attempt)) && evidenceClass(attempt) !== 'accepted' && nextToStart")),
  row(15, 'A 2xx with an error inside: the error', 'answers', one('what is inside a 2xx is not looked at', `${TWILIO}/submit.ts`,
    'const inside = innerError === null ? null :', 'const inside = innerError !== -1 ? null :')),
  row(15, 'A 2xx with an error inside: the error', 'answers', one('an error body with an id counts as taken', 'shared/transports/resend/submit.ts',
    'if (name !== null) return resultOfError(', "if (name === '') return resultOfError(")),
  row(16, 'An id prefix or another message\'s event never matches', 'answers', one('a reference matches inside of a longer one', `${TWILIO}/look-up.ts`,
    '(?<![\\\\p{L}\\\\p{N}])${literal}(?![\\\\p{L}\\\\p{N}])', '${literal}')),
  row(16, 'An id prefix or another message\'s event never matches', 'answers', one('a batch matches by the beginning of its reference', 'shared/transports/sinch/look-up.ts',
    'batch.client_reference !== reference', '!String(batch.client_reference).startsWith(reference)')),
  row(16, 'An id prefix or another message\'s event never matches', 'answers', one('a report matches whatever Message-ID came back', 'shared/delivery/record-report.ts',
    '&& (messageId === null || messageId === (', "&& (messageId !== '' || messageId === (")),
  row(17, 'A delayed delivery report is no bounce', 'answers', one('delayed is in the table as undelivered', 'shared/transports/smtp/report-table.ts',
    "{ action: 'delayed', outcome: 'accepted', reason: null }", "{ action: 'delayed', outcome: 'undelivered', reason: 'carrier_failed' }")),
  row(18, 'A suppression seen only after acceptance: suppressed', '../scenarios/suppression', one('an opt-out counts where the status says failed', `${TWILIO}/status-table.ts`,
    "if (error?.class === 'suppressed') return", "if (error?.class === 'suppressed' && message.status === 'failed') return")),
  row(19, 'One bad address leaves the others as they are', 'answers', one('one refused recipient refuses the list', 'shared/transports/smtp/submit.ts',
    'if (info.accepted.length === 0 && refused) return', 'if (refused) return')),
  row(20, 'Killed between the database write and the enqueue: sent all the same', 'queues', {
    name: 'the enqueue is kept in memory', patches: [
      { file: 'shared/ledger/rows.ts', find: 'rows.outbox.push(outboxRow(request, eventId))', put: '(chain.before.version === 0 ? [] : rows.outbox).push(outboxRow(request, eventId))' }, QUEUED_FORGOTTEN],
  }),
  row(21, 'A job that is delivered several times: never none, never two', 'queues', STARTED_TWICE),
  row(22, 'A job swallowed by its own id is enqueued anew', 'queues', one('a requeue keeps its id', `${DOMAIN}/lifecycle.ts`,
    'attempt.requeues === 0 ? attempt.generation : attempt.generation + 1', 'attempt.generation')),
  row(23, 'The queue restarts while all is idle: overdue polls within seconds', 'queues', one('no heartbeat beside the schedulers', 'services/coordinator/heartbeat.ts',
    'if (!silent && !overdue && !settings.pollsHere()) return;', 'return;')),
  row(24, 'The queue is flushed: rebuilt from Postgres', 'queues', { name: 'recovery skips what is queued', patches: [QUEUED_FORGOTTEN] }),
  row(25, 'An error of the queue is never read as a duplicate', 'queues', one('a failed enqueue counts as done', 'shared/delivery/relay.ts',
    '.map((row) => jobOf(row, now)))));', '.map((row) => jobOf(row, now))).catch(() => undefined)));')),
  row(26, 'A replay races a live worker: one provider call', 'queues', STARTED_TWICE),
  row(26, 'A replay races a live worker: one provider call', 'queues', one('a live attempt may be retried', `${DOMAIN}/retry.ts`,
    "return isLive(attempt) ? 'still_live' : 'not_failed';", "return isLive(attempt) ? null : 'not_failed';")),
  row(27, 'A lost lock runs a job again: one POST', 'lost-lock', STARTED_TWICE),
  row(28, 'A restart in the waiting window: on time all the same', 'queues', one('the next poll is kept in memory', 'shared/ledger/rows.ts',
    'next_poll_at: attempt.nextPollAt,', '')),
  row(29, 'A permanent 4xx makes one attempt', 'status', one('an unknown 4xx is tried again', 'shared/transports/http/error-meaning.ts',
    "export const REFUSED: ErrorMeaning = { class: 'rejected',", "export const REFUSED: ErrorMeaning = { class: 'deferred',")),
  row(30, 'All providers down, then up: the next job works without a restart', 'queues', one('a connection that failed keeps its slot', 'shared/transports/smtp/pool.ts',
    'freeSlot();\n        throw failure;', 'throw failure;')),
  row(31, '25,000 outstanding polls stay under the provider\'s rate', 'poll-rate', one('a second coordinator spends the budget again', 'shared/ledger/lease-polls.ts',
    'SET paid_until = b.paid_until +', 'SET paid_until = p.paid_until + 0 *')),
  row(31, '25,000 outstanding polls stay under the provider\'s rate', 'poll-rate', one('oldest first, whatever the deadline', 'shared/ledger/lease-polls.ts',
    'ORDER BY a.decision_deadline_at LIMIT', 'ORDER BY a.attempt_key LIMIT')),
  row(33, 'Retry-After in every form: never NaN, never negative, capped', 'input', one('a date in the past is a negative wait', 'shared/transports/retry-after.ts',
    'Math.min(Math.max(at - now, 0), RETRY_AFTER_CAP_MS)', 'Math.min(at - now, RETRY_AFTER_CAP_MS)')),
  row(33, 'Retry-After in every form: never NaN, never negative, capped', 'input', one('garbage is taken for a number', 'shared/transports/retry-after.ts',
    'if (at === null) return null;', 'if (at === null) return Number(text);')),
  row(34, 'Segments are counted as the carriers do', 'input', one('the short way has no end', 'shared/content/segments.ts',
    '_]{0,160}$/', '_]{0,400}$/')),
  row(35, 'A number has one form, and what is none is refused', 'input', one('a leading 0 is dropped', 'shared/content/address.ts',
    'parsed.number : null', "`+${parsed.countryCallingCode}${parsed.nationalNumber.replace(/^0/, '')}` : null")),
  row(35, 'A number has one form, and what is none is refused', 'input', one('a possible number counts as a valid one', 'shared/content/address.ts',
    'parsed?.isValid()', 'parsed?.isPossible()')),
  row(32, 'N replicas raise one alert', '../alerts/alerts', one('every look raises an alert of its own', 'shared/delivery/alerts.ts',
    "dedupKey: kind === 'at_risk' ? `at_risk/${row.eventId}`", "dedupKey: kind === 'at_risk' ? `at_risk/${row.eventId}/${Math.random()}`")),
  row(36, 'A list\'s count and its rows come from one query and agree', '../alerts/alerts', one('the count is asked for by itself', 'shared/delivery/at-risk.ts',
    'return { rows: rows.slice(0, shown), count, more, now };', 'return { rows: rows.slice(0, shown), count: (await surveyRisks(engine, { search })).count, more: more && count > 0, now };')),
  row(37, ON_THE_BOARD, 'board', one('the oldest comes first', 'services/dashboard/dead-letter-adapter.ts',
    'ageOf(other) > ageOf(one) ? 1 : -1', 'ageOf(other) > ageOf(one) ? -1 : 1')),
  row(37, ON_THE_BOARD, 'board', one('dead letters are only looked at', 'services/dashboard/board.ts',
    'readOnlyMode: !isDeadLetters(queue.name),', 'readOnlyMode: isDeadLetters(queue.name) || true,')),
  row(37, ON_THE_BOARD, 'board', one('every role may change', 'services/dashboard/board-rules.ts',
    "role !== 'viewer'", "role !== 'nobody' as Role")),
  row(37, ON_THE_BOARD, 'board', one('a sentence is booked in clear', 'shared/delivery/operator-reason.ts',
    "{ code: 'other', sealed: seal(", '{ code: reason, sealed: seal(')),
  row(38, SEVERAL_OPERATORS, 'board', one('everybody acts under one name', 'services/dashboard/login.ts',
    'user: session.operator, role', "user: 'operator', role")),
  row(38, SEVERAL_OPERATORS, 'board', one('a role that was taken away goes on', 'shared/delivery/operators.ts',
    'await endSessions(tx, { operator: name }, now())', "await endSessions(tx, { operator: '' }, now())")),
  row(38, SEVERAL_OPERATORS, 'board', one('everybody may read the trail', 'services/dashboard/audit-routes.ts',
    "if (role !== 'admin') {", "if (role === 'nobody' as typeof role) {")),
];

/** The rows as docs/faults.md shows them. */
export const markdownTable = (): string => ['| Fault | Behaviour | Test | Found when it is planted |', '|---|---|---|---|',
  ...FAULTS.map(({ fault, behaviour, file, mistake }) => `| ${fault} | ${behaviour} | \`${file.replace('test/faults/', '')}\` | ${mistake.name} |`)].join('\n');
