import type { AttemptState, NotificationState } from '../domain/state.ts';
import { riskAt } from '../domain/at-risk.ts';
import type { Policy } from '../domain/policy.ts';
import type { Channel, PayloadPart } from '../domain/words.ts';
import { parseAttemptKey } from '../domain/words.ts';
import { nextDecideAt } from '../domain/lifecycle.ts';
import { publicStatus } from '../domain/status.ts';
import { evolve } from '../domain/evolve.ts';
import { reasonBy } from '../domain/reasons.ts';
import type { Stamped } from '../domain/transitions.ts';
import { attemptOf } from '../domain/transitions.ts';
import { findAttempt } from '../domain/state.ts';
import type { Decision, Request } from '../domain/work.ts';
import { canonicalText } from '../security/canonical.ts';
import { chainHash } from '../security/chain-hash.ts';
import { packState } from './stored-state.ts';
import { toTimestamp, toTimestampOrNull } from './instants.ts';

/** Who decides, for which request. Codes and ids only. */
export interface Provenance { actor: string; requestId: string }

/** A box of the key ring, as it is stored. */
export interface SealedBox { keyId: string; box: Uint8Array }

/** One append: everything that one decision writes, in one transaction. */
export interface Append {
  eventId: string;
  expectedVersion: number;
  version: number;
  headHash: Buffer;
  now: number;
  after: NotificationState;
  rows: AppendRows;
}

/** Instants in milliseconds, bytes as they are; what goes as jsonb has them as its text. */
export interface AppendRows {
  state: Record<string, unknown>;
  entries: Record<string, unknown>[];
  /** Attempts that this very decision planned. */
  planned: Record<string, unknown>[];
  /** What it changed of others. */
  changed: Record<string, unknown>[];
  outbox: Record<string, unknown>[];
  dead_letters: Record<string, unknown>[];
  resolutions: Record<string, unknown>[];
  observations: Record<string, unknown>[];
  payloads: Record<string, unknown>[];
  /** Submissions that it starts: it loses where their destination was suppressed meanwhile. */
  starts: Record<string, unknown>[];
  suppressions: Record<string, unknown>[];
  /** Parts whose boxes are destroyed. */
  destroyed: { event_id: string; part: PayloadPart; at: number }[];
  /** Providers on whose state the decision rests, or which it changes. */
  providers: Record<string, unknown>[];
}

const stateOf = (state: NotificationState, key: string | null): string =>
  (key === null ? null : findAttempt(state, key)?.state) ?? (key === null ? publicStatus(state) : 'none');

/** Our sender of each channel, by its print in hex; null where it is not known, which counts as every sender. */
export type SenderPrints = Record<Channel, string | null> & {
  /** For what is not transactional, our sender of mail once more, as the sender of just that: a recipient may want no more of it alone. */
  mailing?: string | null;
};
const NO_SENDERS: SenderPrints = { sms: null, email: null };

interface Chain {
  before: NotificationState; prevHash: Uint8Array; provenance: Provenance; senders?: SenderPrints;
  /** Its thresholds say when it is to be looked at; without it, it never is. */
  policy?: Policy;
  /** What was known to bar the recipient, as `Loaded` has it; without it whatever bars them counts as news. */
  barring?: readonly string[];
}

const entryRows = ({ transitions, states }: Pick<Decision, 'transitions' | 'states'>, { before, prevHash, provenance }: Chain): { entries: Record<string, unknown>[]; headHash: Buffer } => {
  let state = before;
  let previous: Uint8Array = prevHash;
  let headHash: Buffer | null = null;
  const known = states?.length === transitions.length ? states : [];
  const entries = transitions.map(({ at, transition }, index) => {
    const key = attemptOf(transition);
    const from = state.version === 0 ? null : stateOf(state, key);
    state = known[index] ?? evolve(state, { at, transition });
    const { eventId, version, policyVersion } = state;
    const { kind } = transition;
    const to = stateOf(state, key);
    const body = canonicalText({
      event_id: eventId, version, kind, at, actor: provenance.actor, request_id: provenance.requestId, policy_version: policyVersion, from, to, details: transition.details,
    });
    const chainedTo = previous;
    previous = headHash = chainHash(chainedTo, body);
    return {
      event_id: eventId, version, kind, at, actor: provenance.actor, request_id: provenance.requestId, policy_version: policyVersion, attempt_key: key, from_state: from, to_state: to,
      body, prev_hash: chainedTo, hash: previous,
    };
  });
  if (headHash === null) throw new Error('an append without transitions');
  return { entries, headHash };
};

