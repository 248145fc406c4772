import { statSync } from 'node:fs';
import { encodeTime } from 'ulid';
import { readCliConfig, readKeysText } from '../../shared/config/cli-config.ts';
import { ConfigurationError } from '../../shared/config/environment.ts';
import { refuseWrongKeys } from '../../shared/delivery/check-keys.ts';
import { createDatabaseClock } from '../../shared/ledger/database-clock.ts';
import type { Database } from '../../shared/ledger/database.ts';
import { withOldExport } from '../../shared/ledger/reconcile.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import type { KeyRing } from '../../shared/security/key-ring.ts';
import { storedKey } from '../../shared/security/stored-key.ts';
import type { Command, Input } from './command.ts';
import { HeaderError, readExport } from './export-rows.ts';
import { instantOption } from './instant-option.ts';
import type { Io } from './io.ts';
import { createProgress } from './ledger-progress.ts';
import type { Progress } from './ledger-progress.ts';
import { withLedger } from './ledger-session.ts';
import { OLD_OUTCOMES, outcomeWords } from './outcome-words.ts';
import type { OldOutcome } from './outcome-words.ts';
import { FINDINGS, reconcile } from './reconcile-run.ts';
import type { Finding, ReconcileRun, ReconcileScope, ReconcileSum } from './reconcile-run.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

/** So many of each kind are told one by one; all of them are with --json. */
const TOLD = 20;

const formatOf = (input: Input, path: string): 'csv' | 'jsonl' => {
  const format = input.text('format') ?? (/\.(jsonl|ndjson|json)$/i.test(path) ? 'jsonl' : 'csv');
  if (format !== 'csv' && format !== 'jsonl') throw new UsageError('--format is csv or jsonl', '--format');
  return format;
};

const mappings = (input: Input): [string, OldOutcome][] => input.list('map').map((text) => {
  const [, word, outcome] = /^(.{1,40})=([a-z_]+)$/.exec(text) ?? [];
  const known = OLD_OUTCOMES.find((one) => one === outcome);
  if (word === undefined || known === undefined) throw new UsageError(`--map is WORD=OUTCOME, with one of ${OLD_OUTCOMES.join(', ')}`, '--map');
  return [word.trim().toLowerCase(), known];
});

const sizeOf = (path: string): number => {
  try {
    const found = statSync(path);
    if (found.isFile()) return found.size;
  } catch (error) {
    throw new Refusal(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, { code: 'cannot_read', field: 'FILE', cure: 'name the file with the export' });
  }
  throw new Refusal(`${path} is not a file`, { code: 'cannot_read', field: 'FILE', cure: 'name the file with the export' });
};

const scopeOf = (input: Input, now: number): ReconcileScope => {
  const at = (name: string): number | null => { const text = input.text(name); return text === undefined ? null : instantOption(text, now, name); };
  const [since, until] = [at('since'), at('until')];
  return {
    tenant: input.text('tenant') ?? 'default', purpose: input.text('purpose') ?? null,
    first: since === null ? null : `evt_${encodeTime(Math.max(0, since), 10)}${'0'.repeat(16)}`,
    // Ids of that very millisecond are later.
    last: until === null ? (since === null ? null : `evt_${'Z'.repeat(26)}`) : `evt_${encodeTime(Math.max(0, until), 10)}`,
  };
};

const where = (finding: Finding): string => ('line' in finding ? `line ${finding.line}` : '-');
const lineOf = (finding: Finding): string => {
  switch (finding.kind) {
    case 'bad_row': return `bad row        ${where(finding)} ${finding.problem}`;
    case 'missing_here': return `missing here   ${where(finding)} ${finding.event_id ?? 'its idempotency_key is not in the ledger'} ${finding.channel} (${finding.outcome})`;
    case 'missing_there': return `missing there  ${finding.event_id} ${finding.channel} is ${finding.state} in the ledger`;
    case 'differs': return `differs        ${where(finding)} ${finding.event_id} ${finding.channel}: ${finding.theirs} there, ${finding.state ?? 'not used'} here`;
    case 'twice': return `twice          ${where(finding)} ${finding.event_id} ${finding.channel} comes again later`;
  }
};

const WORDS: Readonly<Record<Finding['kind'], string>> = { bad_row: 'bad rows', missing_here: 'missing here', missing_there: 'missing there', differs: 'outcome differs', twice: 'twice' };

const sumText = (sum: ReconcileSum): string => {
  const differences = Object.entries(sum.differences).sort(([, one], [, other]) => other - one);
  return [
    table(['', 'count'], [['rows', String(sum.rows)], ['the same', String(sum.same)], ...FINDINGS.map((kind) => [WORDS[kind], String(sum.found[kind])]), ...(sum.passed_over > 0 ? [['of no concern', String(sum.passed_over)]] : [])]),
    ...(differences.length > 0 ? ['', table(['there -> here', 'count'], differences.map(([pair, count]) => [pair, String(count)]))] : []),
  ].join('\n');
};

