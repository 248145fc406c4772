import type { Engine } from '../../shared/delivery/engine.ts';
import { recordReport } from '../../shared/delivery/record-report.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { readDeliveryReport } from '../../shared/transports/smtp/delivery-report.ts';
import { readNewMail } from '../../shared/transports/smtp/maildir.ts';

const EVERY_MS = 5_000;

export interface BounceDuty {
  /** Reads what is new in the mailbox. Rejects where it cannot be read. */
  attend: () => Promise<void>;
  close: () => Promise<void>;
}

/**
 * Reads the mailbox that delivery reports come to, a Maildir: each report that names an attempt of ours exactly is recorded, everything else is marked as
 * seen and changes nothing. Its log names no address.
 */
export const startBounceDuty = ({ engine, folder, actor }: { engine: Engine; folder: string; actor: string }): BounceDuty => {
  const handle = async (raw: Buffer): Promise<void> => {
    const report = await readDeliveryReport(raw);
    const outcome = report ? await recordReport(engine, report, { actor }) : null;
    engine.log.info({ event: EVENTS.reportRead, outcome: outcome?.kind ?? 'no_report', ...(outcome?.kind === 'recorded' ? { attempt: outcome.attempt } : {}) });
  };
  const attend = async (): Promise<void> => { await readNewMail(folder, handle); };

  let closed = false;
  let running: Promise<void> = Promise.resolve();
  let timer: NodeJS.Timeout;
  const layNext = (): void => {
    if (closed) return;
    timer = setTimeout(() => {
      running = attend().catch((error: unknown) => { engine.log.warn({ event: EVENTS.sweepFailed, duty: 'bounces', error: (error as Error).name, code: (error as { code?: string }).code }); }).finally(layNext);
    }, EVERY_MS);
    timer.unref();
  };
  layNext();
  return {
    attend,
    close: async () => {
      closed = true;
      clearTimeout(timer);
      await running;
    },
  };
};
