import tseslint from 'typescript-eslint';

/**
 * Who may import whom. Order: domain <- ledger, transports, queue, content <- delivery <- services. The four in the
 * middle never import each other; config, telemetry, security and http are leaves that all but domain may import.
 */
const house = {
  'shared/domain/**': { folders: ['config', 'telemetry', 'security', 'http', 'ledger', 'transports', 'queue', 'content', 'delivery', 'services'], packages: '^(?!\\.{1,2}/)' },
  'shared/config/**': { folders: ['telemetry', 'security', 'ledger', 'transports', 'queue', 'content', 'delivery', 'services', 'domain'] },
  'shared/telemetry/**': { folders: ['config', 'security', 'ledger', 'transports', 'queue', 'content', 'delivery', 'services'] },
  'shared/security/**': { folders: ['config', 'telemetry', 'ledger', 'transports', 'queue', 'content', 'delivery', 'services'] },
  'shared/http/**': { folders: ['config', 'telemetry', 'security', 'ledger', 'transports', 'queue', 'content', 'delivery', 'services'] },
  'shared/ledger/**': { folders: ['transports', 'queue', 'content', 'delivery', 'services'], may: ['pg', 'prisma'] },
  'shared/transports/**': { folders: ['ledger', 'queue', 'content', 'delivery', 'services'] },
  'shared/queue/**': { folders: ['ledger', 'transports', 'content', 'delivery', 'services'], may: ['pg', 'bullmq'] },
  'shared/content/**': { folders: ['ledger', 'transports', 'queue', 'delivery', 'services'] },
  'shared/delivery/**': { folders: ['services'] },
};
const services = ['intake', 'delivery', 'coordinator', 'dashboard', 'sandbox', 'cli', 'standalone'];

const folderRule = (folder) => ({
  regex: folder === 'services' ? '(^|/)services/' : `^(\\.\\./)+(shared/)?${folder}/`,
  message: `The import rules do not let this folder import ${folder}.`,
});
const restricted = {
  pg: { regex: '^pg($|/)', message: 'pg appears only in shared/ledger (and shared/queue for its pool).' },
  prisma: { regex: '^@?prisma(/|$)', message: 'Prisma appears only in shared/ledger.' },
  bullmq: { regex: '^(bullmq|ioredis)($|/)', message: 'bullmq and ioredis appear only in shared/queue.' },
  express: { regex: '^express($|/)', message: 'express appears only in services/intake, dashboard and sandbox.' },
};
const patterns = (folders, may = [], extra = []) => ['error', {
  patterns: [
    ...folders.map(folderRule),
    ...Object.entries(restricted).filter(([name]) => !may.includes(name)).map(([, rule]) => rule),
    ...extra,
  ],
}];

export default tseslint.config(
  { ignores: ['node_modules', 'dist', '.tocsin', 'shared/ledger/generated', 'test-output', 'coverage'] },
  ...tseslint.configs.recommended,
  {
    files: ['**/*.ts'],
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      eqeqeq: 'error',
      'no-console': 'error',
      'max-params': ['error', 4],
    },
  },
  ...Object.entries(house).map(([files, { folders, may, packages }]) => ({
    files: [`${files}/*.ts`],
    rules: { 'no-restricted-imports': patterns(folders, may, packages ? [{ regex: packages, message: 'shared/domain is pure: it imports nothing outside itself.' }] : []) },
  })),
  ...services.map((service) => ({
    files: [`services/${service}/**/*.ts`],
    rules: {
      'no-restricted-imports': patterns(
        [],
        ['intake', 'dashboard', 'sandbox'].includes(service) ? ['express'] : [],
        service === 'standalone' ? [] : services.filter((other) => other !== service).map((other) => ({
          regex: `^(\\.\\./)+(services/)?${other}/`, message: 'Services never import services.',
        })),
      ),
    },
  })),
  {
    files: ['shared/domain/**/*.ts'],
    rules: {
      'no-restricted-globals': ['error', 'process', 'Buffer', 'setTimeout', 'setInterval', 'performance', 'crypto'],
      'no-restricted-properties': ['error', { object: 'Date', property: 'now' }, { object: 'Math', property: 'random' }],
      'no-restricted-syntax': ['error', { selector: "NewExpression[callee.name='Date'][arguments.length=0]", message: 'shared/domain reads no clock.' }],
    },
  },
  {
    files: ['shared/**/*.ts', 'services/**/*.ts'],
    ignores: ['shared/config/**', 'shared/domain/**'],
    rules: { 'no-restricted-properties': ['error', { object: 'process', property: 'env', message: 'process.env is read only in shared/config.' }] },
  },
  { files: ['**/*.js', '**/*.mjs'], rules: { '@typescript-eslint/no-unused-vars': 'error' } },
);
