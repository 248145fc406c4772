import { openThreadedTransports } from '../../shared/transports/threaded/open-threaded.ts';

/** Makes one call in a thread, says what came of it and has nothing more to do; nobody closes anything. */
const [sms] = openThreadedTransports(['sms'], {
  sms: { name: 'twilio', baseUrl: process.argv[2] as string, accountSid: 'AC1', authToken: 't' }, email: { name: 'smtp', url: 'smtp://127.0.0.1:1' }, timeoutMs: 5_000, now: Date.now,
});
const reading = await sms.readStatus?.({ attemptKey: 'k', providerMessageId: 'SM1', to: '' });
process.stdout.write(`${reading?.kind}\n`);
