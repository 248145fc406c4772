import { PROVIDERS } from '../carriers.ts';
import type { Transport } from '../transport.ts';
import type { SinchSettings } from './api.ts';
import { createSinchApi } from './api.ts';
import { lookUp } from './look-up.ts';
import { readInbound } from './read-inbound.ts';
import { readStatus } from './read-status.ts';
import { submit } from './submit.ts';

/**
 * SMS through the batches API of Sinch or anything that speaks it. Each batch carries the attempt key as its
 * `client_reference`, so a submission whose answer is lost can be looked for; nothing is ever posted twice here.
 */
export const createSinchTransport = (settings: SinchSettings): Transport & Required<Pick<Transport, 'readStatus' | 'lookUp' | 'readInbound'>> => {
  const api = createSinchApi(settings);
  return {
    ...PROVIDERS.sinch,
    channel: 'sms',
    statusByRecipient: true,
    submit: (request) => submit(api, request),
    readStatus: (request) => readStatus(api, request),
    lookUp: (request) => lookUp(api, request),
    readInbound: (request) => readInbound(api, request),
    close: () => api.close(),
  };
};
