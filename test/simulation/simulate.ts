import { createHash } from 'node:crypto';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import { closeNotification } from '../../shared/delivery/close-notification.ts';
import { pauseNotification, resumeNotification } from '../../shared/delivery/pause-notification.ts';
import { retryAttempt } from '../../shared/delivery/retry-attempt.ts';
import { withdrawConsent } from '../../shared/delivery/consent.ts';
import { suppressDestination } from '../../shared/delivery/suppression.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { ProviderState } from '../../shared/domain/provider-state.ts';
import { attemptJobId } from '../../shared/queue/queue-names.ts';
import { carriersFor } from '../../shared/transports/carriers.ts';
import { createFaults } from './faults.ts';
import type { Fleet, Member } from './fleet.ts';
import { createFleet, PROVIDER_TIMEOUT_MS, SUBMIT_START_WITHIN_MS } from './fleet.ts';
import { openHealth } from './health.ts';
import { openChecks } from './invariants.ts';
import { createMemoryLedger } from './memory-ledger.ts';
import type { Act, FaultKind, Plan, Workflow } from './plan.ts';
import { simulatedVersions } from './policies.ts';
import type { Surroundings } from './process.ts';
import { openPacer } from './pacer.ts';
import { createOrigins } from './origins.ts';
import { createProvider } from './provider.ts';
import { createQueue } from './queue.ts';
import { stream } from './random.ts';
import { createScheduler } from './scheduler.ts';
import type { Violation } from './watch.ts';
import { walkedEdges } from './edges.ts';

export interface Outcome {
  seed: number;
  violation: Violation | null;
  workflows: number;
  steps: number;
  /** sha-256 over the whole trace: two runs of one seed have the same. */
  digest: string;
  trace: string[];
  kinds: FaultKind[];
  pairs: Map<string, number>;
  edges: Map<string, number>;
  statuses: Map<string, number>;
}

export const START = Date.UTC(2026, 0, 5, 12);
const LONGEST_MS = 45 * 60_000;
const CLIENT_PATIENCE_MS = 5_000;
const LATEST_DECISION_MS = 10_000;

const addressOf = ({ person }: Workflow, channel: Channel): string => (channel === 'sms' ? `+120255501${String(10 + person)}` : `oncall-${person}@example.com`);

const requestOf = (index: number, workflow: Workflow, now: number): AcceptRequest => ({
  tenant: 'default', idempotencyKey: `w${index}`, fingerprintOf: { workflow: index }, purpose: `simulated-${workflow.policy}`,
  recipient: {
    ref: `oncall-${workflow.person}`, sms: workflow.bar === 'sms' ? null : addressOf(workflow, 'sms'), email: workflow.bar === 'email' ? null : addressOf(workflow, 'email'),
    region: workflow.region, locale: 'en', timeZone: 'America/New_York', consent: [],
  },
  variables: (eventId) => ({
    category: workflow.unrenderable ? 'x'.repeat(5_000) : 'payment_lockout', queue: 'payments', region: 'US', locale: 'en-US', player_ref: 'p-1', message: 'locked out', received_at: '2026-01-01T00:00:00Z',
    ticket_url: `http://127.0.0.1:3001/tickets/${eventId}`,
  }),
  preconditionUrl: workflow.origin === null ? null : `https://shop.example.com/orders/w${index}`,
  expiresAt: workflow.expiresInMs === null ? null : now + workflow.expiresInMs, artifacts: [], requestId: `request-${index}`, actor: 'simulation',
  ticket: !workflow.unrenderable ? null : {
    category: 'payment_lockout', region: 'US', locale: 'en', queue: 'payments', urgency: 'urgent', receiptToken: `token-${index}`,
    sealed: { message: 'locked out', playerRef: 'p-1', contact: { sms: null, email: null } },
  },
});

