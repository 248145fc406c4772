import type { CarriedArtifact } from '../../shared/content/render-attempt.ts';
import type { AcceptRequest } from '../../shared/delivery/accept-notification.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { CODE_PURPOSE, LINK_VARIABLES, reportToken } from '../../shared/delivery/report-links.ts';
import type { BoundVersions } from '../../shared/delivery/versions.ts';
import type { Channel } from '../../shared/domain/words.ts';
import type { ArtifactRecord } from '../../shared/ledger/artifacts.ts';
import { findArtifacts } from '../../shared/ledger/artifacts.ts';
import { refuseUnlessAccepted } from './accepted-before.ts';
import type { NotificationFields } from './notification-fields.ts';
import type { Site } from './page.ts';
import type { Problem } from './problem.ts';
import { faultyFields } from './problem.ts';
import { unreachableReports } from './report-reach.ts';

/** What a request has to say of its artifacts to be accepted. */
export type Carrying = Pick<AcceptRequest, 'artifacts' | 'carried' | 'reportLinks' | 'variables'>;

/** Channels whose message names a link to the report. */
const linkedChannels = ({ policy, templates }: BoundVersions): Channel[] =>
  policy.steps.filter(({ channel, template }) => [...templates.values()].some((one) => one.name === template && Object.hasOwn(one.variables, LINK_VARIABLES[channel]))).map(({ channel }) => channel);

const carriesReports = (bound: BoundVersions): boolean => linkedChannels(bound).length > 0 || bound.policy.steps.some(({ attachUpToBytes }) => attachUpToBytes !== undefined);

/** Variables of the links that are made here, and that no request may give. */
export const madeHere = (bound: BoundVersions): string[] => (carriesReports(bound) ? Object.values(LINK_VARIABLES) : []);

const unprocessable = (field: string, [problem, cure]: readonly [string, string], code: string): Problem => faultyFields([{ field, problem, cure }], code, 422);

const refusalOf = (fields: NotificationFields, bound: BoundVersions, found: { artifacts: readonly ArtifactRecord[]; tenant: string; now: number }): Problem | null => {
  const { artifacts = [] } = fields;
  const given = madeHere(bound).find((name) => Object.hasOwn(fields.variables, name));
  if (given !== undefined) return unprocessable(`variables.${given}`, ['is made here', 'leave it out'], 'unknown_variable');
  if (artifacts.length > 0 && !carriesReports(bound)) return unprocessable('artifacts', ['are carried by no message of this purpose', 'leave them out, or name a purpose such as account-report'], 'artifacts_not_carried');
  if (artifacts.length === 0) return carriesReports(bound) ? unprocessable('artifacts', ['are missing', 'store the report with POST /artifacts, and give its artifact here'], 'artifact_required') : null;
  const expiresAt = fields.expiresAt ?? found.now + bound.policy.expiresAfterMs;
  for (const [index, id] of artifacts.entries()) {
    const artifact = found.artifacts.find(({ artifactId }) => artifactId === id);
    // One answer for what never was, what is gone, and what is another tenant's.
    if (!artifact?.sealed || artifact.tenant !== found.tenant) return unprocessable(`artifacts.${index}`, ['is not stored for this account', 'store it with POST /artifacts, and give the artifact of the answer'], 'artifact_unknown');
    if (artifact.expiresAt < expiresAt) return unprocessable(`artifacts.${index}`, ['expires before the notification does', 'store it again with a later expires_at: it then lives longer'], 'artifact_expires_too_soon');
  }
  return null;
};

const carriedOf = ({ artifactId: artifact, sha256, bytes, mediaType: type }: ArtifactRecord): CarriedArtifact => ({ artifact, sha256, bytes, type });

const NOTHING = (fields: NotificationFields): Carrying => ({ artifacts: fields.artifacts ?? [], variables: () => fields.variables });

const unreachable = async (engine: Engine, { recipient }: NotificationFields, bound: BoundVersions, artifacts: readonly ArtifactRecord[]): Promise<Problem | null> => {
  if (artifacts.length === 0) return null;
  const faults = unreachableReports(recipient, artifacts.map(carriedOf), { bound, codes: await engine.versions.active(CODE_PURPOSE) });
  return faults.length > 0 ? faultyFields(faults, 'report_unreachable', 422) : null;
};

/**
 * Reads what a request says of its reports: that they are there, this tenant's, outlive the notification, and can be opened by whoever gets a link; and makes the links. What was
 * accepted once under the key stays accepted, also when a report has expired since.
 * @throws Problem 422. An unknown purpose passes: it is told as what it is.
 */
export const readCarrying = async (engine: Engine, fields: NotificationFields, { site, tenant, idempotencyKey }: { site: Site; tenant: string; idempotencyKey: string }): Promise<Carrying> => {
  const bound = await engine.versions.active(fields.purpose);
  if (!bound) return NOTHING(fields);
  const artifacts = fields.artifacts ? await findArtifacts(engine.db, fields.artifacts) : [];
  const refusal = refusalOf(fields, bound, { artifacts, tenant, now: engine.now() }) ?? await unreachable(engine, fields, bound, artifacts);
  if (refusal) {
    await refuseUnlessAccepted(engine, { tenant, idempotencyKey }, refusal);
    return NOTHING(fields);
  }
  const [report] = artifacts;
  if (!report) return NOTHING(fields);
  const channels = linkedChannels(bound);
  // A code goes to an address: the link ends no later than the addresses do.
  const expiresAt = Math.min(report.expiresAt, engine.now() + bound.policy.retentionMs);
  return {
    artifacts: artifacts.map(({ artifactId }) => artifactId), carried: artifacts.map(carriedOf),
    variables: (eventId) => ({ ...fields.variables, ...Object.fromEntries(channels.map((channel) => [LINK_VARIABLES[channel], `${site.publicUrl}/reports/${reportToken(engine.ring, eventId, channel)}`])) }),
    reportLinks: (eventId) => channels.map((channel) => ({ token: reportToken(engine.ring, eventId, channel), channel, artifactId: report.artifactId, expiresAt })),
  };
};
