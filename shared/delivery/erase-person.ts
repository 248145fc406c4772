import { ulid } from 'ulid';
import type { ErasedPerson } from '../domain/words.ts';
import { normaliseEmail, normalisePhone } from '../content/address.ts';
import type { ErasedCounts, ErasureBatch, RecordedErasure, Traces } from '../ledger/erasures.ts';
import { countErasable, countSuppressionsOf, destroyArtifacts, erasureFacts, eraseTraces, judgeArtifacts, readTraces } from '../ledger/erasures.ts';
import { lowestEventId } from '../ledger/event-ids.ts';
import { erasureMac } from '../ledger/erasure-file.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { SealError } from '../security/sealing.ts';
import { decideAndAppend } from './decide-and-append.ts';
import type { Engine } from './engine.ts';
import { openPart } from './payload.ts';
import { addressPrint } from './suppression.ts';

/** Why somebody is erased: a closed list, since it stands in clear for ever, and a sentence would tell who it was. */
export const ERASURE_REASONS: readonly string[] = ['requested', 'account_closed', 'consent_withdrawn', 'wrong_person', 'legal', 'test', 'other'];

const PAGE = 1_000;
const AT_ONCE = 20;

/**
 * The record of an erasure of whoever a text names: a recipient's reference, a player's, a number or an address. Only fingerprints of it are
 * kept, which only somebody with the keys and the text can compare.
 */
export const newErasure = (ring: KeyRing, text: string, about: { tenant: string; at: number; reason: string; actor: string }): RecordedErasure => {
  const [sms, email] = [normalisePhone(text), normaliseEmail(text)];
  const one = {
    erasureId: `ers_${ulid(about.at)}`, ...about, referencePrint: fingerprint(ring, 'recipient-ref', text), playerPrint: fingerprint(ring, 'player-ref', text),
    smsPrint: sms === null ? null : addressPrint(ring, 'sms', sms), emailPrint: email === null ? null : addressPrint(ring, 'email', email),
  };
  return { ...one, mac: erasureMac(ring, one) };
};

interface TicketText { playerRef: string; contact: { sms: string | null; email: string | null } }
interface Match { eventId: string; of: Map<ErasedPerson, RecordedErasure>; prints: Buffer[] }

const same = (one: Buffer | null, other: Buffer | null): boolean => one !== null && other !== null && one.equals(other);
/** Whether a notification was requested until an instant. */
const isUntil = (eventId: string, at: number): boolean => eventId < lowestEventId(at + 1);

const isRecipient = (traces: Traces, one: RecordedErasure): boolean =>
  same(traces.referencePrint, one.referencePrint) || same(traces.smsPrint, one.smsPrint) || same(traces.emailPrint, one.emailPrint);

const playerOf = (ring: KeyRing, { eventId, ticket }: Traces): { ref: Buffer; sms: Buffer | null; email: Buffer | null } | null => {
  if (ticket === null) return null;
  try {
    const { playerRef, contact } = openPart<TicketText>(ring, eventId, 'ticket', ticket);
    return {
      ref: fingerprint(ring, 'player-ref', playerRef), sms: contact.sms === null ? null : addressPrint(ring, 'sms', contact.sms), email: contact.email === null ? null : addressPrint(ring, 'email', contact.email),
    };
  } catch (error) {
    // Nobody can read it any more, whoever's it was.
    if (error instanceof SealError) return null;
    throw error;
  }
};

const matchOf = (ring: KeyRing, traces: Traces, erasures: readonly RecordedErasure[]): Match | null => {
  const of = new Map<ErasedPerson, RecordedErasure>();
  const player = playerOf(ring, traces);
  for (const one of erasures) {
    if (!isUntil(traces.eventId, one.at)) continue;
    if (!of.has('recipient') && isRecipient(traces, one)) of.set('recipient', one);
    if (!of.has('player') && player && (same(player.ref, one.playerPrint) || same(player.sms, one.smsPrint) || same(player.email, one.emailPrint))) of.set('player', one);
  }
  return of.size === 0 ? null : { eventId: traces.eventId, of, prints: [traces.smsPrint, traces.emailPrint].filter((print) => print !== null) };
};

/** Every notification that tells of one of these persons, a page at a time, whatever its tenant. */
const matchesOf = async function* (engine: Pick<Engine, 'db' | 'ring'>, erasures: readonly RecordedErasure[], pageSize = PAGE): AsyncGenerator<{ matches: Match[]; looked: number }> {
  const latest = Math.max(...erasures.map((one) => one.at));
  for (let after = '', looked = 0; ;) {
    const page = await readTraces(engine.db, after, pageSize);
    looked += page.length;
    yield { matches: page.flatMap((traces) => matchOf(engine.ring, traces, erasures) ?? []), looked };
    const last = page.at(-1);
    if (!last || page.length < pageSize || !isUntil(last.eventId, latest)) return;
    after = last.eventId;
  }
};

/** What an erasure finds, or has destroyed. `shared`: reports that somebody else was sent as well, and that stay until they expire. */
export interface ErasureCounts extends ErasedCounts { notifications: number; open: number; artifacts: number; shared: number }

const NOTHING: ErasureCounts = { notifications: 0, open: 0, tickets: 0, parts: 0, addresses: 0, observations: 0, reasons: 0, links: 0, artifacts: 0, shared: 0 };
const sum = (one: ErasureCounts, other: Partial<ErasureCounts>): ErasureCounts =>
  Object.fromEntries(Object.entries(one).map(([name, count]) => [name, count + (other[name as keyof ErasureCounts] ?? 0)])) as unknown as ErasureCounts;

