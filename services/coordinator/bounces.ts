import type { Engine } from '../../shared/delivery/engine.ts';
import { recordReport } from '../../shared/delivery/record-report.ts';
import { EVENTS } from '../../shared/telemetry/events.ts';
import { readDeliveryReport } from '../../shared/transports/smtp/delivery-report.ts';
import { readNewMail } from '../../shared/transports/smtp/maildir.ts';
import { repeat } from './repeat.ts';

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
  const { close } = repeat({
    turn: attend, waitMs: () => EVERY_MS,
    onError: (error) => engine.log.warn({ event: EVENTS.sweepFailed, duty: 'bounces', error: (error as Error).name, code: (error as { code?: string }).code }),
  });
  return { attend, close };
};
