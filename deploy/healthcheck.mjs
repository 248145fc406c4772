// Asks the service of this container whether it is alive: which one that is stands in the command of process 1 (or of the one named).
import { readFileSync } from 'node:fs';

const PORTS = {
  intake: process.env.INTAKE_PORT || 3000, dashboard: process.env.DASHBOARD_PORT || 3001, sandbox: process.env.SANDBOX_PORT || 3002,
  delivery: process.env.METRICS_PORT, coordinator: process.env.METRICS_PORT,
};
const command = readFileSync(`/proc/${process.argv[2] ?? 1}/cmdline`, 'utf8');
const service = /services\/(\w+)\/main/.exec(command)?.[1];
const port = PORTS[service];
if (!port || port === '0') {
  process.stderr.write(`no port to ask ${service ?? 'this process'} at\n`);
  process.exit(1);
}
const response = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(4_000) }).catch(() => null);
process.exit(response?.ok ? 0 : 1);
