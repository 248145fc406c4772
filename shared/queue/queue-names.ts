/** Queues of attempts to be submitted, one per channel. */
export const CHANNEL_QUEUES = ['sms', 'email'] as const;
/** Queues that hold what an operator must look at, as failed jobs; a projection of the ledger. */
export const DEAD_LETTER_QUEUES = ['sms-dead-letter', 'email-dead-letter'] as const;
export const QUEUE_NAMES = [...CHANNEL_QUEUES, 'status-poll', 'maintenance', ...DEAD_LETTER_QUEUES] as const;

export type QueueName = (typeof QUEUE_NAMES)[number];

/** Braces, so that a Redis Cluster keeps all keys of a queue on one slot. The Postgres backend has no prefix. */
export const QUEUE_PREFIX = '{tocsin}';

/** The schema that the Postgres backend lives in; a shared pool can use no other. */
export const QUEUE_SCHEMA = 'bullmq';

/** Name of the repeated job on `maintenance`, and the id of its scheduler. */
export const TICK = 'tick';

/** Id of an attempt's job: the first requeue repeats it; later ones, like a new decision, make a new generation. */
export const attemptJobId = (attemptKey: string, generation: number): string => `${attemptKey}-g${generation}`;

/** The queue in which the dead letters of a channel stand. */
export const deadLetterQueue = (channel: 'sms' | 'email'): (typeof DEAD_LETTER_QUEUES)[number] => `${channel}-dead-letter`;

/** Id of a dead letter's job: each time that it is shown to operators anew makes another. */
export const deadLetterJobId = (id: string, showing: number): string => `dead-letter-${id}-s${showing}`;

/** The dead letter that a job stands for; null where it stands for none. */
export const deadLetterIdOf = (jobId: string): string | null => /^dead-letter-(\d{1,18})-s\d+$/.exec(jobId)?.[1] ?? null;

/** What BullMQ refuses as a job id: integers, which it deals out itself, and colons, which part its keys. */
export const isJobId = (id: string): boolean => /^[^:]*[^:\d][^:]*$/.test(id);
