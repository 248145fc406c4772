import type { Channel, EventId } from '../domain/words.ts';
import { attemptKeyOf } from '../domain/words.ts';
import { isTimeZone, offsetAt } from '../content/time-zones.ts';
import { findRenderProblem } from '../content/render-attempt.ts';
import type { CarriedArtifact, RenderProblem } from '../content/render-attempt.ts';
import type { ReasonCode } from '../domain/reasons.ts';
import { decide } from '../domain/decide.ts';
import { shortestExpiryMs } from '../domain/lifecycle.ts';
import type { ProviderStates } from '../domain/provider-state.ts';
import { namedBases } from '../domain/policy.ts';
import { preconditionRule } from '../domain/precondition.ts';
import { emptyState } from '../domain/state.ts';
import type { PublicStatus } from '../domain/words.ts';
import { publicReason, publicStatus } from '../domain/status.ts';
import type { PublicReason } from '../domain/status.ts';
import { canonicalText } from '../security/canonical.ts';
import { contentHash } from '../security/chain-hash.ts';
import { commitTo } from '../security/commitment.ts';
import { fingerprint } from '../security/fingerprint.ts';
import { hashToken } from '../security/tokens.ts';
import { toAppend } from '../ledger/rows.ts';
import type { NewNotification } from '../ledger/accept-group.ts';
import type { Loaded } from '../ledger/load.ts';
import { loadedWith } from '../ledger/load.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import { countDecision, regionLabel } from './count-decision.ts';
import type { Engine } from './engine.ts';
import type { Grasp } from './hands.ts';
import { noHands, openGrasp } from './hands.ts';
import type { Addresses, OpenedParts } from './payload.ts';
import { attachedTo, partVariables, renderFor, sealPart, withCarried } from './payload.ts';
import type { BoundVersions } from './versions.ts';
import { templateKey } from './versions.ts';
import { logDecision } from './log-decision.ts';
import { decideAndAppend } from './decide-and-append.ts';
import { abandonIfLanded } from './never-called.ts';
import { passOnMoves } from './pass-on-moves.ts';
import { passOnQuestion } from './pass-on-question.ts';
import { addressPrint, eligibilityOf, sendersFor, throttlesAt } from './suppression.ts';

/** A consent or lawful basis under which a channel may be used, and where its record is kept. */
export interface ConsentReference { channel: Channel; basis: string; reference: string }

/** A ticket to be kept beside the notification that it causes. */
export interface TicketRecordRequest {
  category: string; region: string; locale: string; queue: string; urgency: 'urgent' | 'routine';
  /** What the player wrote and gave; sealed. */
  sealed: { message: string; playerRef: string; contact: { sms: string | null; email: string | null } };
  /** Token of the receipt page; stored as its hash. */
  receiptToken: string;
}

/** A link to a report, as its message has it; only the token's hash is stored. */
export interface ReportLinkRequest { token: string; channel: Channel; artifactId: string; expiresAt: number }

/** An intent as a caller hands it over. Addresses are normalised, variables are strings. */
export interface AcceptRequest {
  tenant: string;
  /** Already scoped, e.g. by player. */
  idempotencyKey: string;
  /** What must be the same for a replay: the caller's body. */
  fingerprintOf: unknown;
  purpose: string;
  recipient: { ref: string; sms: string | null; email: string | null; region: string; locale: string; timeZone: string | null; consent: ConsentReference[] };
  /** Made from the event's id, which a template may have to name in a link. */
  variables: (eventId: EventId) => Record<string, string>;
  expiresAt: number | null;
  artifacts: string[];
  /** Where the origin system is asked, checked; absent or null where it is not. Counts only where the policy asks. */
  preconditionUrl?: string | null;
  /** What is known of these artifacts; the caller has checked that they are the tenant's and outlive the notification. */
  carried?: readonly CarriedArtifact[];
  /** Links to the first of them, one for each channel that names one in its message. */
  reportLinks?: (eventId: EventId) => ReportLinkRequest[];
  requestId: string;
  actor: string;
  ticket: TicketRecordRequest | null;
}

export type AcceptOutcome =
  | { kind: 'accepted'; eventId: EventId; status: PublicStatus; why: PublicReason | null; receivedAt: number }
  /** The same key and body came before. */
  | { kind: 'replayed'; eventId: EventId }
  /** The same key came with another body. */
  | { kind: 'conflict'; eventId: EventId }
  | { kind: 'unknown_purpose'; known: string[] }
  | { kind: 'expiry_too_short'; leastMs: number }
  /** Messages of these steps' templates cannot be rendered from these variables. */
  | { kind: 'not_renderable'; unfit: readonly Unfit[] };

