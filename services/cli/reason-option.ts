import { reasonFault } from '../../shared/config/reason-text.ts';
import type { Input } from './command.ts';
import { UsageError } from './refusal.ts';

/** Why somebody acts, by the rule of the HTTP API. @throws UsageError where it is missing or nothing to read; it never repeats what was given. */
export const reasonOf = (input: Input): string => {
  const reason = input.required('reason');
  const fault = reasonFault(reason);
  if (fault !== null) throw new UsageError(`--reason ${fault}`, '--reason');
  return reason;
};