/** The public outcome of an attempt, neutral of providers. */
export const attemptOutcome = (attempt: AttemptState): string => (attempt.state === 'submitting' ? 'submitting' : attempt.state);

const reasonByOf = ({ reason }: AttemptState) => (reason ? reasonBy(reason) : null);

const changedRow = (attempt: AttemptState, eventId: string) => ({
  event_id: eventId, attempt_key: attempt.key, state: attempt.state, provider_message_id: attempt.providerMessageId, outcome: attemptOutcome(attempt), reason: attempt.reason,
  reason_by: reasonByOf(attempt), queued_at: attempt.queuedAt, submitted_at: attempt.submittedAt, settled_at: attempt.settledAt,
  next_poll_at: attempt.nextPollAt, provider_wait_at: attempt.providerWaitAt,
});

/** Spelt out, and not that row with more: an object that grows out of another one is dear. */
const plannedRow = (planned: AttemptState, after: NotificationState, template: { name: string; version: number }) => ({
  event_id: after.eventId, attempt_key: planned.key, step: planned.step, origin: planned.origin, channel: planned.channel, sequence: planned.sequence, state: planned.state,
  provider: planned.provider, provider_message_id: planned.providerMessageId, render_hash: planned.renderHash, policy_version: after.policyVersion,
  template: template.name, template_version: template.version, outcome: attemptOutcome(planned), reason: planned.reason, reason_by: reasonByOf(planned),
  decision_deadline_at: planned.decisionDeadlineAt, planned_at: planned.plannedAt, queued_at: planned.queuedAt, submitted_at: planned.submittedAt, settled_at: planned.settledAt,
  next_poll_at: planned.nextPollAt, provider_wait_at: planned.providerWaitAt,
});

/** The attempts that a decision planned, with the template of each, and those of before that it changed: these keep their own. */
const attemptRows = ({ transitions, state: after }: Decision, before: NotificationState) => {
  const planned: Record<string, unknown>[] = [];
  const changed: Record<string, unknown>[] = [];
  for (const attempt of after.attempts) {
    if (attempt === findAttempt(before, attempt.key)) continue;
    const template = templateOf(transitions, attempt.key);
    if (template === null) changed.push(changedRow(attempt, after.eventId));
    else planned.push(plannedRow(attempt, after, template));
  }
  return { planned, changed };
};
const templateOf = (transitions: readonly Stamped[], key: string): { name: string; version: number } | null => {
  for (const { transition: t } of transitions) {
    if ((t.kind === 'AttemptPlanned' || t.kind === 'AttemptRenderFailed') && t.details.attempt === key) return { name: t.details.template, version: t.details.template_version };
  }
  return null;
};

const outboxRow = (request: Extract<Request, { kind: 'enqueue' }>, eventId: string) => ({
  event_id: eventId, attempt_key: request.attempt, channel: request.channel, generation: request.generation, not_before_at: request.notBeforeAt,
});

type Throttle = Extract<Request, { kind: 'throttle' }>;

/** What a start counts for under its throttle; nothing where it has none. */
const throttleColumns = (requests: readonly Request[], key: string, now: number) => {
  const throttle = requests.find((request): request is Throttle => request.kind === 'throttle' && request.attempt === key);
  return throttle ? { attempt_key: key, at: toTimestamp(now), most: throttle.most, since: toTimestamp(now - throttle.withinMs) } : {};
};

/** The bases of a channel that were known to be taken back; nothing where none was. */
const knownColumn = (barring: readonly string[], channel: Channel) => {
  const known = barring.filter((entry) => entry.startsWith(`${channel}!`)).map((entry) => entry.slice(channel.length + 1));
  return known.length > 0 ? { known } : {};
};

