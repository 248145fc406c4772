import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { COMMAND_NAMES } from '../../services/cli/commands.ts';
import { run } from './support.ts';

const EVENT = 'evt_01ARZ3NDEKTSV4RRFFQ69G5FAV';
const here = { TOCSIN_DATA_DIR: '/nonexistent' };

describe('the command line', () => {
  it('prints its help with examples, and asks for a command where none is given', async () => {
    const help = await run(['--help']);
    expect(help).toMatchObject({ code: 0, err: '' });
    expect(help.out).toContain('Examples:\n');
    for (const name of COMMAND_NAMES) expect(help.out).toContain(`  ${name}`);
    expect(await run([])).toMatchObject({ code: 2, out: '', err: help.out });
  });

  it.each(COMMAND_NAMES)('tells of `%s` how it is used, with an example', async (name) => {
    const help = await run([...name.split(' '), '--help']);
    expect(help.code).toBe(0);
    expect(help.out).toMatch(new RegExp(`Usage: npx tocsin ${name}`));
    expect(help.out).toMatch(/Examples:\n {2}# /);
  });

  it.each([
    [['frobnicate'], 'there is no command "frobnicate"; there are: send, '],
    [['shwo', EVENT], 'there is no command "shwo"; the nearest is "show"'],
    [['dead-letter', 'list'], 'there is no command "dead-letter"; the nearest is "dead-letters list"'],
    [['polcy'], 'there is no command "polcy"; the nearest is "policy", with one of: list, lint, activate'],
    [['policy', 'lnt'], '"policy" needs one of: list, lint, activate; the nearest is "policy lint"'],
    [['policy', 'frobnicate'], '"policy" needs one of: list, lint, activate\n'],
    [['at-risk', '--limit', '-1'], '--limit must be a whole number from 1 to 1000'],
    [['audit', 'list', '--limit=-1'], '--limit must be a whole number'],
    [['send', '--ticket', '--message', '-x'], '--message has no value, since what follows it begins with a dash; write --message=VALUE where that is the value'],
    [['audit', 'list', '--actor', 'ada'], '--actor could mean two things here: say --of NAME for what that actor did, or --as NAME for who reads it'],
    [['send', '--ticket', '--url', 'nope'], '--url must be an http(s) URL'],
    [['send', '--ticket', '--url', 'ftp://127.0.0.1/'], '--url must be an http(s) URL'],
    [['send', 'seller-order', '--demo', '--ref', 'r'], '--ref cannot stand beside --demo'],
    [['send', 'seller-order', '--demo', '--var', 'n=1'], '--var cannot stand beside --demo'],
    [['send', 'seller-order', '--demo', '--expires-in', '5'], '--expires-in must be a duration with its unit'],
    [['send', 'seller-order', '--outcome', '03'], '--outcome belongs to a demo: add --demo'],
    [['send', '--ticket', '--consent', 'sms:contract'], '--consent does not belong to a ticket'],
    [['suppress', 'remove', '--channel', 'sms', '--address', '+12025550101', '--reason', 'complaint'], '--reason must be one of requested, legal, resubscribed, mistake, test, other'],
    [['suppress', 'add', '--channel', 'sms', '--address', '+12025550101', '--reason', 'resubscribed'], '--reason must be one of requested, complaint, '],
    [['consent', 'restore', '--channel', 'sms', '--address', '+12025550101', '--reason', 'objection'], '--reason must be one of requested, renewed, '],
    [['consent', 'withdraw', '--channel', 'sms', '--address', '+12025550101', '--reason', 'renewed'], '--reason must be one of requested, objection, '],
    [['ledger', 'export', '--force'], '--force is for a file: give --out'],
    [['template', 'preview', 'game-support-urgent-sms', '--locale', 'so to say'], '--locale must be a language tag'],
    [['key'], '"key" needs one of: create, list, revoke'],
    [['show'], 'EVENT is missing'],
    [['show', 'evt_1'], 'EVENT is not an event id'],
    [['show', EVENT, 'more'], '"more" is one argument too many'],
    [['show', EVENT, '--colour'], "Unknown option '--colour'"],
    [['close', EVENT], '--reason is missing'],
    [['close', EVENT, '--reason'], "'--reason <value>' argument missing"],
    [['close', EVENT, '--reason', 'taken', '--actor', 'ada@example.com'], '--actor must be a short name'],
    [['key', 'create'], '--label is missing'],
    [['key', 'create', '--label', 'shop\u001b[2J'], '--label must be one line'],
    [['key', 'create', '--label', 'a\nb'], '--label must be one line'],
    [['key', 'create', '--label', 'a\u202eb'], '--label must be one line'],
    [['key', 'create', '--label', 'x'.repeat(101)], '--label must be one line'],
    [['close', EVENT, '--reason', '  '], '--reason is missing'],
    [['close', EVENT, '--reason', 'taken', '--actor', '15551234567'], '--actor must be a short name'],
    [['send', '--ticket', '--category', 'bug_report', '--category', 'feedback'], '--category is given twice'],
    [['watch', EVENT, '--until', 'final', '--until=settled'], '--until is given twice'],
    [['watch', EVENT, '--until', 'noon'], '--until must be one of settled, final, forever'],
    [['send', '--purpose', 'p'], '--ref is missing'],
    [['send', '--purpose', 'p', '--ref', 'r', '--consent', 'sms'], '--consent must be channel:basis'],
    [['send', '--purpose', 'p', '--ref', 'r', '--var', 'x'], '--var must be name=value'],
    [['send', '--purpose', 'p', '--ref', 'r', '--expires-in', '20'], '--expires-in must be a duration with its unit'],
    [['send', '--ticket', '--purpose', 'p'], '--purpose does not belong to a ticket'],
    [['send', '--category', 'bug_report'], '--category belongs to a ticket: add --ticket'],
    [['send', '--json-file', '/nonexistent/file'], 'cannot be read'],
  ])('answers %j with exit code 2 and what is wrong', async (line, said) => {
    const ran = await run(line, { env: here });
    expect(ran).toMatchObject({ code: 2, out: '' });
    expect(ran.err).toContain(said);
    expect(ran.err).toContain('what to do: see `npx tocsin');
  });

  it('prints its version, as the package states it', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version: string };
    expect(await run(['--version'])).toEqual({ code: 0, err: '', out: `tocsin ${version}\n` });
    expect(JSON.parse((await run(['--version', '--json'])).out)).toEqual({ version });
  });

  const deviceThatIsFull = existsSync('/dev/full') ? it : it.skip;
  deviceThatIsFull('ends with 1 and says why where its output cannot be written', async () => {
    const full = openSync('/dev/full', 'w');
    try {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../bin/tocsin.js'), '--version'], { env: { ...process.env, NODE_OPTIONS: '' }, stdio: ['ignore', full, 'pipe'] });
      const [said, [code]] = await Promise.all([readAll(child.stderr as Readable), once(child, 'close') as Promise<[number | null]>]);
      expect(code).toBe(1);
      expect(said).toContain('the output cannot be written (ENOSPC)');
    } finally {
      closeSync(full);
    }
  });

  it('gives a misuse out as JSON where JSON is asked for', async () => {
    const ran = await run(['close', EVENT, '--json'], { env: here });
    expect(ran).toMatchObject({ code: 2, err: '' });
    expect(JSON.parse(ran.out)).toEqual({ error: { code: 'usage', field: '--reason', message: '--reason is missing', cure: 'npx tocsin close --help' } });
  });

  it('says where it looked for a database, and what to do, where none is known', async () => {
    const ran = await run(['show', EVENT], { env: here });
    expect(ran.code).toBe(1);
    expect(ran.err).toBe('tocsin: no database is known: set DATABASE_URL, or start Tocsin (npm start), which writes /nonexistent/standalone.json\n');
  });

  it('says that a database does not answer, without its password', async () => {
    const ran = await run(['show', EVENT, '--json'], { env: { ...here, DATABASE_URL: 'postgres://owner:hunter2@127.0.0.1:1/tocsin' } });
    expect(ran.code).toBe(1);
    expect(JSON.parse(ran.out)).toMatchObject({ error: { code: 'database_away' } });
    expect(ran.out).not.toContain('hunter2');
  });
});
