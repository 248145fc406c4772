import { createHash } from 'node:crypto';
import type { Accepted, NewNotification } from '../../shared/ledger/accept-group.ts';
import type { OutboxRow } from '../../shared/ledger/claims.ts';
import type { PollClaim } from '../../shared/ledger/lease-polls.ts';
import type { LedgerPort } from '../../shared/ledger/ledger-port.ts';
import type { Loaded } from '../../shared/ledger/load.ts';
import type { Append, SealedBox } from '../../shared/ledger/rows.ts';
import type { StoredState } from '../../shared/ledger/stored-state.ts';
import { unpackState } from '../../shared/ledger/stored-state.ts';
import type { NewSuppression } from '../../shared/ledger/suppressions.ts';
import type { NewWithdrawal } from '../../shared/ledger/consents.ts';
import type { ThrottleAt } from '../../shared/ledger/throttles.ts';
import type { NotificationState } from '../../shared/domain/state.ts';
import { isProbeDue } from '../../shared/domain/provider-state.ts';
import type { ProviderState, ProviderStates } from '../../shared/domain/provider-state.ts';
import type { ProviderRow } from '../../shared/ledger/provider-rows.ts';
import { toProviderStates } from '../../shared/ledger/provider-rows.ts';

/** What the database would have refused. The code is the one that Postgres gives. */
export class ConstraintViolation extends Error {
  override readonly name = 'ConstraintViolation';
  readonly code: string;
  readonly constraint: string;
  constructor(constraint: string, code = '23505') {
    super(`violates ${constraint}`);
    this.code = code;
    this.constraint = constraint;
  }
}

/** One stored entry. */
export interface MemoryEntry { version: number; kind: string; at: number; actor: string; attemptKey: string | null; body: string; prevHash: string; hash: string }

/** One attempt as its row says it. */
export interface MemoryAttempt {
  key: string; eventId: string; channel: string; step: number; origin: string; state: string; provider: string; providerMessageId: string | null;
  settledAt: number | null; nextPollAt: number | null; leasedUntil: number | null; waitAt: number | null;
}

/** Everything under one event id. */
export interface MemoryNotification {
  eventId: string; tenant: string; idempotencyKey: string; requestFingerprint: Buffer; intentHash: string; expiresAt: number; locale: string;
  requestedAt: number; recipient: SealedBox | null; variables: SealedBox | null; secrets: SealedBox | null; precondition: SealedBox | null; erased: boolean; version: number; headHash: Buffer; state: NotificationState; status: string;
  decideAt: number | null; entries: MemoryEntry[]; attempts: Map<string, MemoryAttempt>; deadLetters: Map<string, string>;
  /** Fingerprints of its recipient's addresses, in hex. */
  prints: Record<string, string | null>;
}

/** A destination that is suppressed; `sender` is empty for every sender. */
export interface MemorySuppression { tenant: string; channel: string; address: string; sender: string; reason: string; source: string; at: number; eventId: string | null }

/** A consent that was taken back; `basis` is empty for every one. */
export interface MemoryWithdrawal { tenant: string; channel: string; address: string; basis: string; at: number }

/** What was begun under a throttle. */
export interface MemoryStart { key: string; tenant: string; channel: string; purpose: string; address: string; at: number }

interface StoredOutbox extends OutboxRow { takenBy: object | null }

/** What one commit changed, for whoever watches the ledger. */
export interface Commit { notification: MemoryNotification; before: NotificationState | null; entries: MemoryEntry[]; append: Append }

export interface MemoryLedger {
  readonly notifications: ReadonlyMap<string, MemoryNotification>;
  readonly outbox: readonly OutboxRow[];
  /** The statements themselves, each atomic; throws ConstraintViolation where the database would refuse. */
  load: (eventId: string) => Loaded | null;
  append: (append: Append) => boolean;
  accept: (one: NewNotification) => Accepted;
  findByIdempotencyKey: (tenant: string, key: string) => { eventId: string; requestFingerprint: Buffer } | null;
  dueDecisions: (now: number, limit: number) => Loaded[];
  waiting: (now: number, limit: number) => Loaded[];
  /** The next instant at which something that waits for a provider may go on; null where nothing does. */
  waitingDueAt: () => number | null;
  /** Attempts that wait for a provider that is back, with the instant it came back at. */
  forgotten: () => { key: string; since: number }[];
  readonly providers: ProviderStates;
  leaseDuePolls: (lease: { now: number; leaseUntil: number; limit: number }) => PollClaim[];
  nextDueAt: (now: number) => number | null;
  /** Takes rows for a transaction; `release` gives back what it holds, `remove` deletes it. */
  takeOutbox: (limit: number, transaction: object) => OutboxRow[];
  release: (transaction: object) => void;
  remove: (transaction: object) => void;
  beat: (duty: string, now: number) => void;
  pulse: (duty: string) => { beatAt: number | null; decisionAt: number | null };
  postpone: (eventIds: readonly string[], until: number) => void;
  readonly suppressions: readonly MemorySuppression[];
  suppress: (one: NewSuppression) => boolean;
  readonly withdrawals: readonly MemoryWithdrawal[];
  withdrawConsent: (one: NewWithdrawal) => boolean;
  readonly throttledStarts: readonly MemoryStart[];
  throttled: (eventId: string, throttles: readonly ThrottleAt[]) => string[];
  /** Destroys what is sealed, as an erasure does; the entries stay. */
  erase: (eventId: string) => void;
}

