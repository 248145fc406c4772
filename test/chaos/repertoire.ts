import type { Seeded } from '../audit/seeded.ts';

/** A script of the sandbox: see services/sandbox/README.md. */
export type Script = Record<string, unknown>[];

type Weighted = readonly [weight: number, draw: (random: Seeded) => Script];

const DELIVERED: Script = [{ status: 'sent', afterMs: 300 }, { status: 'delivered', afterMs: 900 }];
const UNDELIVERED: Script = [{ status: 'sent', afterMs: 300 }, { status: 'undelivered', afterMs: 1_500 }];
const NEVER: Script = [{ status: 'never', afterMs: 300 }];
/** After the deadline of the step, when the email is under way. */
const LATE: Script = [{ status: 'sent', afterMs: 300 }, { status: 'delivered', afterMs: 8_000 }];
const SLOW = { submit: 'accept', answerAfterMs: 1_100 };

const FATES: readonly Script[] = [DELIVERED, DELIVERED, UNDELIVERED, NEVER, LATE];
const withFate = (...submits: Script) => (random: Seeded): Script => [...submits, ...random.pick(FATES)];
const always = (script: Script) => (): Script => script;

const SMS: readonly Weighted[] = [
  [24, always([{ submit: 'accept' }, ...DELIVERED])],
  [9, always([{ submit: 'accept' }, ...UNDELIVERED])],
  [11, always([{ submit: 'accept' }, ...NEVER])],
  [8, always([{ submit: 'accept' }, ...LATE])],
  [14, withFate(SLOW)],
  [5, always([{ submit: 'reject', code: 21211 }])],
  [2, always([{ submit: 'reject', code: 21610 }])],
  [2, always([{ submit: 'accept' }, { status: 'failed', afterMs: 900, errorCode: 21610 }])],
  [6, withFate({ submit: 'throttle', retryAfter: 1 }, { submit: 'accept' })],
  [7, withFate({ submit: 'lose_response' })],
  [2, withFate({ submit: 'lose_response' }, { listed: false })],
  [2, withFate({ submit: 'lose_response' }, { listed: true, afterMs: 2_500 })],
  [2, withFate({ submit: 'lose_response' }, { readFails: 2, of: 'listing' })],
  [5, withFate({ submit: 'fail_after_accept' })],
  [3, always([{ submit: 'fail' }])],
  [3, withFate({ submit: 'hang', accepted: true })],
  [2, always([{ submit: 'hang', accepted: false }])],
  [2, withFate({ submit: 'drop_before_read' }, { submit: 'accept' })],
  [4, (random) => [{ submit: 'nonsense', form: random.pick(['html', 'json_without_sid', 'truncated_json', 'empty']), accepted: random.chance(0.5) }, ...random.pick(FATES)]],
  [3, always([{ submit: 'accept' }, { status: 'malformed', afterMs: 0 }, { status: 'delivered', afterMs: 2_500 }])],
  [3, withFate({ submit: 'accept' }, { notFoundTimes: 2 })],
  [3, withFate({ submit: 'accept' }, { readFails: 2, httpStatus: 503 })],
  [2, withFate({ submit: 'accept' }, { readHangs: 1 })],
  // Told out of order: back from sent to sending, and from delivered to sent.
  [4, always([{ submit: 'accept' }, { status: 'sent', afterMs: 300 }, { status: 'sending', afterMs: 1_000 }, { status: 'delivered', afterMs: 1_800 }, { status: 'sent', afterMs: 3_000 }])],
];

// Not `fail_after_accept`: a mail server's 451 says by its standard that nothing was taken, and whoever repeats it then is right.
const EMAIL: readonly Weighted[] = [
  [50, always([{ submit: 'accept' }])],
  [22, always([SLOW])],
  [4, always([{ submit: 'reject', code: 550, enhanced: '5.1.1', at: 'rcpt' }])],
  [3, always([{ submit: 'reject', code: 554, enhanced: '5.6.0', at: 'data' }])],
  [6, always([{ submit: 'throttle' }, { submit: 'accept' }])],
  [8, always([{ submit: 'lose_response' }])],
  [3, always([{ submit: 'hang', accepted: true }])],
  [2, always([{ submit: 'hang', at: 'rcpt' }, { submit: 'accept' }])],
  [3, always([{ submit: 'drop_before_read' }, { submit: 'accept' }])],
  [2, always([{ submit: 'nonsense' }])],
];

const draw = (choices: readonly Weighted[], random: Seeded): Script => {
  let left = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, make] of choices) {
    left -= weight;
    if (left < 0) return make(random);
  }
  return (choices[0] as Weighted)[1](random);
};

/** What becomes of an SMS to a number: any of the sandbox's scripted outcomes. */
export const drawSmsScript = (random: Seeded): Script => draw(SMS, random);

/** What becomes of an email to an address. */
export const drawEmailScript = (random: Seeded): Script => draw(EMAIL, random);
