import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { deadLetterIdOf } from '../../shared/queue/queue-names.ts';

const ageOf = (job: { id?: string | undefined }): bigint => BigInt(deadLetterIdOf(job.id ?? '') ?? 0);

/**
 * A dead-letter queue on the board. Its jobs fail in the order in which a worker came to them, and a rebuilt queue fails many at once: within
 * a page the newest dead letter comes first all the same.
 */
export class DeadLetterAdapter extends BullMQAdapter {
  override async getJobs(...asked: Parameters<BullMQAdapter['getJobs']>): ReturnType<BullMQAdapter['getJobs']> {
    const jobs = await super.getJobs(...asked);
    return jobs.sort((one, other) => (ageOf(other) > ageOf(one) ? 1 : -1));
  }
}
