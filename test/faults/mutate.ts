import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mistake, Row } from './table.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LEFT_OUT = new Set(['node_modules', '.git', '.tocsin', 'dist', 'test-output', 'coverage']);
const LIMIT_MS = 240_000;

export type Verdict =
  /** The test ran and an expectation did not hold. */
  | { kind: 'failed'; message: string }
  | { kind: 'passed' }
  /** It did not get as far as an expectation: a crash, a compile error, a time limit. */
  | { kind: 'broken'; message: string };

interface AssertionResult { status: string; fullName: string; failureMessages: string[] }
interface JestReport { numTotalTests: number; testResults: { message: string; assertionResults: AssertionResult[] }[] }

/** A copy of the sources, with the packages of the original. */
export const copySources = (): { tree: string; remove: () => void } => {
  const tree = mkdtempSync(join(tmpdir(), 'tocsin-fault-'));
  for (const entry of readdirSync(ROOT).filter((name) => !LEFT_OUT.has(name))) cpSync(join(ROOT, entry), join(tree, entry), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  return { tree, remove: () => rmSync(tree, { recursive: true, force: true }) };
};

/** Plants a mistake, and returns what puts everything right again. @throws where a text does not fit. */
export const plant = (tree: string, mistake: Mistake): (() => void) => {
  const before = new Map<string, string>();
  for (const { file, find, put } of mistake.patches) {
    const text = readFileSync(join(tree, file), 'utf8');
    if (!text.includes(find)) throw new Error(`${mistake.name}: its text is no longer in ${file}`);
    if (!before.has(file)) before.set(file, text);
    writeFileSync(join(tree, file), text.replaceAll(find, () => put));
  }
  return () => { for (const [file, text] of before) writeFileSync(join(tree, file), text); };
};

const runJest = (tree: string, args: string[]): Promise<string> => new Promise((resolve) => {
  const child = spawn(process.execPath, ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', ...args], { cwd: tree, stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { said = (said + chunk.toString('utf8')).slice(-4_000); });
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
  child.once('exit', () => { clearTimeout(timer); resolve(said); });
});

// Jest colours its messages.
const plain = (text: string): string => text.replace(/\u001b\[[0-9;]*m/g, '');
const isExpectation = (message: string): boolean => /expect\(.*\)|Expected|Received promise/.test(plain(message)) && !/Exceeded timeout|SyntaxError|ReferenceError/.test(plain(message));
const firstLines = (message: string): string => plain(message).split('\n').filter((text) => /\S/.test(text) && !/^\s+at /.test(text)).slice(0, 6).map((text) => text.trim()).join(' ').slice(0, 200);

const verdictOf = (report: JestReport | null, said: string): Verdict => {
  const results = report?.testResults.flatMap((one) => one.assertionResults) ?? [];
  const failures = results.filter(({ status }) => status === 'failed').flatMap(({ failureMessages }) => failureMessages);
  const found = failures.find(isExpectation);
  if (found !== undefined) return { kind: 'failed', message: firstLines(found) };
  if (failures.length > 0) return { kind: 'broken', message: firstLines(failures[0] ?? '') };
  if (!results.some(({ status }) => status === 'passed')) return { kind: 'broken', message: firstLines(report?.testResults[0]?.message || said) || 'no test ran' };
  return { kind: 'passed' };
};

/** Runs the named tests of a fault in a tree. `backend` keeps to one of the two, where a test has both. */
export const runFault = async (tree: string, { fault, file }: Pick<Row, 'fault' | 'file'>, backend: string): Promise<Verdict> => {
  const report = join(tree, `fault-${fault}.json`);
  rmSync(report, { force: true });
  const said = await runJest(tree, [file, '-t', `on (${backend}|either backend) fault ${fault}:`, '--json', '--outputFile', report, '--forceExit', '--workerThreads=false', '--runInBand']);
  let read: JestReport | null = null;
  try {
    read = JSON.parse(readFileSync(report, 'utf8')) as JestReport;
  } catch {
    // Killed before it could write: nothing is known of the test.
  }
  return verdictOf(read, said);
};
