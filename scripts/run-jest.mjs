// Jest on native ES modules; arguments go through. Without any that choose tests, it runs in two goes: first what two workers may do side by side,
// then, one by one, what starts whole deployments of its own and would be judged by the other's load.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const WHOLE_DEPLOYMENTS = ['test/chaos/chaos.test.ts', 'test/process/crash-audit.test.ts', 'test/process/fleet-audit.test.ts', 'test/process/embedded-postgres.test.ts', 'test/races/', 'test/simulation/many-workflows.test.ts', 'test/faults/lost-lock.test.ts'];
const PASSED_ON = /^--(ci|json|verbose|silent|forceExit|logHeapUsage|outputFile=.*)$/;
const COUNTS = ['numTotalTests', 'numPassedTests', 'numFailedTests', 'numPendingTests', 'numTodoTests', 'numTotalTestSuites', 'numPassedTestSuites', 'numFailedTestSuites', 'numRuntimeErrorTestSuites'];

const jest = (args) => spawnSync(process.execPath, ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', ...args], { stdio: 'inherit' }).status ?? 1;

const inTwoGoes = (given) => {
  const outputFile = given.find((one) => one.startsWith('--outputFile='))?.slice('--outputFile='.length);
  const args = given.filter((one) => one !== '--json' && !one.startsWith('--outputFile='));
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-jest-'));
  const files = ['side-by-side.json', 'one-by-one.json'].map((name) => join(folder, name));
  try {
    const into = (file) => ['--json', `--outputFile=${file}`];
    const codes = [
      // Of a list of patterns Jest takes all that follow, up to the next option.
      jest([...args, ...into(files[0]), '--testPathIgnorePatterns', '/node_modules/', ...WHOLE_DEPLOYMENTS]),
      jest([...args, ...into(files[1]), '--runInBand', ...WHOLE_DEPLOYMENTS]),
    ];
    const results = files.map((file) => JSON.parse(readFileSync(file, 'utf8')));
    const sum = { success: results.every(({ success }) => success), testResults: results.flatMap(({ testResults }) => testResults) };
    for (const count of COUNTS) sum[count] = results.reduce((total, result) => total + result[count], 0);
    if (outputFile !== undefined) writeFileSync(outputFile, JSON.stringify(sum));
    process.stdout.write(`\nBoth goes: ${sum.numPassedTests} tests passed, ${sum.numFailedTests} failed, ${sum.numPendingTests + sum.numTodoTests} skipped; ${sum.numRuntimeErrorTestSuites} files could not be run\n`);
    return codes.find((code) => code !== 0) ?? 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const given = process.argv.slice(2);
process.exitCode = given.every((one) => PASSED_ON.test(one)) ? inTwoGoes(given) : jest(given);
