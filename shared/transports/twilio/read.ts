import type { HttpAddress } from '../http/exchange.ts';
import type { ReadOutcome } from '../http/read.ts';
import { readAnswer } from '../http/read.ts';
import type { TwilioApi } from './api.ts';
import { TWILIO_ERROR_READER } from './error-table.ts';

/** One GET and what can be read of its answer; every failure is a value. */
export const read = async (api: TwilioApi, url: URL | HttpAddress, limits: { limitMs: number; maxBodyBytes: number }): Promise<ReadOutcome> =>
  readAnswer(await api.get(url, limits), TWILIO_ERROR_READER, api.now());