/** Per channel, the given bases that the policy accepts for it; all of them where it has no rule. */
const basesOf = ({ recipient }: AcceptRequest, { policy }: BoundVersions): Partial<Record<Channel, string[]>> => {
  const rules = policy.regions[recipient.region]?.consent ?? {};
  return Object.fromEntries(policy.steps.map(({ channel }) => [
    channel, recipient.consent.filter((one) => one.channel === channel && (rules[channel]?.includes(one.basis) ?? true)).map(({ basis }) => basis),
  ]));
};

const barredChannels = (request: AcceptRequest, bound: BoundVersions, bases: Partial<Record<Channel, string[]>>): Partial<Record<Channel, ReasonCode>> => {
  const barred: Partial<Record<Channel, ReasonCode>> = {};
  const rules = bound.policy.regions[request.recipient.region]?.consent ?? {};
  for (const { channel } of bound.policy.steps) {
    if (request.recipient[channel] === null) barred[channel] = 'no_address';
    else if (rules[channel] !== undefined && bases[channel]?.length === 0) barred[channel] = 'no_consent';
  }
  return barred;
};

/** A template whose message cannot be made, and why. */
type Unfit = RenderProblem & { template: string };

/** Why a message could not be rendered, by its step; of those that were rendered in the acceptance itself, null where nothing was wrong. */
type Rendered = ReadonlyMap<number, RenderProblem | null>;

/**
 * What keeps the steps' messages from being rendered, all of it, found before anything is accepted: a later step that fails only once it is
 * needed would be a fallback that never was one. What the acceptance renders itself is not rendered twice. A step in shadow refuses nothing.
 */
const findUnrenderable = (engine: Engine, request: AcceptRequest, { bound, eventId, rendered }: { bound: BoundVersions; eventId: EventId; rendered: Rendered }): Extract<AcceptOutcome, { kind: 'not_renderable' }> | null => {
  const unfit: Unfit[] = [];
  for (const [index, step] of bound.policy.steps.entries()) {
    const to = request.recipient[step.channel];
    const template = bound.templates.get(templateKey(step.template, step.templateVersion));
    if (to === null || !template || step.shadow) continue;
    const known = rendered.get(index);
    const problem = known !== undefined ? known : findRenderProblem({
      template, channel: step.channel, locale: request.recipient.locale, variables: request.variables(eventId), to, sender: engine.sender,
      attemptKey: attemptKeyOf(eventId, step.channel, 1), plannedAt: engine.now(), attachments: attachedTo(step, request.carried ?? []),
    });
    if (problem !== null) unfit.push({ template: `${template.name}/${template.version}`, ...problem });
  }
  return unfit.length === 0 ? null : { kind: 'not_renderable', unfit };
};

const areClosed = (providers: ProviderStates): boolean => Object.values(providers).every(({ state }) => state === 'closed');