/** The part of a page that belongs to the tenants of its erasures, and whose the rest is. */
const ownOf = async (engine: Pick<Engine, 'db'>, matches: readonly Match[]) => {
  const facts = new Map((matches.length === 0 ? [] : await erasureFacts(engine.db, matches.map((match) => match.eventId))).map((one) => [one.eventId, one]));
  const own = matches.flatMap((match) => {
    const known = facts.get(match.eventId);
    const of = new Map([...match.of].filter(([, one]) => one.tenant === known?.tenant));
    return known && of.size > 0 ? [{ ...match, ...known, of }] : [];
  });
  const foreign = matches.flatMap((match) => facts.get(match.eventId)?.tenant ?? []).filter((tenant) => !own.some((match) => match.tenant === tenant));
  const ids = (person: ErasedPerson): string[] => own.filter((match) => match.of.has(person)).map((match) => match.eventId);
  const batch: ErasureBatch = { all: own.map((match) => match.eventId), recipients: ids('recipient'), players: ids('player') };
  const artifacts = [...new Set(own.filter((match) => match.of.has('recipient')).flatMap((match) => match.artifacts))];
  return { own, foreign, batch, artifacts };
};

export interface ErasurePreview { counts: ErasureCounts; /** A few of those that may still be sent. */ openEvents: string[]; suppressions: number; /** Tenants that know the same person, and are not meant. */ otherTenants: string[] }

const SHOWN = 20;

/** Looks for all there is of a person; changes nothing. */
export const previewErasure = async (engine: Engine, erasure: RecordedErasure, onPage: (looked: number) => void = () => undefined): Promise<ErasurePreview> => {
  let counts = NOTHING;
  const openEvents: string[] = [];
  const otherTenants = new Set<string>();
  const prints = new Map<string, Buffer>([erasure.smsPrint, erasure.emailPrint].flatMap((print) => (print === null ? [] : [[print.toString('hex'), print]])));
  for await (const { matches, looked } of matchesOf(engine, [erasure])) {
    const { own, foreign, batch, artifacts } = await ownOf(engine, matches);
    for (const tenant of foreign) otherTenants.add(tenant);
    for (const match of own.filter(({ of }) => of.has('recipient'))) for (const print of match.prints) prints.set(print.toString('hex'), print);
    const standing = await judgeArtifacts(engine.db, artifacts, batch.recipients);
    const open = own.filter((match) => match.open).map((match) => match.eventId);
    openEvents.push(...open.slice(0, SHOWN - openEvents.length));
    counts = sum(counts, {
      ...(own.length === 0 ? {} : await countErasable(engine.db, batch, engine.now())), notifications: own.length, open: open.length,
      artifacts: standing.filter(({ shared }) => !shared).length, shared: standing.filter(({ shared }) => shared).length,
    });
    onPage(looked);
  }
  return { counts, openEvents, suppressions: await countSuppressionsOf(engine.db, [...prints.values()]), otherTenants: [...otherTenants].sort() };
};

export interface ErasingHooks {
  actor: string;
  /** After each page; what it throws ends the work there, to be taken up again at any time. */
  onPage?: (looked: number, counts: ErasureCounts) => void;
  pageSize?: number;
}

/**
 * Carries out erasures, all of them in one walk through the ledger, page by page: first the entries that say so, which destroy the payloads
 * and close what may still be sent; then keys and bytes of reports; then everything else, and by what it was found at the very end. So
 * whoever dies anywhere in it can begin anew, and doing it twice is harmless.
 */
export const carryOutErasures = async (engine: Engine, erasures: readonly RecordedErasure[], { actor, onPage = () => undefined, pageSize }: ErasingHooks): Promise<ErasureCounts> => {
  let counts = NOTHING;
  if (erasures.length === 0) return counts;
  for await (const { matches, looked } of matchesOf(engine, erasures, pageSize)) {
    const { own, batch, artifacts } = await ownOf(engine, matches);
    if (own.length > 0) {
      const there = await countErasable(engine.db, batch, engine.now());
      const standing = new Set((await judgeArtifacts(engine.db, artifacts, batch.recipients)).map(({ artifactId }) => artifactId));
      for (let from = 0; from < own.length; from += AT_ONCE) await Promise.all(own.slice(from, from + AT_ONCE).map((match) => writeEntries(engine, match, actor)));
      const gone = await destroyArtifacts(engine.db, artifacts, { eventIds: batch.recipients, now: engine.now() });
      for (const { tenant, artifactId } of gone) await engine.artifacts.remove({ tenant, artifact: artifactId });
      await eraseTraces(engine.db, batch, engine.now());
      const destroyed = gone.filter(({ artifactId }) => standing.has(artifactId)).length;
      counts = sum(counts, { ...there, notifications: own.length, open: own.filter((match) => match.open).length, artifacts: destroyed, shared: standing.size - destroyed });
    }
    onPage(looked, counts);
  }
  return counts;
};

/** Each entry has a request id of its own: nothing in the ledger says which notifications were one person's. */
const writeEntries = async (engine: Engine, match: Match, actor: string): Promise<void> => {
  for (const [of, { reason }] of match.of) {
    await decideAndAppend(engine, match.eventId, { provenance: { actor, requestId: `erase-${ulid(engine.now())}` }, command: () => ({ kind: 'erase', of, reason, close: true }) });
  }
};
