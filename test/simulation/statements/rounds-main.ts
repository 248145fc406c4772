import { parseArgs } from 'node:util';
import { openDatabase } from '../../../shared/ledger/database.ts';
import { migrate } from '../../../shared/ledger/migrate.ts';
import type { RoundName } from './rounds.ts';
import { runRounds } from './rounds.ts';

// Runs in the tree it stands in: its migrations and its statements, on an empty database that the caller made.
const { values } = parseArgs({ options: { url: { type: 'string' }, seed: { type: 'string', default: '1' }, runs: { type: 'string', default: '10' }, only: { type: 'string' } } });
if (values.url === undefined) throw new Error('--url of an empty database');

await migrate(values.url);
const db = openDatabase({ url: values.url, poolSize: 32 });
const result = await runRounds({
  db, from: Number(values.seed), runs: Number(values.runs), only: values.only as RoundName | undefined, onRun: () => { process.stderr.write('.'); },
});
await db.close();
process.stdout.write(`${JSON.stringify(result)}\n`);
