import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { NotificationFields } from '../../services/intake/notification-fields.ts';
import { readCarrying } from '../../services/intake/artifact-references.ts';
import { siteAt } from '../../services/intake/page.ts';
import { acceptNotification } from '../../shared/delivery/accept-notification.ts';
import type { ConsentReference } from '../../shared/delivery/accept-notification.ts';
import { storeArtifact } from '../../shared/delivery/artifacts.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import type { ArtifactRecord } from '../../shared/ledger/artifacts.ts';

export const REPORT_SITE = siteAt('https://tocsin.example.com');
export const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

const DAY_MS = 86_400_000;

/** Stores a report for the tenant `default`. */
export const storeReport = async (engine: Engine, bytes: Buffer): Promise<ArtifactRecord> => {
  const source = async function* () { for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536); };
  const outcome = await storeArtifact(engine, {
    tenant: 'default', source: source(), mediaType: 'application/pdf', maxBytes: 30_000_000, expiresAt: engine.now() + 30 * DAY_MS, expectedSha256: null, requestId: 'store', actor: 'test',
  });
  if (outcome.kind !== 'stored') throw new Error(outcome.kind);
  return outcome.artifact;
};

export interface ReportRecipient { sms: string | null; email: string | null; consent?: ConsentReference[]; locale?: string; region?: string }
export const BOTH: ConsentReference[] = [{ channel: 'email', basis: 'account_holder', reference: 'acct/1' }, { channel: 'sms', basis: 'report_notice', reference: 'consent/7' }];

let count = 0;
/** Accepts an account report as `POST /notifications` does; resolves to its event id. */
export const acceptReport = async (engine: Engine, artifact: ArtifactRecord, { sms, email, consent = BOTH, locale = 'en', region = 'US' }: ReportRecipient): Promise<string> => {
  count += 1;
  const fields: NotificationFields = {
    purpose: 'account-report', variables: { report_title: 'Account report, October' }, expiresAt: null, artifacts: [artifact.artifactId],
    recipient: { ref: `acct-${count}`, sms, email, region, locale, timeZone: null, consent },
  };
  const key = { tenant: 'default', idempotencyKey: `report-${process.pid}-${count}` };
  const carrying = await readCarrying(engine, fields, { ...key, site: REPORT_SITE });
  const outcome = await acceptNotification(engine, { ...key, ...carrying, fingerprintOf: fields, purpose: fields.purpose, recipient: fields.recipient, expiresAt: null, requestId: `req-${count}`, actor: 'test', ticket: null });
  if (outcome.kind !== 'accepted') throw new Error(outcome.kind);
  return outcome.eventId;
};

/** The files of a store. */
export const artifactFiles = async (dir: string): Promise<string[]> =>
  (await readdir(dir, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
