import { answerChannels } from '../../shared/domain/answer-channels.ts';
import { explain } from '../../shared/domain/explain.ts';
import { fold } from '../../shared/domain/evolve.ts';
import { publicStatus } from '../../shared/domain/status.ts';
import { endsOf, readDeadLettersOf } from '../../shared/ledger/dead-letters.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { loadPolicy } from '../../shared/ledger/versions.ts';
import type { Command } from './command.ts';
import { eventIdOf } from './command.ts';
import { notFound, toEntry, toStamped, withLedger } from './ledger-session.ts';
import { Refusal } from './refusal.ts';

/** Breaks a text into lines of at most `width`, later ones indented. */
const wrap = (text: string, width: number): string => {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = ` ${word}`;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line].join('\n ');
};

export const explainCommand: Command = {
  name: 'explain',
  summary: 'in words, why each channel of a notification was or was not used',
  args: [{ name: 'EVENT', help: 'event id, as the receipt says' }],
  options: {},
  examples: [['explain evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', 'policy version, cause and observation of each decision']],
  run: async (input, io) => {
    const eventId = eventIdOf(input);
    return withLedger(io, async (db) => {
      // One read, so that state and entries cannot belong to different instants.
      const entries = (await readEntries(db, eventId)).map(toEntry);
      if (entries.length === 0) throw notFound(eventId);
      const state = fold(eventId, entries.map(toStamped));
      const policy = await loadPolicy(db, state.purpose, state.policyVersion);
      if (!policy) throw new Refusal(`policy ${state.purpose}/${state.policyVersion} is not in this database`, { code: 'policy_missing', cure: 'run `npx tocsin migrate`, which publishes the shipped versions' });
      const ends = endsOf(await readDeadLettersOf(db, state));
      const [channels, sentences] = [answerChannels(state, entries, policy, ends), explain(state, entries, policy, ends)];
      const lines = (texts: readonly string[]): string => texts.map((one) => `- ${wrap(one, Math.max(40, io.out.columns() - 2))}`).join('\n');
      if (input.json) io.out.write(`${JSON.stringify({ event_id: eventId, status: publicStatus(state), policy: `${state.purpose}/${state.policyVersion}`, channels, explanation: sentences })}\n`);
      else io.out.write(`Each channel\n${lines(channels.map(({ text }) => text))}\n\nWhat happened\n${lines(sentences)}\n`);
      return 0;
    });
  },
};
