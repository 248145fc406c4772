import { readSandboxConfig } from '../shared/config/sandbox-config.ts';
import { startSandbox } from '../services/sandbox/sandbox.ts';

/** The product's own stand-in for the providers, with statuses that are there at the first poll. Told what to do by its parent. */
const sandbox = await startSandbox({ ...readSandboxConfig({ SANDBOX_PORT: '0', SANDBOX_SMTP_PORT: '0' }), schedule: { sentMs: 0, deliveredMs: 1, undeliveredMs: 1, lateMs: 60_000 } });
let receipts: [attemptKey: string, receivedAt: number][] = [];
sandbox.onReceipt((receipt) => { if (receipt.kind === 'accepted' && receipt.attemptKey !== null) receipts.push([receipt.attemptKey, receipt.receivedAt]); });

process.on('message', (asked: { id: number; ask: 'receipts' | 'clear' }) => {
  if (asked.ask === 'receipts') process.send?.({ id: asked.id, receipts, duplicates: sandbox.duplicates().length });
  receipts = [];
  void sandbox.clearMessages().then(() => { if (asked.ask === 'clear') process.send?.({ id: asked.id, receipts: [], duplicates: 0 }); });
});
process.once('disconnect', () => void sandbox.close());
process.send?.({ ready: true, http: sandbox.httpUrl, smtp: sandbox.smtpUrl });
