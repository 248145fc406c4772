import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { composeMime } from '../../shared/content/mime.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { ProviderName } from '../../shared/domain/provider-answers.ts';
import { createResendTransport } from '../../shared/transports/resend/client.ts';
import { createSinchTransport } from '../../shared/transports/sinch/client.ts';
import { createSmtpTransport } from '../../shared/transports/smtp/client.ts';
import type { SubmitRequest, Transport } from '../../shared/transports/transport.ts';
import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';
import { createTwilioTransport } from '../../shared/transports/twilio/client.ts';
import { SANDBOX_ACCOUNT } from '../support/sandbox-providers.ts';

const EVENT = 'evt_01KB7Y0000ABCDEFGHJKMNPQRS';
const { accountSid, authToken, sinchPlanId: planId, sinchToken, resendApiKey } = SANDBOX_ACCOUNT;

/** A transport under the suite that all of them pass. */
export interface Subject {
  name: ProviderName;
  /** Its calls are made in a thread of their own, so that its fence is an instant that nobody asks for. */
  threaded?: true;
  channel: 'sms' | 'email';
  /** At a server of any kind on that loopback port. */
  at: (port: number, timeoutMs: number) => Transport;
  inSandbox: (sandbox: RunningSandbox, timeoutMs: number) => Transport;
  /** What goes to the recipient whose number or address ends so (see services/sandbox/README.md). */
  message: (ending: string) => SubmitRequest['message'];
}

const http = (port: number): string => `http://127.0.0.1:${port}`;
const sms = (ending: string): SubmitRequest['message'] => ({ channel: 'sms', to: `+120255501${ending}`, from: '+12025550199', text: 'hello (ref NPQRSS1)' });
const email = (ending: string): SubmitRequest['message'] => {
  const to = `a+${ending}@example.com`;
  const mime = composeMime({
    from: { name: 'Tocsin', address: 'b@example.com' }, to, subject: 'hello', text: 'hello\n', html: '<p>hello</p>', attemptKey: `${EVENT}.email.1`, plannedAt: 0,
  });
  return { channel: 'email', to, from: 'b@example.com', mime };
};

const twilio = (baseUrl: string, timeoutMs: number) => createTwilioTransport({ baseUrl, accountSid, authToken, timeoutMs, now: () => 0 });
const sinch = (baseUrl: string, timeoutMs: number) => createSinchTransport({ baseUrl, planId, token: sinchToken, timeoutMs, now: () => 0 });
const resend = (baseUrl: string, timeoutMs: number) => createResendTransport({ baseUrl, token: resendApiKey, timeoutMs, now: () => 0 });
const smtp = (url: string, timeoutMs: number) => createSmtpTransport({ url, timeoutMs, maxConnections: 1 });

export const SUBJECTS: Subject[] = [
  { name: 'twilio', channel: 'sms', at: (port, limit) => twilio(http(port), limit), inSandbox: ({ httpUrl }, limit) => twilio(httpUrl, limit), message: sms },
  { name: 'sinch', channel: 'sms', at: (port, limit) => sinch(http(port), limit), inSandbox: ({ httpUrl }, limit) => sinch(httpUrl, limit), message: sms },
  { name: 'smtp', channel: 'email', at: (port, limit) => smtp(`smtp://127.0.0.1:${port}`, limit), inSandbox: ({ smtpUrl }, limit) => smtp(smtpUrl, limit), message: email },
  { name: 'resend', channel: 'email', at: (port, limit) => resend(http(port), limit), inSandbox: ({ httpUrl }, limit) => resend(httpUrl, limit), message: email },
];

const inThread = (channel: Channel, { httpUrl, smtpUrl }: { httpUrl: string; smtpUrl: string }, timeoutMs: number): Transport =>
  openThreadedTransports([channel], { sms: { name: 'twilio', baseUrl: httpUrl, accountSid, authToken }, email: { name: 'smtp', url: smtpUrl }, timeoutMs, now: () => 0 })[0];

/** The same promises hold where the calls are made in another thread; what comes before the thread is the same for every provider. */
export const THREADED: Subject[] = ([['twilio', 'sms', sms], ['smtp', 'email', email]] as const).map(([name, channel, message]) => ({
  name, threaded: true, channel, message,
  at: (port, limit) => inThread(channel, { httpUrl: http(port), smtpUrl: `smtp://127.0.0.1:${port}` }, limit),
  inSandbox: (sandbox, limit) => inThread(channel, sandbox, limit),
}));

/** All of them, `title` as their tests are named. */
export const EVERY_SUBJECT = [...SUBJECTS, ...THREADED].map((subject) => ({ ...subject, title: subject.threaded ? `${subject.name} (in a thread)` : subject.name }));

/** A submission of that message, with a fence that lets it pass. */
export const submission = (message: SubmitRequest['message'], mayStart = () => true, startWithinMs = 60_000): SubmitRequest =>
  ({ attemptKey: `${EVENT}.${message.channel}.1`, message, mayStart, startWithinMs });
