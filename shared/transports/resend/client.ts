import { PROVIDERS } from '../carriers.ts';
import type { JsonApiSettings } from '../http/json-api.ts';
import { createJsonApi } from '../http/json-api.ts';
import type { Transport } from '../transport.ts';
import { readStatus } from './read-status.ts';
import { submit } from './submit.ts';

/**
 * Email through the API of Resend or anything that speaks it. Each message goes under the attempt key as its idempotency key,
 * so a submission whose answer is lost may be made again within 24 hours; that is how it is reconciled, there is no look-up.
 */
export const createResendTransport = (settings: JsonApiSettings): Transport & Required<Pick<Transport, 'readStatus'>> => {
  const api = createJsonApi(settings);
  return {
    ...PROVIDERS.resend,
    channel: 'email',
    submit: (request) => submit(api, request),
    readStatus: (request) => readStatus(api, request),
    close: () => api.close(),
  };
};