/** What goes as jsonb has instants and bytes as texts. */
const instant = (at: unknown): number | null => (typeof at === 'string' ? Date.parse(at) : typeof at === 'number' ? at : null);
const bytes = (value: unknown): string => (typeof value === 'string' ? value.slice(2) : Buffer.from(value as Uint8Array).toString('hex'));
const hexOf = (print: Uint8Array | null): string | null => (print === null ? null : Buffer.from(print).toString('hex'));
const sha = (previous: string, body: string): string => createHash('sha256').update(Buffer.from(previous, 'hex')).update(body, 'utf8').digest('hex');

const LIVE = new Set(['planned', 'queued', 'submitting']);
const isLiveRow = (row: MemoryAttempt): boolean => LIVE.has(row.state) || ((row.state === 'submitted' || row.state === 'submitted_unknown') && row.settledAt === null);

const entryOf = (row: Record<string, unknown>): MemoryEntry => ({
  version: Number(row['version']), kind: String(row['kind']), at: instant(row['at']) as number, actor: String(row['actor']), attemptKey: (row['attempt_key'] ?? null) as string | null,
  body: String(row['body']), prevHash: bytes(row['prev_hash']), hash: bytes(row['hash']),
});

const attemptOf = (row: Record<string, unknown>): MemoryAttempt => ({
  key: String(row['attempt_key']), eventId: String(row['event_id']), channel: String(row['channel']), step: Number(row['step']), origin: String(row['origin']),
  state: String(row['state']), provider: String(row['provider']), providerMessageId: (row['provider_message_id'] ?? null) as string | null,
  settledAt: instant(row['settled_at']), nextPollAt: instant(row['next_poll_at']), leasedUntil: null, waitAt: instant(row['provider_wait_at']),
});

/** Gapless versions, each entry chained to the one before and covering its own text. */
const checkChain = (intentHash: string, stored: readonly MemoryEntry[], added: readonly MemoryEntry[]): void => {
  let previous = stored.at(-1) ?? { version: 0, hash: intentHash };
  for (const entry of added) {
    if (entry.version <= previous.version) throw new ConstraintViolation('ledger_entry_pkey');
    if (entry.hash !== sha(entry.prevHash, entry.body)) throw new ConstraintViolation('ledger_entry_check', '23514');
    if (entry.version !== previous.version + 1 || entry.prevHash !== previous.hash) throw new ConstraintViolation('ledger_entry_chain', '23000');
    previous = entry;
  }
};

/** The unique indexes of `attempt`, over the rows as they would stand. */
const checkAttempts = (after: ReadonlyMap<string, MemoryAttempt>, messages: ReadonlyMap<string, string>): void => {
  const live = new Set<string>();
  const steps = new Set<number>();
  for (const row of after.values()) {
    if (isLiveRow(row)) {
      if (live.has(row.channel)) throw new ConstraintViolation('attempt_one_live');
      live.add(row.channel);
    }
    if (row.origin === 'policy') {
      if (steps.has(row.step)) throw new ConstraintViolation('attempt_step_once');
      steps.add(row.step);
    }
    if (row.providerMessageId !== null && (messages.get(`${row.provider} ${row.providerMessageId}`) ?? row.key) !== row.key) throw new ConstraintViolation('attempt_provider_message');
  }
};

