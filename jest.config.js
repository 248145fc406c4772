/** Tests by cost, in order: domain (pure), ledger (real Postgres), transports (loopback servers), queue, scenarios, process. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { parser: { syntax: 'typescript' }, target: 'es2022' }, module: { type: 'es6' } }],
  },
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  modulePathIgnorePatterns: ['<rootDir>/dist', '<rootDir>/.tocsin'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  testTimeout: 120_000,
  maxWorkers: 2,
  // Modules of ES stay in memory with the files that are done; a worker of several gigabytes mostly collects its garbage.
  workerIdleMemoryLimit: '1GB',
};
