import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import type { World } from '../support/world.ts';

/** How long something may take that should come about at once; only a broken product uses it up, and is then found by what it did not do. */
const LIMIT_MS = 12_000;
const CHANNELS = ['sms', 'email'] as const;

/** Waits for it, but not for ever: what a fault leaves undone is to fail by an assertion, not by silence. */
export const within = async (work: Promise<unknown>, limitMs = LIMIT_MS): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  await Promise.race([work, new Promise((resolve) => { timer = setTimeout(resolve, limitMs); })]);
  clearTimeout(timer);
};

let line = 0;

/** What the fault tests say of a world. */
export const faultsOf = (world: World) => {
  const started = (attempt: AttemptState | undefined, times: number): boolean => attempt !== undefined && (attempt.submissions >= times || attempt.settledAt !== null) && attempt.state !== 'submitting';
  const soon = async (eventId: string, holds: (state: NotificationState) => boolean, limitMs = LIMIT_MS): Promise<NotificationState> => {
    await within(world.until(eventId, holds), limitMs);
    return world.state(eventId);
  };
  const mails = (eventId: string, channel: string) => world.sandbox.messages().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)).length;
  const refused = (eventId: string, channel: string) => world.sandbox.refused().filter((message) => message.attempt_key?.startsWith(`${eventId}.${channel}`)).length;
  return {
    /** An urgent notification to a recipient of its own, reached by the channels that have a script. */
    send: async (scripts: { sms?: unknown[]; email?: unknown[] }): Promise<string> => {
      line += 1;
      const to = { sms: `+1202555${String(2_000 + line)}`, email: `fault-${line}@example.com` };
      for (const channel of CHANNELS) {
        const fault = scripts[channel] ? world.sandbox.setScenario(to[channel], scripts[channel] as never) : null;
        if (fault) throw new Error(JSON.stringify(fault));
      }
      const consent = CHANNELS.map((channel) => ({ channel, basis: 'consent', reference: 'c' }));
      return world.accept('00', { recipient: {
        ref: `fault-${line}`, sms: scripts.sms ? to.sms : null, email: scripts.email ? to.email : null, region: 'US', locale: 'en', timeZone: null, consent,
      } });
    },
    /** The state once the condition holds, or when the limit (12 s) is over all the same. */
    soon,
    /** The state once the first call of the channel's attempt came back, whatever it came to. */
    answered: (eventId: string, channel: string, times = 1) => soon(eventId, (state) => started(state.attempts.find((one) => one.channel === channel), times)),
    /** Lets the clock run, as long as the world keeps up with it. */
    pass: (ms: number) => within(world.advance(ms)),
    attempt: async (eventId: string, channel: string) => (await world.state(eventId)).attempts.findLast((one) => one.channel === channel),
    /** Messages that the provider has. */
    got: mails,
    /** Submissions that the provider saw, taken or refused. */
    calls: (eventId: string, channel: string) => mails(eventId, channel) + refused(eventId, channel),
    count: async (eventId: string, kind: string) => (await world.kinds(eventId)).filter((one) => one === kind).length,
    /** What was observed of an attempt, in order. */
    observed: async (eventId: string) => (await readEntries(world.engine.db, eventId)).filter(({ kind }) => kind === 'StatusObserved')
      .map((entry) => JSON.parse(entry.body).details as { outcome: string; counts: boolean }),
    claimedAt: async (eventId: string) => (await readEntries(world.engine.db, eventId)).find(({ kind }) => kind === 'FallbackClaimed')?.at.getTime(),
  };
};
export type Faults = ReturnType<typeof faultsOf>;
