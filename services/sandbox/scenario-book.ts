import type { Channel } from '../../shared/domain/words.ts';
import { defaultEvents, defaultSubmit, memorableDigits } from './memorable.ts';
import type { Schedule } from './memorable.ts';
import { compileScript, NOTHING_SPECIAL } from './script.ts';
import type { CompiledScript, Fate, ReadFault, ScriptFault, SubmitStep } from './script.ts';

export interface Scenario { to: string; script: unknown[]; submissions: number }

/** Decides, per number or address, how the next submission is answered and what becomes of an accepted message. */
export interface ScenarioBook {
  /** Replaces the script of `to`: a number, an address, or `sms:*` / `email:*` for all the others. Null, or what is wrong with it. */
  set(to: unknown, script: unknown): ScriptFault[] | null;
  clear(): void;
  list(): Scenario[];
  /** Uses up one submit step of `to`; the last one of a script repeats. */
  draw(to: string, channel: Channel): SubmitStep;
  /** The step as it applies to this attempt: a once-per-attempt throttle is an acceptance from the second time on. */
  settle(step: SubmitStep, to: string, attemptKey: string | null): SubmitStep;
  /** `told` where the provider tells statuses of the channel at all: plain SMTP does not. */
  fateOf(to: string, channel: Channel, told?: boolean): Fate;
  /** The fault for this reading of the listing of `to`, if one is left. */
  drawListingFault(to: string): ReadFault | null;
}

interface Entry extends Scenario { compiled: CompiledScript; listingFaultsLeft: number }

const ACCEPT: SubmitStep = { submit: 'accept' };
const channelOf = (to: string): Channel | null => {
  if (/^\+\d{5,15}$/.test(to) || to === 'sms:*') return 'sms';
  if (/^[^\s@]+@[^\s@]+$/.test(to) || to === 'email:*') return 'email';
  return null;
};
const keyOf = (to: string): string => to.toLowerCase();

/** An empty book; without scenarios the memorable numbers hold, and everyone else is delivered. */
export const createScenarioBook = (schedule: Schedule): ScenarioBook => {
  const entries = new Map<string, Entry>();
  const throttledOnce = new Set<string>();
  // the fate of everyone without a scenario is the same few objects, so that a benchmark does not build one per message
  const defaults = new Map<string, Fate>();

  const find = (to: string, channel: Channel): Entry | undefined =>
    entries.size === 0 ? undefined : entries.get(keyOf(to)) ?? entries.get(`${channel}:*`);
  const defaultFate = (to: string, told: boolean): Fate => {
    const key = `${told} ${memorableDigits(to)}`;
    const known = defaults.get(key) ?? { events: defaultEvents(to, told, schedule), ...NOTHING_SPECIAL };
    defaults.set(key, known);
    return known;
  };

  return {
    set(to, script) {
      const channel = typeof to === 'string' ? channelOf(to) : null;
      if (typeof to !== 'string' || !channel) return [{ field: 'to', detail: 'must be a number in E.164 (+12025550101), an address, "sms:*" or "email:*"' }];
      const read = compileScript(script, channel);
      if ('faults' in read) return read.faults;
      entries.set(keyOf(to), {
        to, script: script as unknown[], submissions: 0, compiled: read.compiled, listingFaultsLeft: read.compiled.rest.listingFault?.times ?? 0,
      });
      return null;
    },
    clear() {
      entries.clear();
      throttledOnce.clear();
    },
    list: () => [...entries.values()].map(({ to, script, submissions }) => ({ to, script, submissions })),
    draw(to, channel) {
      const entry = find(to, channel);
      if (!entry) return defaultSubmit(to, channel);
      const { submits } = entry.compiled;
      const step = submits[Math.min(entry.submissions, submits.length - 1)];
      entry.submissions += 1;
      return step ?? defaultSubmit(to, channel);
    },
    settle(step, to, attemptKey) {
      if (step.submit !== 'throttle' || !step.oncePerAttempt) return step;
      const key = attemptKey ?? keyOf(to);
      if (throttledOnce.has(key)) return ACCEPT;
      throttledOnce.add(key);
      return step;
    },
    fateOf(to, channel, told = channel === 'sms') {
      const entry = find(to, channel);
      if (!entry) return defaultFate(to, told);
      return { events: entry.compiled.events ?? defaultEvents(to, told, schedule), ...entry.compiled.rest };
    },
    drawListingFault(to) {
      const entry = find(to, 'sms');
      if (!entry || entry.listingFaultsLeft === 0) return null;
      entry.listingFaultsLeft -= 1;
      return entry.compiled.rest.listingFault;
    },
  };
};
