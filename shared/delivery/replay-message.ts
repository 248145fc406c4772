import type { PolicyStep } from '../domain/policy.ts';
import type { AttemptKey, Channel } from '../domain/words.ts';
import { sampleVariables } from '../content/preview.ts';
import { renderTexts } from '../content/render-attempt.ts';
import type { RenderedTexts } from '../content/render-attempt.ts';
import { smsSize } from '../content/segments.ts';
import type { TemplateVersion } from '../content/template.ts';
import type { Loaded } from '../ledger/load.ts';
import { compareTexts } from './compare-texts.ts';
import type { PartChange } from './compare-texts.ts';
import type { Engine } from './engine.ts';
import type { Addresses } from './payload.ts';
import { attachedTo, openContent, openPart, renderFor, splitCarried } from './payload.ts';
import { templateKey } from './versions.ts';

type Texts = Extract<RenderedTexts, { ok: true }>['texts'];

/** One message of a captured notification, in both versions. `problem` names places and variables, never a value. */
export interface Replayed {
  eventId: string; attemptKey: AttemptKey; channel: Channel; template: string; from: number; to: number;
  verdict: 'same' | 'differs' | 'fails';
  /** Which of the two cannot be rendered. */
  fails: { version: 'from' | 'to'; problem: string }[];
  /** Variables that the target declares and the notification has not. */
  missing: string[];
  /** Secret variables that were destroyed; their names stood in for them, in both versions. */
  stoodIn: string[];
  /** Whether the old version still gives the hash in the ledger. `unknown`: address, secrets or sender are not kept, so that nobody can tell. */
  recorded: 'matches' | 'drifted' | 'not_planned' | 'unknown';
  /** Hashes as the ledger would have them; null where there is no message. */
  hashes: { from: string | null; to: string | null };
  segments: { from: number; to: number } | null;
  changes: PartChange[];
  /** What it says in both, with secret values left out; for whoever may see it. */
  texts: () => { from: Texts | null; to: Texts | null };
}

/** A sender to render with where none is known; no hash is compared with it. */
const STAND_IN = { sms: 'Tocsin', email: 'tocsin@example.com' };

/** Secret values are shown to nobody: their names stand for them. */
const withoutSecrets = (template: TemplateVersion, variables: Record<string, string>, secret: ReadonlySet<string>): Record<string, string> =>
  Object.fromEntries(Object.entries(variables).map(([name, value]) => {
    if (!secret.has(name)) return [name, value];
    return [name, template.variables[name]?.type === 'url' ? `https://secret.invalid/${name}` : `[${name}]`];
  }));

/** Which message it is. */
export interface Side { engine: Engine; loaded: Loaded; step: PolicyStep; attemptKey: AttemptKey; plannedAt: number }

const hashOf = ({ engine, loaded, step, attemptKey, plannedAt }: Side, template: TemplateVersion, sender: Engine['sender']): string | null => {
  const templates = new Map([[templateKey(step.template, step.templateVersion), template]]);
  const rendered = renderFor({ ring: engine.ring, sender }, loaded, { templates }, { step, attemptKey, plannedAt });
  return rendered.ok ? rendered.hash : null;
};

const segmentsOf = (from: RenderedTexts, to: RenderedTexts): Replayed['segments'] => {
  const size = (texts: RenderedTexts): number | null => (texts.ok && texts.texts.sms !== undefined ? smsSize(texts.texts.sms).segments : null);
  const [before, after] = [size(from), size(to)];
  return before === null || after === null ? null : { from: before, to: after };
};

