import { redactText } from '../../shared/security/redact.ts';

/** What one check found. A `note` is worth knowing and no fault. */
export interface Finding { name: string; verdict: 'ok' | 'fault' | 'note'; text: string; cure?: string }

export const ok = (name: string, text: string): Finding => ({ name, verdict: 'ok', text });
export const note = (name: string, text: string, cure?: string): Finding => ({ name, verdict: 'note', text, ...(cure === undefined ? {} : { cure }) });
export const fault = (name: string, text: string, cure: string): Finding => ({ name, verdict: 'fault', text, cure });

/** The message of an error, without what it may quote. */
export const wordsOf = (error: unknown): string => redactText(error instanceof Error ? error.message || error.name : 'it failed without a reason');
