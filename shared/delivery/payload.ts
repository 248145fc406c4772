import type { ContentSnapshot } from '../domain/transitions.ts';
import type { AttemptKey, Channel } from '../domain/words.ts';
import { parseAttemptKey } from '../domain/words.ts';
import type { PolicyStep } from '../domain/policy.ts';
import { onceEach } from '../content/once-each.ts';
import { canonicalText } from '../security/canonical.ts';
import { hexHash } from '../security/chain-hash.ts';
import { open } from '../security/sealing.ts';
import { seal } from '../security/sealing.ts';
import { commitTo } from '../security/commitment.ts';
import type { Sealed } from '../security/sealing.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { KeyRing } from '../security/key-ring.ts';
import { renderAttempt } from '../content/render-attempt.ts';
import type { CarriedArtifact, RenderResult } from '../content/render-attempt.ts';
import type { TemplateVersion } from '../content/template.ts';
import type { Loaded } from '../ledger/load.ts';
import type { BoundVersions } from './versions.ts';
import { templateKey } from './versions.ts';

/** Where the recipient can be reached; sealed under the event's id. */
export interface Addresses {
  ref: string; sms: string | null; email: string | null; consent: string[]; timeZone: string | null; salt: string;
  /** Per channel, the given bases that the policy accepts: what its use rests on. Absent in boxes from before they were kept. */
  bases?: Partial<Record<Channel, string[]>>;
  /** Our senders when it was accepted: they stand in the message, and a deployment may have others by the time somebody makes it again. */
  sender?: { sms: string; email: string };
}

const context = (eventId: string, part: string): string => `${eventId}/${part}`;

/**
 * The secret variables, sealed as a part of their own. The salt goes into the hash of every message rendered from them: once both are
 * destroyed, nobody can find a short code again by trying which one gives the hash in the ledger.
 */
export interface Secrets { values: Record<string, string>; salt: string }

const secretNames = onceEach((bound: BoundVersions): ReadonlySet<string> =>
  new Set([...bound.templates.values()].flatMap((template) => Object.keys(template.variables).filter((name) => template.variables[name]?.secret))));

/** Parts variables into those that a template of the purpose marks as secret, and the rest. */
export const partVariables = (variables: Record<string, string>, bound: BoundVersions): { secret: Record<string, string>; plain: Record<string, string> } => {
  const marked = secretNames(bound);
  if (!Object.keys(variables).some((name) => marked.has(name))) return { secret: {}, plain: variables };
  const only = (secret: boolean) => Object.fromEntries(Object.entries(variables).filter(([name]) => marked.has(name) === secret));
  return { secret: only(true), plain: only(false) };
};

/** Seals a part of a payload for one event; a box of another event or part does not open. */
export const sealPart = (ring: KeyRing, eventId: string, part: string, value: unknown): Sealed => seal(ring, JSON.stringify(value), context(eventId, part));

/** Opens a part of a payload. @throws SealError where it was tampered with or the key is gone. */
export const openPart = <Value>(ring: KeyRing, eventId: string, part: string, sealed: { keyId: string; box: Uint8Array }): Value =>
  JSON.parse(open(ring, sealed, context(eventId, part)).toString('utf8')) as Value;

/** The name under which what a notification carries is sealed among its variables; no variable of a caller can have it. */
const CARRIED = '$artifacts';

/** The variables of a notification together with the reports that it carries. */
export const withCarried = (variables: Record<string, string>, carried: readonly CarriedArtifact[]): Record<string, string> =>
  (carried.length === 0 ? variables : { ...variables, [CARRIED]: JSON.stringify(carried) });

/** Takes apart what `withCarried` put together. */
export const splitCarried = (given: Record<string, string>): { variables: Record<string, string>; carried: CarriedArtifact[] } => {
  if (given[CARRIED] === undefined) return { variables: given, carried: [] };
  const { [CARRIED]: carried, ...variables } = given;
  return { variables, carried: JSON.parse(carried) as CarriedArtifact[] };
};

/** What the message of a step has attached: every report, where the step says that emails of it do and they are small enough together. */
export const attachedTo = (step: PolicyStep, carried: readonly CarriedArtifact[]): readonly CarriedArtifact[] =>
  (step.channel === 'email' && carried.reduce((sum, { bytes }) => sum + bytes, 0) <= (step.attachUpToBytes ?? -1) ? carried : []);

export interface Renderer { ring: KeyRing; sender: { sms: string; email: string }; metrics?: Metrics; monotonic?: () => number }
export type RenderedAttempt = (RenderResult & { content?: ContentSnapshot }) | { ok: false; reason: 'payload_destroyed' | 'no_address'; problem: string };

