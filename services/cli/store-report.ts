import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { ReportFile } from './demo.ts';
import { Refusal, UsageError } from './refusal.ts';

const TYPES: Readonly<Record<string, string>> = { '.pdf': 'application/pdf', '.csv': 'text/csv', '.txt': 'text/plain', '.json': 'application/json', '.zip': 'application/zip' };

/** Reads a report from disk; its ending says what it is. @throws UsageError. */
export const readReport = async (path: string): Promise<ReportFile> => {
  const type = TYPES[extname(path).toLowerCase()];
  if (type === undefined) throw new UsageError(`--report must end in one of ${Object.keys(TYPES).join(', ')}`, '--report');
  try {
    return { bytes: await readFile(path), type };
  } catch {
    throw new UsageError(`--report ${path} cannot be read`, '--report');
  }
};

/** Stores a report at the intake; resolves to its artifact. @throws Refusal where the intake refuses or gives no answer. */
export const storeReport = async (url: string, apiKey: string, { bytes, type }: ReportFile): Promise<string> => {
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`;
  const response = await fetch(`${url}/artifacts`, { method: 'POST', redirect: 'error', headers: { authorization: `Bearer ${apiKey}`, 'content-type': type, 'content-digest': digest }, body: new Uint8Array(bytes) })
    .catch(() => { throw new Refusal(`the intake at ${new URL(url).origin} gave no answer; nothing was sent`, { code: 'intake_away', cure: 'start Tocsin (npm start) or correct --url' }); });
  const answer = await response.json().catch(() => ({})) as { artifact?: string; code?: string; detail?: string };
  if (response.ok && answer.artifact !== undefined) return answer.artifact;
  throw new Refusal(`the report was refused (${response.status}): ${answer.detail ?? 'the intake gave no reason'}`, { code: answer.code ?? `http_${response.status}`, field: '--report' });
};
