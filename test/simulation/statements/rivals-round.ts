import type { Command } from '../../../shared/domain/decide.ts';
import type { Append } from '../../../shared/ledger/rows.ts';
import type { Rig } from './rig.ts';
import { acceptMany, decided } from './rig.ts';
import { brokenBy } from './watched-database.ts';

const STEPS = 3;

/** What may be decided at the same time on one version, by processes that know nothing of each other. */
const commandsOn = (eventId: string): Command[] => [
  { kind: 'start_submission', attempt: `${eventId}.sms.1` }, { kind: 'close', reason: 'taken' }, { kind: 'pause', reason: 'checked' }, { kind: 'resume', reason: 'checked' },
  { kind: 'tick' }, { kind: 'record_submission', attempt: `${eventId}.sms.1`, submission: 1, result: { kind: 'accepted', providerMessageId: `M-${eventId}` } },
];

const rivalsFor = async (rig: Rig, eventId: string): Promise<Append[]> => {
  const rivals: Append[] = [];
  const count = rig.random.between(2, 4);
  const commands = rig.random.shuffled(commandsOn(eventId));
  for (let index = 0; index < count; index += 1) {
    const append = await decided(rig, eventId, commands[index % commands.length] as Command, `rival-${index}`);
    if (append) rivals.push(append);
  }
  // Twice the same command: a job that was delivered twice.
  const [first] = rivals;
  if (first && rig.random.chance(0.5)) rivals.push(first);
  return rivals;
};

/** Sends every rival from a process of its own choosing, all at once, and counts the winners. */
const race = async (rig: Rig, rivals: readonly Append[]): Promise<Map<string, number>> => {
  const processes = [rig.process(), rig.process(), rig.process()];
  const won = new Map<string, number>();
  await Promise.all(rig.random.shuffled(rivals).map(async (append) => {
    if (rivals.filter((one) => one.eventId === append.eventId).length === 1) rig.watched.expect(append);
    try {
      const wins = await rig.random.pick(processes).append(append);
      won.set(append.eventId, (won.get(append.eventId) ?? 0) + (wins ? 1 : 0));
    } catch (error) {
      // What the database refuses was told where it was refused.
      if (!brokenBy(error)) throw error;
    }
  }));
  return won;
};

const checkStored = async (rig: Rig, ids: readonly string[]): Promise<void> => {
  const { rows } = await rig.db.pool.query<{ event_id: string; whole: boolean }>(
    `SELECT s.event_id, s.version = count(*) AND s.version = max(e.version) AND min(e.version) = 1
            AND s.head_hash = (SELECT h.hash FROM ledger_entry h WHERE h.event_id = s.event_id AND h.version = s.version) AS whole
       FROM notification_state s JOIN ledger_entry e USING (event_id) WHERE s.event_id = ANY($1::text[]) GROUP BY s.event_id`, [ids]);
  for (const row of rows) if (!row.whole) rig.report('versions are gapless and end where the state does', row.event_id);
  if (rows.length < ids.length) rig.report('versions are gapless and end where the state does', 'a notification without entries');
};

/** Processes decide on the same versions and append at once: one of them wins, and nothing of the others is left. */
export const rivalsRound = async (rig: Rig): Promise<void> => {
  const ids = await acceptMany(rig, rig.random.between(2, 4));
  for (let step = 0; step < STEPS; step += 1) {
    rig.setNow(rig.now() + rig.random.pick([50, 1_000, 12_000]));
    const rivals: Append[] = [];
    for (const eventId of ids) rivals.push(...await rivalsFor(rig, eventId));
    const won = await race(rig, rivals);
    for (const eventId of new Set(rivals.map((append) => append.eventId))) {
      if (won.get(eventId) !== 1) rig.report('of the appends decided on one version one wins', `${eventId} ${won.get(eventId) ?? 0} won`);
    }
  }
  await checkStored(rig, ids);
};
