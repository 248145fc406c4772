// Runs the Procfile: each service a process of its own, on DATABASE_URL and (if set) REDIS_URL. Fills in what a developer
// need not care about, with the sandbox as the provider; whatever is set already stays.
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import concurrently from 'concurrently';

if (process.argv.includes('--help')) {
  process.stdout.write('npm run dev: migrates DATABASE_URL, then runs every line of the Procfile until Ctrl-C.\nNeeds DATABASE_URL (owner of the database); REDIS_URL chooses BullMQ on Redis. See .env.example.\n');
  process.exit(0);
}
if (!process.env.DATABASE_URL) {
  process.stderr.write('DATABASE_URL is not set: npm run dev needs a Postgres of yours. For everything in one process on an embedded one: npm start\n');
  process.exit(2);
}
const dataDir = process.env.TOCSIN_DATA_DIR || '.tocsin';
const kept = (name, make) => {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const path = join(dataDir, name);
  if (!existsSync(path)) writeFileSync(path, `${make()}\n`, { mode: 0o600 });
  return readFileSync(path, 'utf8').trim();
};
const host = process.env.HOST || '127.0.0.1';
const defaults = {
  TOCSIN_KEYS: process.env.TOCSIN_KEYS || kept('keys', () => `k1:${randomBytes(32).toString('base64')}`),
  OPERATOR_PASSWORD: process.env.OPERATOR_PASSWORD || kept('operator-password', () => randomBytes(12).toString('base64url')),
  TOCSIN_DEMO: '1',
  TWILIO_BASE_URL: `http://${host}:${process.env.SANDBOX_PORT || 3002}`,
  TWILIO_ACCOUNT_SID: 'AC5a4db0c05a4db0c05a4db0c05a4db0c0',
  TWILIO_AUTH_TOKEN: 'sandbox-token',
  TWILIO_FROM: '+12025550100',
  SMTP_URL: `smtp://${host}:${process.env.SANDBOX_SMTP_PORT || 2525}`,
  MAIL_FROM: 'Tocsin <tocsin@example.com>',
};
const env = { ...defaults, ...Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== '')) };

const migrated = spawnSync(process.execPath, ['bin/tocsin.js', 'migrate'], { stdio: 'inherit', env });
if (migrated.status !== 0) process.exit(migrated.status ?? 1);

const commands = readFileSync('Procfile', 'utf8').split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#')).map((line, index) => {
  const at = line.indexOf(':');
  // One port cannot serve them all: they count up from it.
  const ports = Number(env.METRICS_PORT) > 0 ? { METRICS_PORT: String(Number(env.METRICS_PORT) + index) } : {};
  return { name: line.slice(0, at), command: `exec env ${line.slice(at + 1).trim()}`, env: { ...env, ...ports } };
});
const { result } = concurrently(commands, { prefix: 'name', killOthersOn: ['failure'], killSignal: 'SIGTERM', killTimeout: 20_000 });
await result.then(() => process.exit(0), () => process.exit(1));
