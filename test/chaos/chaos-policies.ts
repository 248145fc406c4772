import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The product's own fence; with it a call may take so long that the ledger's limit has to be wider than in the other audits. */
export const SUBMIT_START_WITHIN_MS = 2_000;
export const PROVIDER_TIMEOUT_MS = 1_500;

const replaced = (text: string, from: RegExp, to: string): string => {
  if (!from.test(text)) throw new Error(`the audits' policy no longer has ${String(from)}`);
  return text.replace(new RegExp(from.source, 'gm'), to);
};

/** Gives the audits' policies in `folder` the fence of the product and a life of `expiresAfterMs`, so that a run ends soon after its last fault. */
export const adjustPolicies = (folder: string, expiresAfterMs: number): void => {
  const path = join(folder, 'game-support-urgent', '1.yaml');
  const text = readFileSync(path, 'utf8');
  const limited = replaced(text, /submit_limit: .*$/m, `submit_limit: ${SUBMIT_START_WITHIN_MS + PROVIDER_TIMEOUT_MS + 1_500}ms`);
  writeFileSync(path, replaced(replaced(limited, /^expires_after: .*$/m, `expires_after: ${Math.round(expiresAfterMs / 1_000)}s`), /^ {4}polls: \[500ms.*$/m, '    polls: [700ms, 2s, 4s]'));
  const routine = join(folder, 'game-support-routine', '1.yaml');
  writeFileSync(routine, replaced(readFileSync(routine, 'utf8'), /submit_limit: .*$/m, 'submit_limit: 5s'));
};