/** What the append needs to know of the suppression list for what it starts. */
const startRows = ({ transitions, requests, state: { eventId } }: Decision, { senders = NO_SENDERS, barring = [] }: Chain, now: number): Record<string, unknown>[] => {
  const rows: Record<string, unknown>[] = [];
  for (const { transition: t } of transitions) {
    const channel = t.kind === 'SubmissionStarted' ? parseAttemptKey(t.details.attempt)?.channel : undefined;
    if (channel === undefined) continue;
    // A submission of such mail starts under both of its senders' prints, and loses where either is barred.
    const prints = channel === 'email' && senders.mailing ? [senders.email, senders.mailing] : [senders[channel]];
    // Whatever it starts under, it counts once.
    prints.forEach((sender, index) => rows.push({ event_id: eventId, channel, sender, ...knownColumn(barring, channel), ...(index === 0 ? throttleColumns(requests, attemptOf(t) as string, now) : {}) }));
  }
  return rows;
};
const suppressionRow = (request: Extract<Request, { kind: 'suppress' }>, { eventId, chain: { provenance, senders = NO_SENDERS }, now }: { eventId: string; chain: Chain; now: number }) => ({
  event_id: eventId, channel: request.channel, sender: `\\x${senders[request.channel] ?? ''}`, reason: request.reason, source: 'provider',
  at: toTimestamp(now), actor: provenance.actor, attempt_key: request.attempt,
});
const destroyedRows = (eventId: string, stamped: readonly Stamped[]): AppendRows['destroyed'] => {
  const rows: AppendRows['destroyed'] = [];
  for (const { at, transition: t } of stamped) if (t.kind === 'PayloadDestroyed') for (const part of t.details.parts) rows.push({ event_id: eventId, part, at });
  return rows;
};
const providerRow = ({ provider, expected, write }: Extract<Request, { kind: 'provider' }>, eventId: string) => (write === null ? { event_id: eventId, provider, expected, writes: false } : {
  event_id: eventId, provider, expected, writes: true, revision: write.revision, state: write.state, reason: write.reason,
  opened_at: toTimestampOrNull(write.openedAt), closed_at: toTimestampOrNull(write.closedAt), failures: write.failures,
  probe_at: toTimestampOrNull(write.probeAt), probe_attempt: write.probe?.attempt ?? null, probe_submission: write.probe?.submission ?? null,
  probe_until: toTimestampOrNull(write.probe?.untilAt ?? null),
});

/** What a decision asks for beside its entries, each kind of it as rows. */
const requestRows = ({ requests, state: { eventId } }: Decision, chain: Chain, now: number) => {
  const rows: Pick<AppendRows, 'outbox' | 'dead_letters' | 'resolutions' | 'suppressions' | 'providers'> = { outbox: [], dead_letters: [], resolutions: [], suppressions: [], providers: [] };
  for (const request of requests) {
    if (request.kind === 'enqueue') rows.outbox.push(outboxRow(request, eventId));
    else if (request.kind === 'provider') rows.providers.push(providerRow(request, eventId));
    else if (request.kind === 'suppress') rows.suppressions.push(suppressionRow(request, { eventId, chain, now }));
    else if (request.kind === 'dead_letter') rows.dead_letters.push({ event_id: eventId, attempt_key: request.attempt, channel: request.channel, reason: request.reason, created_at: toTimestamp(now) });
    else if (request.kind === 'resolve_dead_letter') rows.resolutions.push({ event_id: eventId, attempt_key: request.attempt, resolution: request.resolution, at: toTimestamp(now) });
  }
  return rows;
};

/** Translates a decision into the rows of its append. `before` is the loaded state the decision was made on. */
export const toAppend = (decision: Decision, chain: Chain): Append => {
  const { before } = chain;
  const after = decision.state;
  const { entries, headHash } = entryRows(decision, chain);
  const now = decision.transitions.at(-1)?.at as number;
  const { planned, changed } = attemptRows(decision, before);
  const { outbox, dead_letters, resolutions, suppressions, providers } = requestRows(decision, chain, now);
  return {
    eventId: after.eventId, expectedVersion: before.version, version: after.version, headHash, now, after,
    rows: {
      state: {
        event_id: after.eventId, expected: before.version, version: after.version, head_hash: headHash, state: packState(after),
        status: publicStatus(after), decide_at: nextDecideAt(after), updated_at: now, risk_at: chain.policy === undefined ? null : riskAt(chain.policy, after),
      },
      entries, planned, changed, outbox, dead_letters, resolutions, observations: [], payloads: [],
      starts: startRows(decision, chain, now), suppressions, destroyed: destroyedRows(after.eventId, decision.transitions), providers,
    },
  };
};

/** Adds the provider's own words, sealed, as evidence for the last entry of an append. */
export const withObservation = (append: Append, sealed: SealedBox): Append => ({
  ...append,
  rows: {
    ...append.rows,
    observations: [{ event_id: append.eventId, version: append.version, at: append.now, key_id: sealed.keyId, box: sealed.box }],
  },
});

/** Adds a sealed part of the payload, e.g. the free text of an operator. */
export const withPayload = (append: Append, part: string, sealed: SealedBox): Append => ({
  ...append,
  rows: { ...append.rows, payloads: [...append.rows.payloads, { event_id: append.eventId, part, key_id: sealed.keyId, box: sealed.box }] },
});