/** Runs a plan to its end, or to the first broken promise. */
export const simulate = async (plan: Plan): Promise<Outcome> => {
  const scheduler = createScheduler(START);
  const carriers = carriersFor(plan.carriers);
  const faults = createFaults(plan.faults);
  const names = new Map<string, string>();
  const receipts = new Map<number, string>();
  const closes = new Map<string, number>();
  const committedAt = new Map<string, number>();
  const trace: string[] = [];
  const edges = new Map<string, number>();
  let violation: Violation | null = null;
  let databaseAwayUntil = 0;

  const nameAll = (text: string): string => (text.includes('evt_') ? text.replace(/evt_[0-9A-Z]{26}/g, (id) => names.get(id) ?? id) : text);
  const note = (text: string): void => { trace.push(`${scheduler.now - START} ${nameAll(text)}`); };
  const report = (invariant: string, about: string): void => {
    note(`BROKEN ${invariant}: ${about}`);
    violation ??= { invariant, about: nameAll(about), at: scheduler.now - START };
  };
  const checks = openChecks({
    policyOf: (purpose) => simulatedVersions().policies.find((policy) => policy.purpose === purpose) as never,
    providerOf: (name) => (ledger.providers as Record<string, ProviderState | undefined>)[name],
    submitStartWithinMs: SUBMIT_START_WITHIN_MS + 50, clockSlackMs: 60_000, skewMs: 3_500, report,
    originSaid: (eventId) => origins.said(eventId),
    isSuppressed: (n, channel) => ledger.suppressions.some((one) => one.tenant === n.tenant && one.channel === channel && one.address === n.prints[channel]),
    isWithdrawn: (n, channel) => ledger.withdrawals.some((one) => one.tenant === n.tenant && one.channel === channel && one.address === n.prints[channel]),
    onMoved: (from, to) => { for (const edge of walkedEdges(from, to)) edges.set(edge, (edges.get(edge) ?? 0) + 1); },
  });
  const ledger = createMemoryLedger((commit) => {
    const index = commit.notification.idempotencyKey;
    if (!names.has(commit.notification.eventId)) names.set(commit.notification.eventId, index);
    note(`${commit.entries[0]?.actor} commits ${index} v${commit.notification.version}: ${commit.entries.map((entry) => entry.kind).join(' ')}`);
    committedAt.set(commit.notification.eventId, scheduler.now);
    checks.onCommit(commit, scheduler.now);
  }, (row) => {
    if (!queue.saw(attemptJobId(row.attemptKey, row.generation))) report('an outbox row leaves for the queue only', `${row.attemptKey} g${row.generation}`);
  });
  const around: Surroundings = {
    scheduler, faults, latency: stream(plan.seed, 'latency'), trace: note, report,
    kill: (process, restartAfterMs) => fleet.kill(process, restartAfterMs),
    isDatabaseAway: () => scheduler.now < databaseAwayUntil,
  };
  const provider = createProvider(around, {
    seed: plan.seed, carriers, startedAt: START, timeoutMs: PROVIDER_TIMEOUT_MS, nameOf: nameAll, onReceipt: checks.onReceipt, onDeferred: checks.onDeferred,
  });
  const origins = createOrigins({ around, workflows: plan.workflows, indexOf: (eventId) => Number(names.get(eventId)?.slice(1)) });
  const queue = createQueue(around);
  const skewOf = (index: number): number => faults.all('clock-skew').filter((fault) => fault.process === index && fault.at <= scheduler.now - START)
    .reduce((sum, fault) => { faults.struck(fault); return sum + fault.byMs; }, 0);
  const fleet: Fleet = createFleet({ around: () => around, ledger, queue: () => queue, provider: () => provider, random: stream(plan.seed, 'engine'), skewOf, carriers, origins });
  fleet.up('coordinator');

  // Clients: each posts until it is answered, and keeps what it was told.
  const clients = stream(plan.seed, 'clients');
  let pending = 0;
  const via = (run: (member: Member) => void): void => {
    const [first, ...others] = fleet.up('intake');
    if (!first) return scheduler.after(300, () => via(run));
    run(clients.pick([first, ...others]));
  };
  const close = (eventId: string): void => via((member) => {
    let answered = false;
    scheduler.after(CLIENT_PATIENCE_MS, () => { if (!answered) close(eventId); });
    closeNotification(member.engine, { tenant: 'default', eventId, reason: 'taken', actor: 'simulation', requestId: 'close' }).then((outcome) => {
      answered = true;
      note(`client was told ${eventId} ${outcome.kind}`);
      if (outcome.kind === 'not_found') report('no receipt is lost', eventId);
      if (outcome.kind === 'closed' && !outcome.inFlight && !outcome.replayed) closes.set(eventId, scheduler.now);
    }, () => { answered = true; scheduler.after(1_000, () => close(eventId)); });
  });
  // An operator asks once; where the process dies or the database is away he is not answered, and lets it be.
  const suppress = (workflow: Workflow, channel: Channel): void => via(({ engine }) => {
    suppressDestination(engine, { tenant: 'default', channel, address: addressOf(workflow, channel), reason: 'requested', actor: 'operator' })
      .then((added) => note(`operator was told ${channel} of person ${workflow.person} ${added ? 'suppressed' : 'known'}`), () => undefined);
  });
  const withdraw = (workflow: Workflow, channel: Channel): void => via(({ engine }) => {
    withdrawConsent(engine, { tenant: 'default', channel, address: addressOf(workflow, channel), basis: null, reason: 'requested', actor: 'operator' })
      .then((taken) => note(`operator was told consent to ${channel} of person ${workflow.person} ${taken ? 'taken back' : 'known'}`), () => undefined);
  });
  const act = (eventId: string, { kind, overrides = false }: Act, workflow: Workflow): void => via(({ engine }) => {
    if (kind === 'suppress-sms' || kind === 'suppress-email') return suppress(workflow, kind === 'suppress-sms' ? 'sms' : 'email');
    if (kind === 'withdraw-sms' || kind === 'withdraw-email') return withdraw(workflow, kind === 'withdraw-sms' ? 'sms' : 'email');
    const request = { tenant: 'default', eventId, reason: 'checked', actor: 'operator', requestId: kind };
    const rows = [...(ledger.notifications.get(eventId)?.attempts.values() ?? [])];
    const wanting = rows.find((row) => ['rejected', 'undelivered', 'suppressed', 'dead_lettered'].includes(row.state)) ?? rows.find((row) => row.state === 'submitted_unknown');
    if (kind === 'erase') return ledger.erase(eventId);
    const done = kind === 'pause' ? pauseNotification(engine, request) : kind === 'resume' ? resumeNotification(engine, request)
      : retryAttempt(engine, { ...request, attempt: wanting?.key ?? `${eventId}.sms.1`, overrides: { evenIfDelivered: overrides, acceptDuplicate: overrides } });
    done.then((outcome) => note(`operator was told ${kind} ${outcome.kind}`), () => undefined);
  });
  const post = (index: number, workflow: Workflow): void => via((member) => {
    let answered = false;
    scheduler.after(CLIENT_PATIENCE_MS, () => { if (!answered && !receipts.has(index)) post(index, workflow); });
    acceptNotification(member.engine, requestOf(index, workflow, START + workflow.at)).then((outcome) => {
      answered = true;
      note(`client ${index} was told ${outcome.kind}`);
      if (!('eventId' in outcome) || outcome.kind === 'conflict') return report('an intent that was fit stays fit', outcome.kind);
      const known = receipts.get(index);
      if (known !== undefined && known !== outcome.eventId) report('one notification per idempotency key', `${known} ${outcome.eventId}`);
      receipts.set(index, outcome.eventId);
      if (known === undefined) {
        for (const one of workflow.acts) {
          pending += 1;
          scheduler.after(one.afterMs, () => { pending -= 1; act(outcome.eventId, one, workflow); });
        }
      }
      if (known === undefined && workflow.closeAfterMs !== null) scheduler.after(workflow.closeAfterMs, () => close(outcome.eventId));
    }, (error: Error) => {
      answered = true;
      if ((error as { code?: string }).code !== 'ECONNREFUSED') report('no call breaks the database’s constraints', error.message);
      scheduler.after(clients.between(300, 2_000), () => { if (!receipts.has(index)) post(index, workflow); });
    });
  });
  plan.workflows.forEach((workflow, index) => {
    scheduler.at(START + workflow.at, () => post(index, workflow));
    const double = faults.all('double-post').find((fault) => fault.workflow === index);
    if (double) scheduler.at(START + workflow.at + 1, () => { faults.struck(double); post(index, workflow); });
  });

  // What the surroundings do by themselves.
  for (const fault of plan.faults) {
    if (fault.kind === 'database-away') scheduler.at(START + fault.at, () => { faults.struck(fault); note('the database is away'); databaseAwayUntil = Math.max(databaseAwayUntil, scheduler.now + fault.forMs); });
    if (fault.kind === 'queue-away') scheduler.at(START + fault.at, () => { faults.struck(fault); note('the queue is away'); queue.takeAway(fault.forMs); });
    if (fault.kind === 'queue-flushed') scheduler.at(START + fault.at, () => { faults.struck(fault); note('the queue is flushed'); queue.flush(); pacer.flushed(); });
    if (fault.kind === 'clock-skew') scheduler.at(START + fault.at, () => { for (const { process } of fleet.members) process.skewMs = skewOf(process.index); });
  }

  const pacer = openPacer({ seed: plan.seed, around, ledger, queue, fleet });

  const health = openHealth(() => fleet.up('coordinator').length > 0 && !around.isDatabaseAway());
  const isDone = (): boolean => pending === 0 && receipts.size === plan.workflows.length && queue.isIdle && [...ledger.notifications.values()].every((n) => n.state.settledAt !== null && checks.payloadDueAt(n.eventId) === null) && ledger.outbox.length === 0;
  await scheduler.run({
    until: START + LONGEST_MS,
    isOver: () => violation !== null || (scheduler.now > START + 5_000 && isDone()),
    afterStep: () => {
      health.look(scheduler.now);
      pacer.plantTick();
      for (const n of ledger.notifications.values()) {
        const payloadDueAt = checks.payloadDueAt(n.eventId);
        if (payloadDueAt !== null && health.since(payloadDueAt, scheduler.now) > LATEST_DECISION_MS) report('what can be destroyed is destroyed in time', `${n.eventId} ${scheduler.now - payloadDueAt} ms late`);
        // A stopped process may commit an alarm that lies in the past; nobody knew of it before.
        const knownAt = Math.max(n.decideAt ?? Number.POSITIVE_INFINITY, committedAt.get(n.eventId) ?? 0);
        if (health.since(knownAt, scheduler.now) > LATEST_DECISION_MS) report('a decision is made soon after it is due', `${n.eventId} ${scheduler.now - knownAt} ms late`);
      }
      for (const { key, since } of ledger.forgotten()) {
        if (health.since(since, scheduler.now) > LATEST_DECISION_MS) report('what waited for its provider goes on once it is back', key);
      }
    },
  });
  const statuses = new Map<string, number>();
  if (violation === null) {
    for (const [index, eventId] of receipts) if (!ledger.notifications.has(eventId)) report('no receipt is lost', `w${index}`);
    if (receipts.size < plan.workflows.length) report('every client is answered', String(receipts.size));
    for (const receipt of provider.receipts) {
      const closedAt = closes.get(receipt.attemptKey.split('.')[0] as string);
      if (closedAt !== undefined && receipt.at > closedAt) report('nothing reaches a provider after a close with nothing in flight', receipt.attemptKey);
    }
    for (const n of ledger.notifications.values()) {
      checks.atEnd(n);
      note(`${n.idempotencyKey} ends ${n.status}: ${[...n.attempts.values()].map((row) => `${row.channel} ${row.state}`).join(', ')}`);
      statuses.set(n.status, (statuses.get(n.status) ?? 0) + 1);
    }
  }
  return { seed: plan.seed, violation, workflows: plan.workflows.length, steps: scheduler.steps, digest: createHash('sha256').update(`${trace.join('\n')}\n`).digest('hex'), trace, kinds: [...faults.kinds], pairs: new Map(faults.pairs), edges, statuses };
};