/** Everything that one acceptance writes, where so much of the recipient is suppressed. */
const prepare = (engine: Engine, request: AcceptRequest, bound: BoundVersions, { requestFingerprint, suppressed, grasp }: { requestFingerprint: Buffer; suppressed: readonly string[]; grasp: Grasp | null }) => {
  const now = engine.now();
  const { policy } = bound;
  const eventId: EventId = engine.mint.eventId(now);
  const { recipient } = request;
  const expiresAt = request.expiresAt ?? now + policy.expiresAfterMs;
  const bases = basesOf(request, bound);
  const addresses: Addresses = {
    sender: engine.sender, bases, ref: recipient.ref, sms: recipient.sms, email: recipient.email, consent: recipient.consent.map((one) => one.reference), timeZone: recipient.timeZone, salt: engine.mint.salt(),
  };
  const commitment = commitTo({ ref: recipient.ref, sms: recipient.sms, email: recipient.email }, addresses.salt);
  const { secret, plain } = partVariables(request.variables(eventId), bound);
  const opened: OpenedParts = { addresses, variables: withCarried(plain, request.carried ?? []), secrets: Object.keys(secret).length === 0 ? null : { values: secret, salt: engine.mint.salt() } };
  const variables = sealPart(engine.ring, eventId, 'variables', opened.variables);
  const secrets = opened.secrets && sealPart(engine.ring, eventId, 'secrets', opened.secrets);
  const rule = request.preconditionUrl ? preconditionRule(policy) : null;
  const precondition = rule === null ? null : sealPart(engine.ring, eventId, 'precondition', { url: request.preconditionUrl });
  const throttles = throttlesAt(policy, now);
  const sealedRecipient = sealPart(engine.ring, eventId, 'recipient', addresses);
  const templateVersions = policy.steps.map((step, index) => ({ step: index, template: step.template, version: step.templateVersion }));
  const named = namedBases(policy);
  const consentReferences = recipient.consent.map((one) => `${one.channel}:${named.has(one.basis) ? one.basis : 'other'}`);
  const intent = canonicalText({
    event_id: eventId, tenant: request.tenant, idempotency_key_hash: fingerprint(engine.ring, 'idempotency-key', request.idempotencyKey).toString('hex'),
    request_fingerprint: requestFingerprint.toString('hex'), purpose: policy.purpose, policy_version: policy.version, template_versions: templateVersions,
    region: recipient.region, locale: recipient.locale, urgency: policy.urgency, classification: policy.classification, requested_at: now,
    expires_at: expiresAt, recipient_commitment: commitment, consent_references: consentReferences, artifact_references: request.artifacts, request_id: request.requestId,
  });
  const intentHash = contentHash(intent);
  const loaded: Loaded = {
    eventId, state: emptyState(eventId), headHash: intentHash, locale: recipient.locale, requestedAt: now, region: recipient.region, recipient: sealedRecipient, variables, suppressed, secrets, providers: undefined,
  };
  // What may start at once rests on a provider's state, which the acceptance then compares.
  const providers = grasp === null ? undefined : engine.recent.providers();
  const renderedSteps = new Map<number, RenderProblem | null>();
  const decision = decide(
    {
      kind: 'accept', intent: {
        region: recipient.region, requestedAt: now, expiresAt: request.expiresAt, barred: barredChannels(request, bound, bases), recipientCommitment: commitment,
        timeZone: recipient.timeZone !== null && isTimeZone(recipient.timeZone) ? recipient.timeZone : null,
        payloadParts: [...(secrets ? ['secrets'] as const : []), 'variables', 'addresses', ...(precondition ? ['precondition'] as const : [])],
        ...(rule === null ? {} : { onPreconditionError: rule }),
      },
    },
    loaded.state,
    {
      now, random: engine.random, policy, carriers: engine.carriers, ...(grasp !== null && providers !== undefined && areClosed(providers) ? { providers, takes: grasp.takes } : {}), eligibility: eligibilityOf(sendersFor(engine, policy), loaded, (channel) => bases[channel] ?? null), offsetAt,
      render: (planned) => {
        const rendered = renderFor(engine, loaded, bound, { ...planned, opened });
        if (rendered.ok) grasp?.rendered(planned.attemptKey, rendered.message);
        renderedSteps.set(policy.steps.indexOf(planned.step), rendered.ok ? null : { problem: rendered.problem, faults: 'faults' in rendered ? rendered.faults : [] });
        return rendered.ok ? { ok: true, hash: rendered.hash, ...(rendered.content ? { content: rendered.content } : {}) } : { ok: false, reason: rendered.reason };
      },
    });
  const print = (channel: Channel, value: string | null): Buffer | null => (value === null ? null : addressPrint(engine.ring, channel, value));
  const notification: NewNotification = {
    append: toAppend(decision, { before: loaded.state, prevHash: intentHash, provenance: { actor: request.actor, requestId: request.requestId }, policy, senders: sendersFor(engine, policy).senderPrints, barring: suppressed }),
    tenant: request.tenant, idempotencyKey: request.idempotencyKey, requestFingerprint, purpose: policy.purpose, policyVersion: policy.version,
    templateVersions, region: recipient.region, locale: recipient.locale, urgency: policy.urgency, classification: policy.classification,
    requestedAt: now, expiresAt, retentionUntil: now + policy.retentionMs, recipientCommitment: commitment, consentReferences,
    artifactReferences: request.artifacts, requestId: request.requestId, intent, intentHash, variables, secrets, precondition, presumed: suppressed, ...(throttles.length > 0 ? { throttles } : {}),
    recipient: { ...sealedRecipient, referencePrint: fingerprint(engine.ring, 'recipient-ref', recipient.ref), smsPrint: print('sms', recipient.sms), emailPrint: print('email', recipient.email) },
    ...(request.reportLinks ? { reportLinks: request.reportLinks(eventId).map(({ token, ...link }) => ({ ...link, tokenHash: hashToken(token) })) } : {}),
    ticket: request.ticket && {
      ...sealPart(engine.ring, eventId, 'ticket', request.ticket.sealed), category: request.ticket.category, region: request.ticket.region, locale: request.ticket.locale,
      queue: request.ticket.queue, urgency: request.ticket.urgency, receiptTokenHash: hashToken(request.ticket.receiptToken),
    },
  };
  const { state, transitions } = decision;
  const isGone = transitions.some(({ transition }) => transition.kind === 'PayloadDestroyed');
  return { eventId, now, decision, notification, rendered: renderedSteps, after: isGone ? null : loadedWith(loaded, { state, headHash: notification.append.headHash, providers }) };
};