/** What there is left to render from; secret values that were destroyed are stood in for, and then no hash can be compared. */
const contentOf = ({ engine, loaded }: Side, templates: readonly TemplateVersion[]) => {
  const whole = openContent(engine.ring, loaded);
  const secret = new Set(templates.flatMap(({ variables }) => Object.keys(variables).filter((name) => variables[name]?.secret)));
  if (whole) return { variables: whole.variables, carried: whole.carried, secret: new Set([...secret, ...Object.keys(whole.secrets?.values ?? {})]), stoodIn: [] as string[] };
  const { variables, carried } = splitCarried(openPart<Record<string, string>>(engine.ring, loaded.eventId, 'variables', loaded.variables as NonNullable<Loaded['variables']>));
  const samples = Object.assign({}, ...templates.map(sampleVariables)) as Record<string, string>;
  const stoodIn = [...secret].filter((name) => !Object.hasOwn(variables, name));
  return { variables: { ...Object.fromEntries(stoodIn.map((name) => [name, samples[name] ?? name])), ...variables }, carried, secret, stoodIn };
};

export interface Compared { old: TemplateVersion; target: TemplateVersion; senders: readonly Engine['sender'][]; recordedHash: string | null }

/** Hashes of both messages by the sender that gives the recorded one, if any does; null where addresses or secrets are gone. */
const hashesOf = (side: Side, { old, target, senders, recordedHash }: Compared): { pair: Replayed['hashes']; isKept: boolean } | null => {
  const { engine, loaded } = side;
  if (loaded.recipient === null || openContent(engine.ring, loaded) === null) return null;
  const kept = openPart<Addresses>(engine.ring, loaded.eventId, 'recipient', loaded.recipient).sender;
  const pairs = (kept ? [kept] : senders.length > 0 ? senders : [STAND_IN]).map((sender) => ({ from: hashOf(side, old, sender), to: hashOf(side, target, sender) }));
  return { pair: pairs.find((one) => one.from !== null && one.from === recordedHash) ?? pairs[0] as Replayed['hashes'], isKept: kept !== undefined };
};

const recordedOf = (recordedHash: string | null, hashes: ReturnType<typeof hashesOf>): Replayed['recorded'] => {
  if (recordedHash === null) return 'not_planned';
  if (hashes?.pair.from === recordedHash) return 'matches';
  return hashes?.isKept === true ? 'drifted' : 'unknown';
};

/** Renders a message of a captured notification in both versions, and compares. Its variables must still be there. */
export const replayMessage = (side: Side, compared: Compared): Replayed => {
  const { loaded: { eventId, locale }, step, attemptKey } = side;
  const { old, target, recordedHash } = compared;
  const said = contentOf(side, [old, target]);
  const common = { locale, attemptKey, attachments: attachedTo(step, said.carried) };
  const textsOf = (template: TemplateVersion, variables = said.variables): RenderedTexts => renderTexts({ ...common, template, variables });
  const [from, to] = [textsOf(old), textsOf(target)];
  const hashes = hashesOf(side, compared);
  const fails = ([['from', from], ['to', to]] as const).flatMap(([version, texts]) => (texts.ok ? [] : [{ version, problem: texts.problem }]));
  // What only its address, its sender or its links keep from being a message shows in the hash alone.
  if (to.ok && hashes && hashes.pair.to === null) fails.push({ version: 'to', problem: 'the message around the texts cannot be made' });
  const shown = (template: TemplateVersion): Texts | null => {
    const texts = textsOf(template, withoutSecrets(template, said.variables, said.secret));
    return texts.ok ? texts.texts : null;
  };
  const changes = from.ok && to.ok ? compareTexts(from.texts, to.texts) : [];
  return {
    eventId, attemptKey, channel: step.channel, template: step.template, from: old.version, to: target.version, fails, changes, stoodIn: said.stoodIn,
    verdict: fails.length > 0 ? 'fails' : changes.length > 0 ? 'differs' : 'same',
    missing: Object.keys(target.variables).filter((name) => !Object.hasOwn(said.variables, name)),
    recorded: recordedOf(recordedHash, hashes), hashes: hashes?.pair ?? { from: null, to: null }, segments: segmentsOf(from, to), texts: () => ({ from: shown(old), to: shown(target) }),
  };
};

