import { createHash } from 'node:crypto';
import { canonicalText } from '../security/canonical.ts';
import type { TemplateTerms } from './template.ts';

/** What a conversation goes by: nothing of the recipient, who has it in a mailbox of their own, and nothing secret. */
export interface ThreadOf { variables: Readonly<Record<string, string>>; requestedAt: number }

/**
 * The message that all mails of one conversation answer, as far as a mail program can see: the left side of a Message-ID (RFC 5322, 3.6.4)
 * that no mail has. A hash of the values and of the window in which the notification was asked for, so the same on every retry and in every
 * process, and readable by nobody. Templates of different urgency have different subjects, and those keep them apart.
 */
export const threadOf = ({ by, withinMs }: NonNullable<TemplateTerms['thread']>, { variables, requestedAt }: ThreadOf): string => {
  const content = { by: by.map((name) => [name, variables[name] ?? '']), window: Math.floor(requestedAt / withinMs), within: withinMs };
  return `thread.${createHash('sha256').update(canonicalText(content), 'utf8').digest('hex').slice(0, 32)}`;
};