const teller = (input: Input, io: Io, progress: Progress): ReconcileRun['tell'] => {
  const told = new Map<string, number>();
  return (finding) => {
    const count = (told.get(finding.kind) ?? 0) + 1;
    told.set(finding.kind, count);
    if (!input.json && count > TOLD + 1) return;
    progress.clear();
    if (input.json) io.out.write(`${JSON.stringify(finding)}\n`);
    // The one beyond is what shows that there are more.
    else io.out.write(count <= TOLD ? `${lineOf(finding)}\n` : `${WORDS[finding.kind].padEnd(15)}more of these are counted only; --json tells all\n`);
  };
};

/** The keys of the deployment; null where they are not at hand, which matters only to an export that names none of our ids. */
const ringOf = (io: Io): KeyRing | null => {
  try {
    return parseKeyRing(readKeysText(io.env, readCliConfig(io.env)));
  } catch (error) {
    if (error instanceof ConfigurationError) return null;
    throw error;
  }
};

const storedKeys = (ring: KeyRing | null, tenant: string) => (key: string): string => {
  if (ring) return storedKey(ring, tenant, key);
  throw new Refusal('the export names idempotency keys, and no keys of the deployment are known here to find them by', { code: 'no_keys', field: 'TOCSIN_KEYS', cure: 'set TOCSIN_KEYS to what the services use, or point TOCSIN_DATA_DIR at the data directory' });
};

const run = async (input: Input, io: Io, db: Database): Promise<number> => {
  const path = input.args[0] ?? '';
  const [format, words, size] = [formatOf(input, path), outcomeWords(mappings(input)), sizeOf(path)];
  const clock = createDatabaseClock(db);
  await clock.refresh();
  const scope = scopeOf(input, clock.now());
  const progress = createProgress(io);
  const shown: Record<Parameters<ReconcileRun['onProgress']>[0], (done: number) => void> = {
    read: (done) => progress.show('reading the export', size === 0 ? null : done / size),
    compare: (done) => progress.show(`${done.toLocaleString('en')} rows compared`, null),
    search: (done) => progress.show(`${done.toLocaleString('en')} notifications looked at`, null),
  };
  const ring = ringOf(io);
  // With other keys none of the export's would be found, and all of it would seem to be missing.
  if (ring) await refuseWrongKeys(db, ring);
  const sum = await withOldExport(db, (old) => reconcile(readExport(path, format, words), {
    old, scope, storedKeyOf: storedKeys(ring, scope.tenant), tell: teller(input, io, progress), onProgress: (step, done) => shown[step](done),
  })).catch((error: unknown) => {
    if (error instanceof HeaderError) throw new Refusal(error.message, { code: 'bad_header', field: 'FILE', cure: 'the columns are event_id or idempotency_key, channel, outcome, at; see `npx tocsin reconcile --help`' });
    throw error;
  });
  progress.clear();
  const found = FINDINGS.reduce((count, kind) => count + sum.found[kind], 0);
  io.out.write(input.json ? `${JSON.stringify({ kind: 'sum', ...sum })}\n` : `${found > 0 ? '\n' : ''}${sumText(sum)}\n`);
  return found > 0 ? 1 : 0;
};

export const reconcileCommand: Command = {
  name: 'reconcile',
  summary: 'compare an old system\'s export with the ledger, event by event',
  args: [{ name: 'FILE', help: 'CSV with a header, or JSON lines: event_id or idempotency_key, channel, outcome, at' }],
  options: {
    purpose: { value: 'P', help: 'only notifications of that purpose' },
    since: { value: 'T', help: 'only what was accepted since then: 30m, 2h, 7d, or a date such as 2026-11-29T08:00Z' },
    until: { value: 'T', help: 'only what was accepted before then' },
    map: { value: 'WORD=OUTCOME', repeatable: true, help: `what a word of the old system means: ${OLD_OUTCOMES.join(', ')}` },
    format: { value: 'F', help: 'csv or jsonl (default: by the name of the file)' },
    tenant: { value: 'T', help: 'whose notifications (default: default)' },
  },
  examples: [
    ['reconcile old.csv --purpose password-reset --since 7d', 'exit code 1 where anything is missing, twice, different or cannot be read'],
    ['reconcile old.csv --map handed_over=sent --map hard_bounce=undelivered', 'words that are not known by themselves'],
    ['reconcile old.jsonl --json', 'JSON lines: a finding each, and the sum at the end'],
  ],
  run: (input, io) => withLedger(io, (db) => run(input, io, db)),
};
