import { createHash, randomUUID } from 'node:crypto';
import type { SubmitStep } from './script.ts';

/** Whether a message answered this way is on its way all the same. */
export const isAccepted = (step: SubmitStep): boolean => {
  switch (step.submit) {
    case 'accept':
    case 'lose_response':
    case 'fail_after_accept': return true;
    case 'hang':
    case 'nonsense': return step.accepted ?? false;
    case 'reject':
    case 'throttle':
    case 'fail':
    case 'drop_before_read': return false;
  }
};

export const sha256 = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** 26 characters, as the ids of batches are. */
export const newBatchId = (): string => `01${randomUUID().replaceAll('-', '').slice(0, 24).toUpperCase()}`;

/** `SM` or `EM` and 32 hex digits. From randomUUID, which draws its randomness in blocks: a tenth of the cost of randomBytes. */
export const newMessageId = (prefix: 'SM' | 'EM'): string => prefix + randomUUID().replaceAll('-', '');
