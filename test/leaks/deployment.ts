import { once } from 'node:events';
import { connect } from 'node:net';
import type { TestBackend } from '../support/backends.ts';
import { startDashboard } from '../../services/dashboard/dashboard.ts';
import type { RunningDashboard } from '../../services/dashboard/dashboard.ts';
import { startIntake } from '../../services/intake/intake.ts';
import type { RunningIntake } from '../../services/intake/intake.ts';
import { createLogger } from '../../shared/telemetry/logger.ts';
import { createAlertmanager } from '../../shared/transports/alerts/alertmanager.ts';
import { createWebhook } from '../../shared/transports/alerts/webhook.ts';
import { roster } from '../intake/rig.ts';
import { openListener } from '../support/alert-tools.ts';
import type { Listener } from '../support/alert-tools.ts';
import { mailingVersions } from '../support/mailing.ts';
import { SANDBOX_ACCOUNT } from '../support/sandbox-providers.ts';
import { shippedPolicies } from '../support/test-engine.ts';
import { openWorld } from '../support/world.ts';
import type { World } from '../support/world.ts';
import { MARKED } from './markers.ts';
import type { Places } from './places.ts';
import { say } from './places.ts';

/** All services as the standalone runs them, with everything they say and write caught. */
export interface Deployment { world: World; intake: RunningIntake; dashboard: RunningDashboard; pager: Listener; places: Places; close: () => Promise<void> }

/** Every row that is ever written to any table of any schema, by column: also what is gone again when somebody looks. */
const WATCH = `
CREATE SCHEMA leaks; CREATE UNLOGGED TABLE leaks.seen (place text, said text);
CREATE FUNCTION leaks.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$ BEGIN
  INSERT INTO leaks.seen SELECT TG_TABLE_SCHEMA || '.' || TG_ARGV[0] || '.' || key, value FROM jsonb_each_text(to_jsonb(NEW)) WHERE value IS NOT NULL;
  RETURN NULL;
END $$;
DO $$ DECLARE t record; BEGIN
  FOR t IN SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'leaks', 'pg_toast') LOOP
    EXECUTE format('CREATE TRIGGER leaks_note AFTER INSERT OR UPDATE ON %I.%I FOR EACH ROW EXECUTE FUNCTION leaks.note(%L)', t.nspname, t.relname, t.relname);
  END LOOP;
END $$;`;

/** Every command that anybody gives Redis, with its arguments: job data, reasons of failures, returned values. By a bare socket, since clients mistake the stream for answers. */
const overhear = async (url: string | null, places: Places): Promise<() => void> => {
  if (url === null || url.startsWith('redis+cluster:')) return () => undefined;
  const { hostname, port, username, password } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  socket.setEncoding('latin1').write(`${password === '' ? '' : `AUTH ${username === '' ? '' : `${username} `}${password}\r\n`}MONITOR\r\n`);
  const [answer] = await once(socket, 'data') as [string];
  if (!answer.startsWith('+OK')) throw new Error(`Redis lets nobody listen: ${answer}`);
  socket.on('data', (heard: string) => say(places, 'queue:commands', heard));
  return () => { socket.destroy(); };
};

/** Opens one on a database and queues of its own. */
export const openDeployment = async (backend: TestBackend): Promise<Deployment> => {
  const places: Places = new Map();
  const log = createLogger({ level: 'trace', service: 'test', redactPaths: [], destination: { write: (line: string) => say(places, 'log', line) } });
  const pager = await openListener();
  const links = { dashboardUrl: 'https://dashboard.example', runbookUrl: 'https://runbooks.example' };
  const receivers = [createAlertmanager(pager.url), createWebhook({ url: `${pager.url}/hook`, secrets: [MARKED.webhookSecret] })];
  const { policies, templates } = mailingVersions();
  const world = await openWorld({
    backend, log, policies: [...shippedPolicies(), ...policies], templates, account: { ...SANDBOX_ACCOUNT, authToken: MARKED.twilioToken }, random: () => 0.5, providerTimeoutMs: 1_500,
    transports: { sms: 'twilio', email: 'smtp', mailReports: true }, alerts: { receivers, links, heartbeatUrl: `${pager.url}/heartbeat` },
  });
  await world.ask(WATCH);
  const stopListening = await overhear(world.redisUrl, places);
  const intake = await startIntake({
    engine: world.engine, roster, dashboardUrl: links.dashboardUrl, log,
    config: { host: '127.0.0.1', port: 0, publicUrl: 'https://tocsin.example.com', demo: true, trustProxy: 0, ticketsPerMinute: { address: 600, player: 30 }, preconditionOrigins: [world.origin.url] },
  });
  const dashboard = await startDashboard({ engine: world.engine, queue: world.queue, log, config: { host: '127.0.0.1', port: 0, operator: { user: 'first', password: `${MARKED.password}-first` } } });
  return {
    world, intake, dashboard, pager, places,
    close: async () => {
      stopListening();
      await dashboard.close();
      await intake.close();
      await world.close();
      await pager.close();
    },
  };
};
