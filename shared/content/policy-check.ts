import type { PolicySource } from './policy-file.ts';
import { checkPrecondition } from './precondition-check.ts';

export interface SourceProblem { path: (string | number)[]; problem: string; code: string }

type StepSource = PolicySource['steps'][number];

type Told = [field: keyof StepSource, problem: string, code: string];

const checkPolls = (step: StepSource): Told[] => {
  const found: Told[] = [];
  const [first] = step.polls;
  if (step.polls.some((offset, index) => index > 0 && offset <= (step.polls[index - 1] ?? 0))) found.push(['polls', 'must grow from one poll to the next; put them in order', 'polls_out_of_order']);
  if (first !== undefined && first >= step.decide_within) found.push(['polls', 'start only after the decision deadline; let the first come before decide_within', 'polls_after_deadline']);
  if (step.polls.length > 0 && step.final_poll_before_deadline >= step.decide_within) {
    found.push(['final_poll_before_deadline', 'is not shorter than decide_within; make it a few seconds', 'final_poll_too_early']);
  }
  return found;
};

const checkStep = (source: PolicySource, index: number): Told[] => {
  const step = source.steps[index] as StepSource;
  const found = checkPolls(step);
  // A step in shadow is no part of the walk: none comes after it, and it comes after none.
  const walk = source.steps.filter((one) => !one.shadow);
  const isLast = step === walk.at(-1);
  const reserves = walk.slice(walk.indexOf(step) + 1).reduce((sum, later) => sum + later.reserve, 0);
  if (step.decide_within >= source.expires_after) found.push(['decide_within', 'is not shorter than expires_after; shorten it or let the notification live longer', 'deadline_after_expiry']);
  if (step.transport_retry.cap < step.transport_retry.base) found.push(['transport_retry', 'has a cap below its base; raise the cap', 'cap_below_base']);
  found.push(...checkPrecondition(source, index));
  if (source.strategy === 'all' || step.shadow) return found;
  if (!isLast && step.escalate_when === undefined) {
    found.push(['escalate_when', 'is missing; state in which of pending, accepted, unknown, failed the next step may start', 'no_escalate_when']);
  }
  if (!isLast && step.escalate_when?.length === 0) {
    found.push(['escalate_when', 'is empty, so that nothing lets the next step start; list some of pending, accepted, unknown, failed, or drop the steps behind', 'no_escalate_when']);
  }
  if (!isLast && step.decide_within > source.expires_after - reserves) {
    found.push(['decide_within', 'leaves later steps less than their reserve; shorten it, or the reserves', 'clocks_do_not_fit']);
  }
  if (step !== walk[0] && step.reserve === 0) found.push(['reserve', 'is missing; a later step needs time kept before expiry, e.g. 60s', 'no_reserve']);
  return found;
};

const checkRegions = (source: PolicySource): SourceProblem[] => {
  const channels = [...new Set(source.steps.map((step) => step.channel))];
  const regions = Object.entries(source.regions);
  if (regions.length === 0) return [{ path: ['regions'], problem: 'covers no region; name at least one, with its consent rules', code: 'region_without_rule' }];
  const empty = regions.filter(([, rule]) => Object.keys(rule.consent).length === 0).map(([region]) => ({
    path: ['regions', region], problem: `has no rule; list under consent, for ${channels.join(' and ')}, the lawful bases on which each may be used, or drop the region`, code: 'region_without_rule',
  }));
  return [...empty, ...regions.filter(([, rule]) => Object.keys(rule.consent).length > 0).flatMap(([region, rule]) => channels.filter((channel) => !rule.consent[channel]).map((channel) => ({
    path: ['regions', region, 'consent'], problem: `has no rule for ${channel}; list the lawful bases on which ${channel} may be used in ${region}`, code: 'no_consent_rule',
  })))];
};

/** What the schema cannot see: whether the clocks of the steps fit each other and the expiry. Empty where all is well. */
export const checkPolicy = (source: PolicySource): SourceProblem[] => {
  const found: SourceProblem[] = checkRegions(source);
  const reserves = source.steps.reduce((sum, step) => sum + (step.shadow ? 0 : step.reserve), 0);
  if (reserves >= source.expires_after) found.push({ path: ['expires_after'], problem: 'is not longer than the reserves of all steps together; lengthen it or shorten them', code: 'reserve_too_large' });
  if (source.reconcile_cap < source.reconcile_every) found.push({ path: ['reconcile_cap'], problem: 'is below reconcile_every; raise it', code: 'cap_below_base' });
  if (source.payload && source.payload.retry_window > source.retention) found.push({ path: ['payload', 'retry_window'], problem: 'is longer than retention, at which everything is destroyed; shorten it', code: 'retry_window_too_long' });
  source.steps.forEach((step, index) => {
    for (const key of ['name', 'channel'] as const) {
      if (source.steps.findIndex((other) => other[key] === step[key]) < index) {
        found.push({ path: ['steps', index, key], problem: `is the ${key} of an earlier step too; give each step its own`, code: 'step_twice' });
      }
    }
    found.push(...checkStep(source, index).map(([field, problem, code]) => ({ path: ['steps', index, field], problem, code })));
  });
  return found;
};