/** What was planned is there anew; what was there keeps what is its for good. */
const merged = (known: ReadonlyMap<string, MemoryAttempt>, { planned, changed }: Append['rows']): Map<string, MemoryAttempt> => {
  const after = new Map(known);
  for (const row of planned.map(attemptOf)) {
    if (after.has(row.key)) throw new ConstraintViolation('attempt_pkey');
    after.set(row.key, row);
  }
  for (const row of changed.map(attemptOf)) {
    const before = after.get(row.key);
    if (!before) continue;
    const leasedUntil = before.nextPollAt === row.nextPollAt ? before.leasedUntil : null;
    after.set(row.key, { ...before, state: row.state, providerMessageId: row.providerMessageId, settledAt: row.settledAt, nextPollAt: row.nextPollAt, leasedUntil, waitAt: row.waitAt });
  }
  return after;
};

/** The ledger in memory, under the constraints that the database enforces. `onCommit` hears of every append that won, `onMoved` of rows that leave the outbox. */
export const createMemoryLedger = (onCommit: (commit: Commit) => void = () => undefined, onMoved: (row: OutboxRow) => void = () => undefined): MemoryLedger => {
  const notifications = new Map<string, MemoryNotification>();
  const byKey = new Map<string, MemoryNotification>();
  const messages = new Map<string, string>();
  const beats = new Map<string, number>();
  const suppressions: MemorySuppression[] = [];
  const withdrawals: MemoryWithdrawal[] = [];
  const throttledStarts: MemoryStart[] = [];
  let providers: ProviderStates = {};
  let outbox: StoredOutbox[] = [];
  let serial = 0;

  /** What of these addresses is suppressed, `channel:sender`, and what consents were taken back, `channel!basis`. */
  const standing = (tenant: string, prints: Record<string, string | null>): string[] => [
    ...suppressions.filter((one) => one.tenant === tenant && one.address === prints[one.channel]).map((one) => `${one.channel}:${one.sender}`),
    ...withdrawals.filter((one) => one.tenant === tenant && one.address === prints[one.channel]).map((one) => `${one.channel}!${one.basis}`),
  ];
  const begunSince = (of: { tenant: string; channel: string; purpose: string; address: string | null | undefined }, sinceAt: number): number => throttledStarts
    .filter((one) => one.tenant === of.tenant && one.channel === of.channel && one.purpose === of.purpose && one.address === of.address && one.at > sinceAt).length;
  const throttledOf = (of: { tenant: string; purpose: string; prints: Record<string, string | null> }, throttles: readonly ThrottleAt[]): string[] =>
    throttles.filter(({ channel, most, sinceAt }) => begunSince({ ...of, channel, address: of.prints[channel] }, sinceAt) >= most).map(({ channel }) => `${channel}~`);
  /** The one index of the list: a destination is suppressed once per sender. */
  const suppressOnce = (one: MemorySuppression): boolean => {
    if (suppressions.some((each) => each.tenant === one.tenant && each.channel === one.channel && each.address === one.address && each.sender === one.sender)) return false;
    suppressions.push(one);
    return true;
  };
  /** A submission starts only where its destination was not suppressed since it was decided on. */
  const isBarred = (n: MemoryNotification, append: Append): boolean => append.rows.starts.some(({ channel, sender }) =>
    standing(n.tenant, n.prints).some((entry) => entry === `${channel}:` || (entry.startsWith(`${channel}:`) && (sender === null || entry === `${channel}:${sender}`))));
  /** Nor was a consent taken back that was not known then. */
  const isWithdrawn = (n: MemoryNotification, append: Append): boolean => append.rows.starts.some(({ channel, known }) =>
    standing(n.tenant, n.prints).some((entry) => entry.startsWith(`${channel}!`) && !((known ?? []) as string[]).includes(entry.slice(String(channel).length + 1))));
  /** Nor did its destination have as many of its purpose as its throttle allows. */
  const isThrottled = (n: MemoryNotification, append: Append): boolean => append.rows.starts.some(({ channel, most, since }) =>
    most !== undefined && begunSince({ tenant: n.tenant, channel: String(channel), purpose: n.state.purpose, address: n.prints[String(channel)] }, instant(since) as number) >= Number(most));

  const loadedOf = (n: MemoryNotification): Loaded => ({
    eventId: n.eventId, state: n.state, headHash: n.headHash, locale: n.locale, requestedAt: n.requestedAt, recipient: n.recipient, variables: n.variables, secrets: n.secrets,
    suppressed: standing(n.tenant, n.prints), providers,
  });
  const heldRows = (): MemoryAttempt[] => [...notifications.values()].flatMap((n) => [...n.attempts.values()]).filter((row) => row.waitAt !== null)
    .sort((one, other) => Number(one.waitAt) - Number(other.waitAt));
  const providerOf = (row: MemoryAttempt): ProviderState | undefined => (providers as Record<string, ProviderState | undefined>)[row.provider];
  const stands = ({ rows }: Append): boolean => rows.providers.every((row) => (((providers as Record<string, ProviderState | undefined>)[String(row['provider'])])?.revision ?? 0) === row['expected']);

  /** Checks everything before anything is changed: a refused statement leaves no trace. */
  const write = (n: MemoryNotification, append: Append): void => {
    const added = append.rows.entries.map(entryOf);
    checkChain(n.intentHash, n.entries, added);
    const attempts = merged(n.attempts, append.rows);
    checkAttempts(attempts, messages);
    const before = n.entries.length === 0 ? null : n.state;
    const stored = unpackState(JSON.parse(JSON.stringify(append.rows.state['state'])) as StoredState);
    n.attempts = attempts;
    for (const row of attempts.values()) if (row.providerMessageId !== null) messages.set(`${row.provider} ${row.providerMessageId}`, row.key);
    n.entries.push(...added);
    n.state = stored;
    n.version = append.version;
    n.headHash = append.headHash;
    n.status = String(append.rows.state['status']);
    n.decideAt = instant(append.rows.state['decide_at']);
    for (const row of append.rows.outbox) {
      serial += 1;
      outbox.push({
        id: String(serial), eventId: String(row['event_id']), attemptKey: String(row['attempt_key']), channel: row['channel'] as 'sms' | 'email',
        generation: Number(row['generation']), notBeforeAt: instant(row['not_before_at']) as number, takenBy: null,
      });
    }
    for (const row of append.rows.resolutions) {
      for (const key of n.deadLetters.keys()) if (row['attempt_key'] === null || row['attempt_key'] === key) n.deadLetters.delete(key);
    }
    for (const row of append.rows.dead_letters) {
      const key = String(row['attempt_key']);
      if (!n.deadLetters.has(key)) n.deadLetters.set(key, String(row['reason']));
    }
    for (const row of append.rows.suppressions) {
      const address = n.prints[String(row['channel'])];
      if (address) suppressOnce({ tenant: n.tenant, channel: String(row['channel']), address, sender: bytes(row['sender']), reason: String(row['reason']), source: String(row['source']), at: instant(row['at']) as number, eventId: n.eventId });
    }
    for (const row of append.rows.starts) {
      const address = n.prints[String(row['channel'])];
      if (row['most'] !== undefined && address && !throttledStarts.some(({ key }) => key === row['attempt_key'])) {
        throttledStarts.push({ key: String(row['attempt_key']), tenant: n.tenant, channel: String(row['channel']), purpose: n.state.purpose, address, at: instant(row['at']) as number });
      }
    }
    for (const { part } of append.rows.destroyed) n[part === 'addresses' ? 'recipient' : part] = null;
    const written = append.rows.providers.filter((row) => row['writes'] === true);
    providers = { ...providers, ...toProviderStates(written as unknown as ProviderRow[]) };
    onCommit({ notification: n, before, entries: added, append });
  };

  return {
    notifications,
    suppressions,
    get outbox() { return outbox; },
    get providers() { return providers; },
    load: (eventId) => {
      const found = notifications.get(eventId);
      return found ? loadedOf(found) : null;
    },
    append: (append) => {
      const n = notifications.get(append.eventId);
      if (!n || n.version !== Number(append.rows.state['expected'])) return false;
      if (isBarred(n, append)) return false;
      if (isWithdrawn(n, append)) return false;
      if (isThrottled(n, append)) return false;
      if (!stands(append)) return false;
      write(n, append);
      return true;
    },
    accept: (one) => {
      const known = byKey.get(`${one.tenant} ${one.idempotencyKey}`);
      if (known) return { kind: 'exists', eventId: known.eventId, requestFingerprint: known.requestFingerprint };
      const prints = { sms: hexOf(one.recipient.smsPrint), email: hexOf(one.recipient.emailPrint) };
      const suppressed = [...standing(one.tenant, prints), ...throttledOf({ tenant: one.tenant, purpose: one.purpose, prints }, one.throttles ?? [])];
      if (suppressed.some((entry) => !one.presumed.includes(entry))) return { kind: 'suppressed', suppressed };
      if (notifications.has(one.append.eventId)) throw new ConstraintViolation('notification_pkey');
      const n: MemoryNotification = {
        eventId: one.append.eventId, tenant: one.tenant, idempotencyKey: one.idempotencyKey, requestFingerprint: Buffer.from(one.requestFingerprint),
        intentHash: Buffer.from(one.intentHash).toString('hex'), expiresAt: one.expiresAt, locale: one.locale, requestedAt: one.requestedAt,
        recipient: one.recipient, variables: one.variables, secrets: one.secrets, precondition: one.precondition ?? null, erased: false, version: 0, headHash: Buffer.from(one.intentHash), state: one.append.after, status: '',
        decideAt: null, entries: [], attempts: new Map(), deadLetters: new Map(), prints,
      };
      if (createHash('sha256').update(one.intent, 'utf8').digest('hex') !== n.intentHash) throw new ConstraintViolation('notification_check', '23514');
      // What it starts it starts as an append would.
      if (isBarred(n, one.append) || isWithdrawn(n, one.append) || !stands(one.append)) return { kind: 'suppressed', suppressed };
      write(n, one.append);
      notifications.set(n.eventId, n);
      byKey.set(`${one.tenant} ${one.idempotencyKey}`, n);
      return { kind: 'accepted' };
    },
    findByIdempotencyKey: (tenant, key) => {
      const found = byKey.get(`${tenant} ${key}`);
      return found ? { eventId: found.eventId, requestFingerprint: found.requestFingerprint } : null;
    },
    dueDecisions: (now, limit) => [...notifications.values()].filter((n) => n.decideAt !== null && n.decideAt <= now)
      .sort((one, other) => Number(one.decideAt) - Number(other.decideAt)).slice(0, limit).map(loadedOf),
    waiting: (now, limit) => {
      const rows = heldRows();
      const free = rows.filter((row) => providerOf(row)?.state === 'closed').slice(0, limit);
      const probes = Object.keys(providers).flatMap((name) => rows.filter((row) => row.provider === name && isProbeDue(providerOf(row) as ProviderState, now)).slice(0, 3));
      return [...new Set([...free, ...probes].map((row) => row.eventId))].map((eventId) => loadedOf(notifications.get(eventId) as MemoryNotification));
    },
    forgotten: () => heldRows().flatMap((row) => (providerOf(row)?.state === 'closed' ? [{ key: row.key, since: Math.max(Number(row.waitAt), providerOf(row)?.closedAt ?? 0) }] : [])),
    waitingDueAt: () => {
      const due = heldRows().map((row) => providerOf(row)).map((provider) => (provider?.state === 'closed' ? 0 : provider?.probeAt ?? provider?.probe?.untilAt ?? 0));
      return due.length > 0 ? Math.min(...due) : null;
    },
    leaseDuePolls: ({ now, leaseUntil, limit }) => {
      const due = [...notifications.values()].flatMap((n) => [...n.attempts.values()])
        .filter((row) => row.nextPollAt !== null && row.nextPollAt <= now && (row.leasedUntil === null || row.leasedUntil <= now))
        .sort((one, other) => Number(one.nextPollAt) - Number(other.nextPollAt)).slice(0, limit);
      for (const row of due) row.leasedUntil = leaseUntil;
      return due.map((row) => ({ attemptKey: row.key, eventId: row.eventId, provider: row.provider, nextPollAt: row.nextPollAt as number }));
    },
    nextDueAt: (now) => {
      let next: number | null = null;
      const consider = (at: number | null): void => { if (at !== null && (next === null || at < next)) next = at; };
      for (const n of notifications.values()) {
        consider(n.decideAt);
        for (const row of n.attempts.values()) if (row.leasedUntil === null || Number(row.nextPollAt) > now) consider(row.nextPollAt);
      }
      return next;
    },
    takeOutbox: (limit, transaction) => {
      const taken = outbox.filter((row) => row.takenBy === null).slice(0, limit);
      for (const row of taken) row.takenBy = transaction;
      return taken.map(({ id, eventId, attemptKey, channel, generation, notBeforeAt }) => ({ id, eventId, attemptKey, channel, generation, notBeforeAt }));
    },
    release: (transaction) => { for (const row of outbox) if (row.takenBy === transaction) row.takenBy = null; },
    remove: (transaction) => {
      for (const row of outbox) if (row.takenBy === transaction) onMoved(row);
      outbox = outbox.filter((row) => row.takenBy !== transaction);
    },
    erase: (eventId) => {
      const n = notifications.get(eventId);
      if (!n) return;
      n.recipient = null;
      n.variables = null;
      n.prints = { sms: null, email: null };
      n.secrets = null;
      n.precondition = null;
      n.erased = true;
    },
    withdrawals,
    withdrawConsent: ({ tenant, channel, addressPrint, basis, at }) => {
      const address = hexOf(addressPrint) ?? '';
      if (withdrawals.some((one) => one.tenant === tenant && one.channel === channel && one.address === address && one.basis === basis)) return false;
      withdrawals.push({ tenant, channel, address, basis, at });
      return true;
    },
    throttledStarts,
    throttled: (eventId, throttles) => {
      const n = notifications.get(eventId);
      return n ? throttledOf({ tenant: n.tenant, purpose: n.state.purpose, prints: n.prints }, throttles) : [];
    },
    suppress: ({ tenant, channel, addressPrint, senderPrint, reason, source, at }) =>
      suppressOnce({ tenant, channel, address: hexOf(addressPrint) ?? '', sender: hexOf(senderPrint) ?? '', reason, source, at, eventId: null }),
    beat: (duty, now) => { beats.set(duty, Math.max(now, beats.get(duty) ?? now)); },
    pulse: (duty) => {
      const due = [...notifications.values()].map((n) => n.decideAt).filter((at): at is number => at !== null);
      return { beatAt: beats.get(duty) ?? null, decisionAt: due.length > 0 ? Math.min(...due) : null };
    },
    postpone: (eventIds, until) => {
      for (const eventId of eventIds) {
        const n = notifications.get(eventId);
        if (n && n.decideAt !== null && n.decideAt <= until) n.decideAt = until;
      }
    },
  };
};

