/** Who is signed in. A viewer reads; an operator retries and discards; an administrator may do no more on the board. */
export type Role = 'viewer' | 'operator' | 'admin';

/** What a call to the board asks for. */
export type BoardAction =
  | { kind: 'read' }
  | { kind: 'retry' | 'discard'; queue: string; jobId: string }
  | { kind: 'retry_all'; queue: string };

/** A call as Bull Board describes it before it is carried out. */
export interface BoardCall { method: string; route: string; params: Record<string, unknown> }

const DEAD_LETTERS = /^(sms|email)-dead-letter$/;

/** The mutations that the board may make, by its own routes; whatever is not here is refused, also what a later version adds. */
const ALLOWED: Record<string, (queue: string, params: Record<string, unknown>) => BoardAction | null> = {
  'put /api/queues/:queueName/:jobId/retry': (queue, params) => ({ kind: 'retry', queue, jobId: String(params['jobId']) }),
  'put /api/queues/:queueName/:jobId/clean': (queue, params) => ({ kind: 'discard', queue, jobId: String(params['jobId']) }),
  'put /api/queues/:queueName/retry/:queueStatus': (queue, params) => (params['queueStatus'] === 'failed' ? { kind: 'retry_all', queue } : null),
};

/** What a call comes to; null where nobody may make it: work queues are read, and dead letters retried or discarded. */
export const actionOf = ({ method, route, params }: BoardCall): BoardAction | null => {
  if (method === 'get') return { kind: 'read' };
  const queue = String(params['queueName'] ?? '');
  return DEAD_LETTERS.test(queue) ? ALLOWED[`${method} ${route}`]?.(queue, params) ?? null : null;
};

/** Whether that role may change anything at all. */
export const mayChange = (role: Role): boolean => role !== 'viewer';

/** Whether that role may do it. */
export const mayAct = (role: Role, action: BoardAction): boolean => action.kind === 'read' || mayChange(role);
