import type { PolicySource } from './policy-file.ts';

type Fault = ['precondition' | 'on_precondition_error' | 'reserve', string, string];

/** The longest that a question to the origin system is waited for, and as much again to dispatch what it sets free. */
const LEAST_RESERVE_MS = 10_000;

/** What a step says of the precondition, against the rest of its policy. */
export const checkPrecondition = (source: PolicySource, index: number): Fault[] => {
  const step = source.steps[index] as PolicySource['steps'][number];
  if (!step.precondition) return step.on_precondition_error === undefined ? [] : [['on_precondition_error', 'says what an unanswered question means, and none is asked; set precondition: true, or remove it', 'precondition_error_without_question']];
  const found: Fault[] = [];
  if (step.on_precondition_error === undefined) found.push(['precondition', 'does not say what it means that the origin system does not answer; set on_precondition_error to send or hold', 'no_precondition_error']);
  // One answer stands for every step for ten seconds, so an error has to mean the same to each.
  const first = source.steps.find((one) => one.precondition);
  if (first !== step && first?.on_precondition_error !== step.on_precondition_error) found.push(['on_precondition_error', 'differs from that of an earlier step; give all steps of a policy the same', 'precondition_errors_differ']);
  if (index > 0 && step.reserve > 0 && step.reserve < LEAST_RESERVE_MS) found.push(['reserve', 'is shorter than asking the origin system may take; make it at least 10s', 'reserve_below_question']);
  return found;
};