/** What is kept of a message for the record, where a notification carries reports. */
const snapshotOf = ({ message, locale, segments }: Extract<RenderResult, { ok: true }>, { template, variables, salt }: { template: TemplateVersion; variables: Record<string, string>; salt: string }): ContentSnapshot => ({
  template_owner: template.owner === 'ours' ? template.owner : `${template.owner.provider}:${template.owner.id}`, locale,
  variables_hash: commitTo(hexHash(canonicalText(Object.fromEntries(Object.keys(template.variables).map((name) => [name, variables[name] ?? ''])))), salt),
  ...(message.channel === 'sms' ? { text_hash: commitTo(hexHash(message.text), salt), segments: segments ?? 1 } : {}),
  attachments: message.channel === 'email' ? (message.attachments ?? []).map(({ artifact, sha256: checksum }) => ({ artifact, sha256: checksum })) : [],
});

/** The parts of a payload that a message is made of, in clear. */
export interface OpenedParts { addresses: Addresses; variables: Record<string, string>; secrets: Secrets | null }

const contentOf = ({ variables: given, secrets }: Pick<OpenedParts, 'variables' | 'secrets'>): { variables: Record<string, string>; carried: CarriedArtifact[]; secrets: Secrets | null } => {
  const { variables, carried } = splitCarried(given);
  return { variables: secrets === null ? variables : { ...variables, ...secrets.values }, carried, secrets };
};

/** What a notification has to say: all of its variables, the secret ones among them, and the reports that it carries. Null once any of it was destroyed. */
export const openContent = (ring: KeyRing, loaded: Loaded): { variables: Record<string, string>; carried: CarriedArtifact[]; secrets: Secrets | null } | null => {
  const lacksSecrets = loaded.secrets === null && loaded.state.payload?.parts.includes('secrets') === true;
  if (!loaded.variables || lacksSecrets) return null;
  return contentOf({ variables: openPart(ring, loaded.eventId, 'variables', loaded.variables), secrets: loaded.secrets && openPart(ring, loaded.eventId, 'secrets', loaded.secrets) });
};

/**
 * Renders the message of an attempt as it was or will be planned: the same notification, step and planned instant give the
 * same bytes. Decrypts what it needs; nothing of it is kept.
 */
export const renderFor = (renderer: Renderer, loaded: Loaded, bound: Pick<BoundVersions, 'templates'>, planned: { step: PolicyStep; attemptKey: AttemptKey; plannedAt: number; opened?: OpenedParts }): RenderedAttempt => {
  const { step, attemptKey, plannedAt } = planned;
  const said = planned.opened ? contentOf(planned.opened) : openContent(renderer.ring, loaded);
  if (!loaded.recipient || !said) return { ok: false, reason: 'payload_destroyed', problem: 'the sealed payload was destroyed' };
  const addresses = planned.opened?.addresses ?? openPart<Addresses>(renderer.ring, loaded.eventId, 'recipient', loaded.recipient);
  const to = addresses[step.channel];
  const template = bound.templates.get(templateKey(step.template, step.templateVersion));
  if (to === null || !template) return { ok: false, reason: 'no_address', problem: `no ${step.channel} address` };
  const { variables, carried, secrets } = said;
  const begunAt = renderer.monotonic?.();
  const rendered = renderAttempt({
    template, channel: step.channel, locale: loaded.locale, variables, to, sender: renderer.sender, attemptKey, plannedAt, requestedAt: loaded.requestedAt,
    attachments: attachedTo(step, carried),
  });
  if (begunAt !== undefined) renderer.metrics?.renderSeconds.observe({ channel: step.channel }, Math.max(0, (renderer.monotonic?.() ?? begunAt) - begunAt) / 1_000);
  if (!rendered.ok) return rendered;
  if (carried.length === 0 && !secrets) return rendered;
  const content = carried.length === 0 ? {} : { content: snapshotOf(rendered, { template, variables, salt: secrets?.salt ?? addresses.salt }) };
  return { ...rendered, ...content, ...(secrets ? { hash: commitTo(rendered.hash, secrets.salt) } : {}) };
};

/** The address an attempt goes to; null once erased. */
export const addressOf = (ring: KeyRing, loaded: Loaded, channel: Channel): string | null =>
  (loaded.recipient ? openPart<Addresses>(ring, loaded.eventId, 'recipient', loaded.recipient)[channel] : null);

/** Channel of an attempt key. @throws where it is not one. */
export const channelOf = (attemptKey: AttemptKey): Channel => {
  const parts = parseAttemptKey(attemptKey);
  if (!parts) throw new Error('not an attempt key');
  return parts.channel;
};
