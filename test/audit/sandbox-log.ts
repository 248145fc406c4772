import { readFile } from 'node:fs/promises';

/** One submission as the provider received it. */
export interface ProviderReceipt { kind: 'accepted' | 'refused'; channel: 'sms' | 'email'; attemptKey: string | null; receivedAt: number; contentSha256: string; behaviour: string }

/** The sandbox's record on disk, in order of arrival. A torn last line was never answered, so it does not count. */
export const readSandboxLog = async (path: string): Promise<ProviderReceipt[]> => {
  const text = await readFile(path, 'utf8').catch(() => '');
  return text.slice(0, text.lastIndexOf('\n') + 1).split('\n').filter((line) => line !== '').flatMap((line) => {
    const { receipt } = JSON.parse(line) as { receipt?: ProviderReceipt };
    return receipt ? [receipt] : [];
  });
};

/** `evt_….sms.1` -> event, channel and sequence; null for what is no attempt key. */
export const partsOf = (attemptKey: string | null): { eventId: string; channel: string } | null => {
  const match = /^(evt_[0-9A-Z]+)\.(sms|email)\.\d+$/.exec(attemptKey ?? '');
  return match ? { eventId: match[1] as string, channel: match[2] as string } : null;
};
