import { z } from 'zod';
import type { Channel } from '../../shared/domain/words.ts';

const milliseconds = z.number().int().min(0).max(86_400_000);
const httpStatus = z.number().int().min(200).max(599);
const times = z.number().int().min(1).max(1_000_000);
/** Seconds, an HTTP date, or deliberate garbage; goes out as it is, so it has to be legal in a header. */
const retryAfter = z.union([z.number(), z.string().regex(/^[\x20-\x7e]*$/, 'must be printable ASCII')]);
/** A Twilio error code for numbers, an SMTP reply code for addresses. */
const code = z.number().int().min(400).max(99_999);
/** SMTP only: whether the answer comes to RCPT TO or after the final dot. */
const at = z.enum(['rcpt', 'data']);
const enhanced = z.string().regex(/^[245]\.\d{1,3}\.\d{1,3}$/, 'must look like 5.1.1');

const submitSteps = z.discriminatedUnion('submit', [
  z.strictObject({ submit: z.literal('accept'), answerAfterMs: milliseconds.optional() }),
  z.strictObject({ submit: z.literal('reject'), code: code.optional(), httpStatus: httpStatus.optional(), enhanced: enhanced.optional(), at: at.optional() }),
  z.strictObject({
    submit: z.literal('throttle'), retryAfter: retryAfter.optional(), code: code.optional(), enhanced: enhanced.optional(), at: at.optional(),
    oncePerAttempt: z.boolean().optional(),
  }),
  z.strictObject({ submit: z.literal('lose_response') }),
  z.strictObject({ submit: z.literal('hang'), accepted: z.boolean().optional(), at: at.optional() }),
  z.strictObject({ submit: z.literal('fail_after_accept'), httpStatus: httpStatus.optional(), code: code.optional() }),
  z.strictObject({ submit: z.literal('fail'), httpStatus: httpStatus.optional(), code: code.optional(), at: at.optional() }),
  z.strictObject({
    submit: z.literal('nonsense'), form: z.enum(['html', 'json_without_sid', 'empty', 'truncated_json']).optional(),
    httpStatus: httpStatus.optional(), accepted: z.boolean().optional(),
  }),
  z.strictObject({ submit: z.literal('drop_before_read') }),
]);

const statusStep = z.strictObject({
  status: z.string().regex(/^[a-z_]{1,40}$/, 'must be lower-case letters and underscores'),
  afterMs: milliseconds.default(0),
  errorCode: z.number().int().min(10_000).max(99_999).optional(),
});
const notFoundStep = z.strictObject({ notFoundTimes: times });
const readFailsStep = z.strictObject({
  readFails: times, httpStatus: httpStatus.default(500), retryAfter: retryAfter.optional(), of: z.enum(['status', 'listing']).default('status'),
});
const readHangsStep = z.strictObject({ readHangs: times });
const listedStep = z.strictObject({ listed: z.boolean(), afterMs: milliseconds.default(0) });

export type SubmitStep = z.infer<typeof submitSteps>;
export interface StatusEvent { status: string; afterMs: number; errorCode: number | null }
export interface ReadFault { times: number; httpStatus: number; retryAfter: number | string | null }

/** What becomes of an accepted message, fixed at the instant of acceptance. */
export interface Fate {
  /** In the order they take effect; out of order on purpose where the script says so. */
  events: StatusEvent[];
  notFoundTimes: number;
  readHangs: number;
  statusFault: ReadFault | null;
  listingFault: ReadFault | null;
  listed: boolean;
  listedAfterMs: number;
}

/** A script read and understood: null where it leaves something to the default of the number or address. */
export interface CompiledScript { submits: SubmitStep[]; events: StatusEvent[] | null; rest: Omit<Fate, 'events'> }

export interface ScriptFault { field: string; detail: string }

export const NOTHING_SPECIAL: Omit<Fate, 'events'> = {
  notFoundTimes: 0, readHangs: 0, statusFault: null, listingFault: null, listed: true, listedAfterMs: 0,
};

