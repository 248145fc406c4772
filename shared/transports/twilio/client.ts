import { PROVIDERS } from '../carriers.ts';
import type { Transport } from '../transport.ts';
import type { TwilioSettings } from './api.ts';
import { createTwilioApi } from './api.ts';
import { lookUp } from './look-up.ts';
import { readInbound } from './read-inbound.ts';
import { readStatus } from './read-status.ts';
import { submit } from './submit.ts';

/**
 * SMS through Twilio's REST API or anything that speaks it. Twilio has no idempotency key, so a submission whose answer is lost
 * stays unknown until a status or the listing tells more; nothing is ever posted twice here.
 */
export const createTwilioTransport = (settings: TwilioSettings): Transport & Required<Pick<Transport, 'readStatus' | 'lookUp' | 'readInbound'>> => {
  const api = createTwilioApi(settings);
  return {
    ...PROVIDERS.twilio,
    channel: 'sms',
    submit: (request) => submit(api, request),
    readStatus: (request) => readStatus(api, request),
    lookUp: (request) => lookUp(api, request),
    readInbound: (request) => readInbound(api, request),
    close: () => api.close(),
  };
};