/** Why an intent cannot be accepted as it stands; null where it can. */
const refusalOf = async (engine: Engine, request: AcceptRequest, bound: BoundVersions | null): Promise<AcceptOutcome | null> => {
  if (!bound) return { kind: 'unknown_purpose', known: await engine.versions.purposes() };
  const leastMs = shortestExpiryMs(bound.policy);
  if (request.expiresAt !== null && request.expiresAt - engine.now() < leastMs) return { kind: 'expiry_too_short', leastMs };
  return null;
};

const MOST_ROUNDS = 10;

/** Nothing is taken to be suppressed until the ledger says so: it is asked together with the acceptance, not before. */
const acceptUnlessSuppressed = async (engine: Engine, request: AcceptRequest, bound: BoundVersions, { requestFingerprint, grasp }: { requestFingerprint: Buffer; grasp: Grasp | null }) => {
  let suppressed: readonly string[] = [];
  for (let tries = 0; tries < MOST_ROUNDS; tries += 1) {
    // Once, what was known of provider and destination was out of date: then it is accepted first, and started like any other.
    const { notification, rendered, ...prepared } = prepare(engine, request, bound, { requestFingerprint, suppressed, grasp: tries === 0 ? grasp : null });
    // A ticket is never refused for a template's sake: what cannot be rendered becomes a dead letter, and the ticket is kept.
    const refusal = request.ticket === null ? findUnrenderable(engine, request, { bound, eventId: prepared.eventId, rendered }) : null;
    if (refusal) return { refusal };
    const accepted = await engine.accept(notification).catch((error: unknown) => {
      abandonIfLanded(engine, error, { decision: prepared.decision, append: notification.append, actor: request.actor, record: decideAndAppend });
      throw error;
    });
    if (accepted.kind !== 'suppressed') return { refusal: null, accepted, ...prepared };
    suppressed = accepted.suppressed;
  }
  throw new Error(`the suppression list changed under ${MOST_ROUNDS} acceptances in a row`);
};

const accept = async (engine: Engine, request: AcceptRequest, grasp: Grasp | null): Promise<AcceptOutcome> => {
  const requestFingerprint = fingerprint(engine.ring, 'request', canonicalText(request.fingerprintOf));
  const replay = (found: { eventId: string; requestFingerprint: Buffer }): AcceptOutcome =>
    ({ kind: found.requestFingerprint.equals(requestFingerprint) ? 'replayed' : 'conflict', eventId: found.eventId });
  const bound = await engine.versions.active(request.purpose);
  const refusal = await refusalOf(engine, request, bound);
  // What was accepted once stays accepted, also when it would be refused by now (its expiry is near, its purpose is gone).
  const refuse = async (outcome: AcceptOutcome): Promise<AcceptOutcome> => {
    const known = await engine.ledger.findByIdempotencyKey(request.tenant, request.idempotencyKey);
    return known ? replay(known) : outcome;
  };
  if (refusal || !bound) return refuse(refusal as AcceptOutcome);
  const tried = await acceptUnlessSuppressed(engine, request, bound, { requestFingerprint, grasp });
  if (tried.refusal) return refuse(tried.refusal);
  const { accepted, eventId, now, decision, after } = tried;
  if (accepted.kind === 'exists') return replay(accepted);
  faultPoint('intake-committed');
  logDecision(engine.log, decision);
  countDecision(engine.metrics, decision, { before: emptyState(eventId), region: regionLabel(bound.policy, request.recipient.region) });
  if (after) engine.recent.keep(after);
  grasp?.submit(decision, after);
  passOnMoves(engine, decision);
  passOnQuestion(engine, decision);
  return { kind: 'accepted', eventId, status: publicStatus(decision.state), why: publicReason(decision.state), receivedAt: now };
};

/**
 * Accepts an intent: notification, first entries, sealed payload, ticket and outbox rows in one transaction, or nothing of
 * them. Under an idempotency key that was used before, the same request is a replay and another one a conflict. Rejects where
 * the database is away; nothing is accepted then.
 */
export const acceptNotification = async (engine: Engine, request: AcceptRequest): Promise<AcceptOutcome> => {
  const grasp = engine.hands === noHands ? null : openGrasp(engine);
  const outcome = await accept(engine, request, grasp).finally(() => grasp?.leave());
  engine.metrics.acceptances.inc({ outcome: outcome.kind });
  return outcome;
};