const KINDS = {
  submit: submitSteps, status: statusStep, notFoundTimes: notFoundStep, readFails: readFailsStep, readHangs: readHangsStep, listed: listedStep,
} as const;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];

const faultsOf = (error: z.ZodError, field: string): ScriptFault[] =>
  error.issues.map((issue) => ({ field: [field, ...issue.path].join('.'), detail: issue.message }));

/** Codes that make no sense on the channel would be sent as nonsense, so they are refused here. */
const codeFault = (step: SubmitStep, channel: Channel, field: string): ScriptFault | null => {
  if (!('code' in step) || step.code === undefined) return null;
  const smtp = step.code >= 400 && step.code <= 599;
  if (channel === 'email' && !smtp) return { field: `${field}.code`, detail: 'an address takes an SMTP reply code, 400 to 599' };
  if (channel === 'sms' && step.code < 10_000) return { field: `${field}.code`, detail: 'a number takes a Twilio error code, 10000 to 99999' };
  return null;
};

/** `never` stands for "sent and nothing after it". */
const eventOf = (step: z.infer<typeof statusStep>): StatusEvent => {
  const status = step.status === 'never' ? 'sent' : step.status;
  const assumed = status === 'undelivered' ? 30005 : status === 'failed' ? 30008 : null;
  return { status, afterMs: step.afterMs, errorCode: step.errorCode ?? assumed };
};

const takeFateStep = (script: CompiledScript, kind: Kind, step: unknown): void => {
  const { rest } = script;
  switch (kind) {
    case 'status':
      script.events = [...script.events ?? [], eventOf(step as z.infer<typeof statusStep>)];
      break;
    case 'notFoundTimes': rest.notFoundTimes = (step as z.infer<typeof notFoundStep>).notFoundTimes; break;
    case 'readHangs': rest.readHangs = (step as z.infer<typeof readHangsStep>).readHangs; break;
    case 'readFails': {
      const fault = step as z.infer<typeof readFailsStep>;
      rest[fault.of === 'listing' ? 'listingFault' : 'statusFault'] = { times: fault.readFails, httpStatus: fault.httpStatus, retryAfter: fault.retryAfter ?? null };
      break;
    }
    case 'listed': {
      const listing = step as z.infer<typeof listedStep>;
      rest.listed = listing.listed;
      rest.listedAfterMs = listing.afterMs;
      break;
    }
    case 'submit': script.submits.push(step as SubmitStep);
  }
};

/**
 * Reads a script: an array of submit steps, status events and read faults (see README.md). Never throws; what is wrong comes
 * back as faults, each naming its field.
 */
export const compileScript = (script: unknown, channel: Channel): { compiled: CompiledScript } | { faults: ScriptFault[] } => {
  if (!Array.isArray(script) || script.length === 0) return { faults: [{ field: 'script', detail: 'must be an array of at least one step' }] };
  const compiled: CompiledScript = { submits: [], events: null, rest: { ...NOTHING_SPECIAL } };
  const faults: ScriptFault[] = [];
  script.forEach((step: unknown, index) => {
    const field = `script.${index}`;
    const kind = typeof step === 'object' && step !== null ? kinds.find((name) => name in step) : undefined;
    if (!kind) {
      faults.push({ field, detail: `must be a step with one of: ${kinds.join(', ')}` });
      return;
    }
    const read = KINDS[kind].safeParse(step);
    if (!read.success) {
      faults.push(...faultsOf(read.error, field));
      return;
    }
    const wrongCode = kind === 'submit' ? codeFault(read.data as SubmitStep, channel, field) : null;
    if (wrongCode) faults.push(wrongCode);
    takeFateStep(compiled, kind, read.data);
  });
  // a stable sort: of two events at the same instant, the one written later has the last word
  compiled.events?.sort((a, b) => a.afterMs - b.afterMs);
  return faults.length > 0 ? { faults } : { compiled };
};