/** How a port reaches the statements: at once, or when and as the simulation pleases. */
export type Reach = <Value>(boundary: string, statement: () => Value) => Promise<Value>;

const atOnce: Reach = (_, statement) => new Promise((resolve) => { resolve(statement()); });

/** Which durable boundary an append is: what stands behind it differs for whoever dies there. */
const boundaryOf = (append: Append): string => {
  const kinds = append.rows.entries.map((entry) => String(entry['kind']));
  if (kinds.includes('SubmissionStarted')) return 'append-start';
  if (kinds.includes('FallbackClaimed')) return 'append-claim';
  return kinds.some((kind) => kind.startsWith('Submission')) ? 'append-answer' : 'append-other';
};

/** The port of one process on a memory ledger. `open` holds its transactions: they end with the process. */
export const memoryPort = (ledger: MemoryLedger, reach: Reach = atOnce, open = new Set<object>()): LedgerPort => ({
  load: (eventId) => reach('load', () => ledger.load(eventId)),
  append: (append) => reach(boundaryOf(append), () => ledger.append(append)),
  accept: (one) => reach('accept', () => ledger.accept(one)),
  findByIdempotencyKey: (tenant, key) => reach('find', () => ledger.findByIdempotencyKey(tenant, key)),
  suppress: (one) => reach('suppress', () => ledger.suppress(one)),
  withdrawConsent: (one) => reach('withdraw', () => ledger.withdrawConsent(one)),
  throttled: (eventId, throttles) => reach('throttled', () => ledger.throttled(eventId, throttles)),
  tenantOf: (eventId) => reach('tenant', () => ledger.notifications.get(eventId)?.tenant ?? null),
  preconditionOf: (eventId) => reach('precondition', () => ledger.notifications.get(eventId)?.precondition ?? null),
  loadDueDecisions: (now, limit) => reach('due', () => ledger.dueDecisions(now, limit)),
  loadWaiting: (now, limit) => reach('waiting', () => ledger.waiting(now, limit)),
  leaseDuePolls: (lease) => reach('lease', () => ledger.leaseDuePolls(lease)),
  nextDueAt: (now) => reach('next', () => ledger.nextDueAt(now)),
  moveOutbox: async (limit, enqueue) => {
    const transaction = {};
    open.add(transaction);
    try {
      const rows = await reach('take-outbox', () => ledger.takeOutbox(limit, transaction));
      if (rows.length > 0) {
        await enqueue(rows);
        await reach('remove-outbox', () => ledger.remove(transaction));
      }
      return rows.length;
    } finally {
      ledger.release(transaction);
      open.delete(transaction);
    }
  },
  recordLostRace: () => Promise.resolve(),
  landed: () => Promise.resolve(false),
  beat: (duty, now) => reach('beat', () => ledger.beat(duty, now)),
  readPulse: (duty) => reach('last-beat', () => ledger.pulse(duty)),
  postponeDecisions: (eventIds, until) => reach('postpone', () => ledger.postpone(eventIds, until)),
});
