import type { Channel, EventId } from '../domain/words.ts';
import { findArtifacts } from '../ledger/artifacts.ts';
import type { ArtifactRecord } from '../ledger/artifacts.ts';
import { readNotification } from '../ledger/reads.ts';
import type { OpenReportLink, ReportBounds, ReportVisit } from '../ledger/report-links.ts';
import { findOpenReportLink, issueReportCode, nameCodeEvent, redeemReportCode } from '../ledger/report-links.ts';
import { fingerprint } from '../security/fingerprint.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { generateCode, hashToken } from '../security/tokens.ts';
import { acceptNotification } from './accept-notification.ts';
import type { AcceptRequest } from './accept-notification.ts';
import type { Engine } from './engine.ts';
import { openPart } from './payload.ts';
import type { Addresses } from './payload.ts';

/** The variable by which a channel's message names its link; a template that declares one gets one. */
export const LINK_VARIABLES: Readonly<Record<Channel, string>> = { sms: 'report_url_sms', email: 'report_url_email' };

/** The purpose under which codes are sent. */
export const CODE_PURPOSE = 'report-code';
const CODE_LIVES_MS = 10 * 60_000;
/** A code that was made this recently is not replaced: it may still be on its way. */
const CODE_RESTS_MS = 30_000;

/** In all its life a link bears at most 50 wrong tries: against six digits, one chance in 20,000. */
export const REPORT_BOUNDS: ReportBounds = { triesPerCode: 5, triesEver: 50, codesEver: 20 };

/**
 * The token of a notification's link on a channel: a keyed fingerprint, so that each render of the message comes to the same one, although
 * only its hash is stored.
 */
export const reportToken = (ring: KeyRing, eventId: EventId, channel: Channel): string =>
  fingerprint(ring, 'report-link', JSON.stringify([eventId, channel])).toString('base64url');

/** What is stored of a code: keyed, and bound to its link, for six digits are soon tried out. */
const codeHashOf = (ring: KeyRing, token: string, code: string): Buffer => fingerprint(ring, 'report-code', JSON.stringify([token, code]));

/** By which channel the code for a link is sent: never by the one that the link came by. */
export const OTHER_CHANNEL: Readonly<Record<Channel, Channel>> = { sms: 'email', email: 'sms' };

/** The notification that carries a code: to the same recipient, by the other channel alone, under the consents given for it. */
const codeRequest = async (engine: Engine, link: OpenReportLink, { code, requestId }: { code: string; requestId: string }): Promise<AcceptRequest | null> => {
  const [record, loaded] = await Promise.all([readNotification(engine.db, { eventId: link.eventId }), engine.load(link.eventId)]);
  if (!record || !loaded?.recipient || loaded.state.closed) return null;
  const addresses = openPart<Addresses>(engine.ring, link.eventId, 'recipient', loaded.recipient);
  const channel = OTHER_CHANNEL[link.channel];
  const address = addresses[channel];
  if (address === null) return null;
  const consent = (record.consentReferences as string[]).flatMap((text) => {
    const [of, basis = ''] = text.split(':');
    return of === channel ? [{ channel, basis, reference: link.eventId }] : [];
  });
  return {
    tenant: record.tenant, idempotencyKey: `${CODE_PURPOSE}:${link.linkId}:${link.codes}`, fingerprintOf: { link: link.linkId, number: link.codes }, purpose: CODE_PURPOSE,
    recipient: { ref: addresses.ref, sms: null, email: null, [channel]: address, region: record.region, locale: record.locale, timeZone: addresses.timeZone, consent },
    variables: () => ({ code }), expiresAt: null, artifacts: [], requestId, actor: 'report-link', ticket: null,
  };
};

/**
 * Sends a fresh single-use code for a link by the other channel than the link's, where there is such a link and it may have one. Says
 * nothing of it: whoever asks is told the same in every case. Null where nothing was sent.
 */
export const sendReportCode = async (engine: Engine, token: string, requestId: string): Promise<EventId | null> => {
  const now = engine.now();
  const link = await findOpenReportLink(engine.db, { tokenHash: hashToken(token), now, lastCodeUntil: now + CODE_LIVES_MS - CODE_RESTS_MS, bounds: REPORT_BOUNDS });
  if (!link) return null;
  const code = generateCode();
  const request = await codeRequest(engine, link, { code, requestId });
  // Valid before it is sent: it must open when it arrives, and one that never arrives lapses by itself.
  if (!request || !(await issueReportCode(engine.db, link, { codeHash: codeHashOf(engine.ring, token, code), until: now + CODE_LIVES_MS }))) return null;
  const outcome = await acceptNotification(engine, request);
  if (outcome.kind !== 'accepted') return null;
  await nameCodeEvent(engine.db, link.linkId, outcome.eventId);
  return outcome.eventId;
};

/** The report that a link and its code open, once; null in every other case, each of which costs the same. */
export const openReport = async (engine: Engine, visit: ReportVisit, { token, code }: { token: string; code: string }): Promise<ArtifactRecord | null> => {
  const opened = await redeemReportCode(engine.db, visit, { codeHash: codeHashOf(engine.ring, token, code), bounds: REPORT_BOUNDS });
  return opened && ((await findArtifacts(engine.db, [opened.artifactId]))[0] ?? null);
};
