import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../shared/config/environment.ts';
import { generateKeyRingText } from '../../shared/security/key-ring.ts';
import { checkpointAt, cloneDatabase, lives, rechain, tamper } from '../ledger/verify-support.ts';
import type { TestDatabase } from '../support/test-database.ts';
import { createTestDatabase } from '../support/test-database.ts';
import { createTestEngine } from '../support/test-engine.ts';
import { run } from './support.ts';

interface Report { ok: boolean; notifications: number; entries: number; checkpoints: number; younger_entries: number | null; signatures_checked: boolean; public_keys: string[]; notes: string[]; fault_count: number; faults: { place: string; event_id: string | null; version: number | null; column: string }[] }

describe('ledger verify and ledger export', () => {
  let database: TestDatabase;
  let forged: TestDatabase;
  let dataDir: string;
  let env: Environment;
  let forgedEnv: Environment;
  let ids: string[];
  let openEngine: () => ReturnType<typeof createTestEngine>;

  beforeAll(async () => {
    database = await createTestDatabase();
    dataDir = await mkdtemp(join(tmpdir(), 'tocsin-ledger-'));
    const keys = generateKeyRingText();
    await writeFile(join(dataDir, 'keys'), `${keys}\n`, { mode: 0o600 });
    env = { TOCSIN_DATA_DIR: dataDir, DATABASE_URL: database.url };
    openEngine = () => createTestEngine({ url: database.url, ring: keys });
    const engine = await openEngine();
    ids = await lives(engine, 9);
    await checkpointAt(engine, join(dataDir, 'checkpoints.jsonl'), Date.UTC(2026, 0, 1, 12));
    await lives(engine, 1);
    await engine.close();
    forged = await cloneDatabase(database);
    forgedEnv = { ...env, DATABASE_URL: forged.url };
    await tamper(forged.url, async (client) => {
      await client.query(`UPDATE ledger_entry SET actor = 'ghost', body = replace(body, '"actor":"test"', '"actor":"ghost"') WHERE event_id = $1`, [ids[1]]);
      await rechain(client, ids[1] as string);
      await client.query(`UPDATE ledger_entry SET actor = 'ghost' WHERE event_id = $1 AND version = 2`, [ids[2]]);
    });
  });
  afterAll(async () => {
    await forged?.drop();
    await database?.drop();
    if (dataDir) await rm(dataDir, { recursive: true });
  });

  const json = async (line: string[], environment = env): Promise<{ code: number; report: Report }> => {
    const ran = await run([...line, '--json'], { env: environment });
    return { code: ran.code, report: JSON.parse(ran.out) as Report };
  };

  it('finds nothing where nothing was changed, and says what it looked at and what no checkpoint covers yet', async () => {
    const { code, report } = await json(['ledger', 'verify']);
    expect(report).toMatchObject({ ok: true, notifications: 10, checkpoints: 1, younger_entries: 4, signatures_checked: true, fault_count: 0, faults: [], notes: [] });
    expect(code).toBe(0);
    const forPeople = await run(['ledger', 'verify'], { env });
    expect(forPeople).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/^Checked the whole ledger: 10 notifications, \d+ entries\.\nHeld against 1 checkpoint, the last of 2026-01-01 12:00:00Z; 4 entries are younger, .*\nNothing was changed, removed or added\.\n$/) });
  });

  it('ends with 1 and names each place where something was changed', async () => {
    const { code, report } = await json(['ledger', 'verify'], forgedEnv);
    expect(code).toBe(1);
    expect(report.faults.map((fault) => [fault.event_id, fault.column]).sort()).toEqual([[ids[1], 'hash'], [ids[2], 'actor']].sort());
    const forPeople = await run(['ledger', 'verify'], { env: forgedEnv });
    expect(forPeople.out).toContain(`✗ ${ids[2]} version 2 actor: is not what the entry's text says`);
    expect(forPeople.out).toMatch(/2 faults found\.\n$/);
  });

  it('looks at one notification alone, and says where there is none', async () => {
    expect(await json(['ledger', 'verify', ids[0] as string], forgedEnv)).toMatchObject({ code: 0, report: { notifications: 1, fault_count: 0 } });
    expect(await json(['ledger', 'verify', ids[1] as string], forgedEnv)).toMatchObject({ code: 1, report: { faults: [{ event_id: ids[1], column: 'hash' }] } });
    expect(await run(['ledger', 'verify', 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV'], { env })).toMatchObject({ code: 1, err: expect.stringContaining('there is no notification') });
  });

  it('draws a bar on a terminal and takes it away again', async () => {
    const ran = await run(['ledger', 'verify'], { env, tty: true });
    expect(ran.code).toBe(0);
    expect(ran.err).toMatch(/█+ 100 % {2}10 notifications/);
    expect(ran.err.endsWith('\r\u001b[K')).toBe(true);
  });

  it('says so where signatures or the copy outside could not be compared', async () => {
    const { code, report } = await json(['ledger', 'verify'], { ...env, TOCSIN_DATA_DIR: join(dataDir, 'none') });
    expect(code).toBe(0);
    expect(report).toMatchObject({ signatures_checked: false, notes: [expect.stringContaining('signatures were not checked'), expect.stringContaining('no copy of the checkpoints')] });
  });

  it('exports what can be verified anywhere, without a database and without a secret', async () => {
    const out = join(dataDir, 'ledger.jsonl');
    expect(await run(['ledger', 'export', '--out', out], { env })).toMatchObject({ code: 0, out: expect.stringMatching(/^Wrote .*: 10 notifications, \d+ entries, 1 checkpoints\.\n$/) });
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const text = await readFile(out, 'utf8');
    for (const secret of ['2025550103', 'oncall-03@example.com', 'locked out', '"box"']) expect(text).not.toContain(secret);
    expect((await run(['ledger', 'export'], { env })).out.split('\n').slice(1, -2)).toEqual(text.split('\n').slice(1, -2));
    const elsewhere = { TOCSIN_DATA_DIR: '/nonexistent' };
    const { report: { public_keys: [key] } } = await json(['ledger', 'verify']);
    const verified = await json(['ledger', 'verify', '--file', out, '--checkpoints', join(dataDir, 'checkpoints.jsonl'), '--public-key', key as string], elsewhere);
    expect(verified).toMatchObject({ code: 0, report: { ok: true, notifications: 10, checkpoints: 1, younger_entries: 4, signatures_checked: true, notes: [] } });
  });

  it('does not write over a file that is there, unless it is told to', async () => {
    const out = join(dataDir, 'kept.jsonl');
    await writeFile(out, 'the only copy');
    const refused = await run(['ledger', 'export', '--out', out, '--json'], { env });
    expect([refused.code, JSON.parse(refused.out)]).toEqual([1, { error: { code: 'exists', field: '--out', message: `${out} is there already, and was left as it is`, cure: 'give another file, or say --force to replace it' } }]);
    expect(await readFile(out, 'utf8')).toBe('the only copy');
    expect(await run(['ledger', 'export', '--out', dataDir, '--force'], { env })).toMatchObject({ code: 1, err: expect.stringContaining(`${dataDir} is a folder`) });
    expect(await run(['ledger', 'export', '--out', out, '--force'], { env })).toMatchObject({ code: 0 });
    expect(await readFile(out, 'utf8')).toContain('"kind":"entry"');
  });

  it('finds in an export what was changed before or after it was written', async () => {
    const out = join(dataDir, 'forged.jsonl');
    await run(['ledger', 'export', '--out', out], { env: forgedEnv });
    const placesIn = async (text: string | null): Promise<string[]> => {
      const path = join(dataDir, 'changed.jsonl');
      await writeFile(path, text ?? await readFile(out, 'utf8'));
      const { code, report } = await json(['ledger', 'verify', '--file', path]);
      expect(code).toBe(1);
      return report.faults.map((fault) => fault.place);
    };
    const recomputed = expect.stringMatching(new RegExp(`^${ids[1]} version \\d+ hash$`));
    expect(await placesIn(null)).toEqual([recomputed]);
    const lines = (await readFile(out, 'utf8')).trimEnd().split('\n');
    const indexOf = (kind: string, id: string): number => lines.findIndex((line) => line.startsWith(`{"kind":"${kind}","event_id":"${id}"`));
    const at = indexOf('entry', ids[3] as string);
    expect(await placesIn(lines.filter((_line, index) => index !== at).join('\n'))).toEqual(expect.arrayContaining([`${ids[3]} version 1 version`, 'export', recomputed]));
    expect(await placesIn(lines.with(at, (lines[at] as string).replace('US', 'UK')).join('\n'))).toEqual(expect.arrayContaining([`${ids[3]} version 1 body`, 'export']));
    expect(await placesIn(lines.filter((line) => !line.includes(`"event_id":"${ids[4]}"`)).join('\n'))).toEqual(expect.arrayContaining([`${ids[4]} version 1 version`]));
    expect(await placesIn(lines.slice(0, -1).join('\n'))).toEqual(expect.arrayContaining(['export']));
  });

  it('takes a copy of the checkpoints that is younger than the export', async () => {
    const out = join(dataDir, 'older.jsonl');
    await run(['ledger', 'export', '--out', out], { env });
    const engine = await openEngine();
    await lives(engine, 1);
    await checkpointAt(engine, join(dataDir, 'checkpoints.jsonl'), Date.now());
    await engine.close();
    expect(await json(['ledger', 'verify', '--file', out, '--checkpoints', join(dataDir, 'checkpoints.jsonl')])).toMatchObject({ code: 0, report: { checkpoints: 1, faults: [] } });
    expect(await json(['ledger', 'verify'])).toMatchObject({ code: 0, report: { checkpoints: 2, younger_entries: 0 } });
  });

  it.each([
    [['ledger', 'verify', '--file', '/nonexistent/file'], 'the file /nonexistent/file is not there'],
    [['ledger', 'verify', '--checkpoints', '/nonexistent/file'], 'the checkpoint file /nonexistent/file is not there'],
    [['ledger', 'verify', '--file', 'package.json'], 'not an export of a ledger'],
    [['ledger', 'export', '--out', '/nonexistent/file'], 'cannot be written (ENOENT)'],
  ])('refuses %j and says why', async (line, said) => {
    expect(await run(line, { env })).toMatchObject({ code: 1, err: expect.stringContaining(said) });
  });

  it.each([
    [['ledger', 'verify', 'evt_1'], 'EVENT is not an event id'],
    [['ledger', 'verify', 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV', '--file', 'x'], 'EVENT and --file do not go together'],
    [['ledger', 'verify', '--public-key', 'x'], '--public-key must be 43 characters'],
    [['ledger'], '"ledger" needs one of: verify, export'],
  ])('does not understand %j', async (line, said) => {
    expect(await run(line, { env })).toMatchObject({ code: 2, err: expect.stringContaining(said) });
  });
});
