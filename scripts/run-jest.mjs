// Jest on native ES modules; arguments go through. Without any that choose tests, it runs in goes: first what two workers may do side by side,
// then the crash audits in a pair, then, one by one, what else starts whole deployments of its own and would be judged by the other's load. A few
// files that failed beside another are judged once more, alone, and named in the output: what then passes had judged the machine.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

const WHOLE_DEPLOYMENTS = ['test/chaos/chaos.test.ts', 'test/process/fleet-audit.test.ts', 'test/process/embedded-postgres.test.ts', 'test/races/', 'test/simulation/many-workflows.test.ts', 'test/faults/lost-lock.test.ts'];
// These wait for processes that start and for deadlines, and are not judged by time: two at once.
const IN_PAIRS = ['test/process/crash-audit-'];
const PASSED_ON = /^--(ci|json|verbose|silent|forceExit|logHeapUsage|outputFile=.*)$/;
// More than these, and it is not the load of the machine that fails them.
const MOST_AGAIN = 4;

const jest = (args) => spawnSync(process.execPath, ['--experimental-vm-modules', '--no-warnings', 'node_modules/jest/bin/jest.js', ...args], { stdio: 'inherit' }).status ?? 1;

const failedOf = ({ testResults }) => testResults.filter(({ status }) => status === 'failed');
const statusesOf = (testResults, ...wanted) => testResults.flatMap(({ assertionResults }) => assertionResults).filter(({ status }) => wanted.includes(status)).length;

/** The results of all goes as Jest writes those of one. */
const summed = (testResults) => {
  const [numPassedTests, numFailedTests, numPendingTests, numTodoTests] = [['passed'], ['failed'], ['pending', 'skipped', 'disabled'], ['todo']].map((wanted) => statusesOf(testResults, ...wanted));
  const failed = failedOf({ testResults });
  return {
    success: failed.length === 0, numPassedTests, numFailedTests, numPendingTests, numTodoTests, numTotalTests: numPassedTests + numFailedTests + numPendingTests + numTodoTests,
    numTotalTestSuites: testResults.length, numFailedTestSuites: failed.length, numPassedTestSuites: testResults.length - failed.length,
    // A file that failed as such, and not by one of its tests.
    numRuntimeErrorTestSuites: failed.filter(({ assertionResults }) => assertionResults.every(({ status }) => status !== 'failed')).length, testResults,
  };
};

const inGoes = (given) => {
  const outputFile = given.find((one) => one.startsWith('--outputFile='))?.slice('--outputFile='.length);
  const args = given.filter((one) => one !== '--json' && !one.startsWith('--outputFile='));
  const folder = mkdtempSync(join(tmpdir(), 'tocsin-jest-'));
  const go = (name, ...more) => {
    const file = join(folder, `${name}.json`);
    const code = jest([...args, '--json', `--outputFile=${file}`, ...more]);
    const result = JSON.parse(readFileSync(file, 'utf8'));
    if (code !== 0 && result.success) throw new Error(`Jest ended with ${code}, although no test failed`);
    return result;
  };
  try {
    // Of a list of patterns Jest takes all that follow, up to the next option.
    const most = go('side-by-side', '--testPathIgnorePatterns', '/node_modules/', ...WHOLE_DEPLOYMENTS, ...IN_PAIRS);
    const pairs = go('in-pairs', '--maxWorkers=2', ...IN_PAIRS);
    const alone = go('one-by-one', '--runInBand', ...WHOLE_DEPLOYMENTS);
    const beside = [...most.testResults, ...pairs.testResults];
    const failed = failedOf({ testResults: beside }).map(({ name }) => name);
    const again = failed.length > 0 && failed.length <= MOST_AGAIN ? go('again', '--runInBand', '--runTestsByPath', ...failed).testResults : [];
    const settled = new Set(again.map(({ name }) => name));
    const sum = summed([...beside.filter(({ name }) => !settled.has(name)), ...alone.testResults, ...again]);
    if (outputFile !== undefined) writeFileSync(outputFile, JSON.stringify(sum));
    for (const { name, status } of again) process.stdout.write(`\nFailed beside another file, ${status} alone: ${relative(process.cwd(), name)}`);
    process.stdout.write(`\nAll goes: ${sum.numPassedTests} tests passed, ${sum.numFailedTests} failed, ${sum.numPendingTests + sum.numTodoTests} skipped; ${sum.numRuntimeErrorTestSuites} files could not be run\n`);
    return sum.success ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const given = process.argv.slice(2);
process.exitCode = given.every((one) => PASSED_ON.test(one)) ? inGoes(given) : jest(given);
