import { setTimeout as pause } from 'node:timers/promises';
import type { Surroundings } from '../audit/surroundings.ts';
import type { ChaosPlan, WorldFault } from './chaos-plan.ts';

const AT_ONCE = 16;

const tell = async ({ env }: Surroundings, path: string, body: object): Promise<void> => {
  const answer = await fetch(`${env['TWILIO_BASE_URL'] as string}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`the sandbox refused ${path}: ${await answer.text()}`);
};

/** Gives every destination of the plan its script. */
export const tellScripts = async (around: Surroundings, plan: ChaosPlan): Promise<void> => {
  const scripts = plan.notices.flatMap(({ sms, email }) => [sms, email]).values();
  const teller = async (): Promise<void> => { for (const { to, script } of scripts) await tell(around, '/scenarios', { to, script }); };
  await Promise.all(Array.from({ length: AT_ONCE }, teller));
};

/** Takes the provider of a channel away; resolves once it is back. */
export const takeAway = async (around: Surroundings, { channel, outage, forMs }: Extract<WorldFault, { kind: 'outage' }>): Promise<void> => {
  await tell(around, '/outage', { channel, kind: outage, forMs });
  await pause(forMs);
};
