import type { z } from 'zod';
import type { Scope } from '../../shared/security/api-scopes.ts';
import type { Cures } from './faults.ts';
import type { Method } from './routes.ts';

export interface Parameter { name: string; in: 'path' | 'header'; required: boolean; description: string; example: string; pattern?: string }

export interface Answer { description: string; schema?: z.ZodType; example?: unknown; /** Of an answer that is not JSON. */ mediaType?: string; headers?: Record<string, string> }

/** One call of the API, as the document and the page about it tell it. */
export interface Operation {
  method: Method;
  /** As Express has it, with `:name` for a parameter. */
  path: string;
  id: string;
  group: 'Tickets' | 'Notifications' | 'Operations' | 'Pages';
  summary: string;
  description?: string;
  needsKey?: boolean;
  /** What that key must be good for. */
  scope?: Scope;
  parameters?: Parameter[];
  /** A query that a schema validates. */
  query?: { schema: z.ZodType; cures: Cures; examples: Record<string, string> };
  body?: { schema: z.ZodType; cures: Cures; example: Record<string, unknown>; /** Beside JSON, or instead of it. */ form?: boolean | 'only' };
  /** Media types of a body that is taken as it is. */
  binary?: readonly string[];
  answers: Record<number, Answer>;
  /** Codes of problems by status, beside those that every call may have. */
  problems: Record<number, readonly string[]>;
}
