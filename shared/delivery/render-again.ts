import { stepOf } from '../domain/clocks.ts';
import type { RenderedMessage } from '../domain/words.ts';
import type { Engine } from './engine.ts';
import type { Addresses } from './payload.ts';
import { openPart, renderFor } from './payload.ts';

/**
 * An attempt's message, made again from what is sealed. `matches`: to the very hash that was fixed when it was planned. `differs`: what
 * comes out today is another message; it is not what was sent. `destroyed`: what it
 * was made of is gone. `not_rendered`: there never was one.
 */
export interface RenderedAgain {
  attemptKey: string;
  channel: 'sms' | 'email';
  template: string;
  templateVersion: number;
  locale: string | null;
  /** As the ledger has it; sha-256, hex, or salted where there are secrets. */
  plannedHash: string | null;
  verdict: 'matches' | 'differs' | 'destroyed' | 'not_rendered';
  message: RenderedMessage | null;
}

/**
 * Makes the messages of a notification's attempts again, for as long as what they were made of is retained, and compares each with the
 * hash in the ledger. Policy and template are the versions that the notification is bound to, whatever is active by now, and the sender is
 * that of its acceptance, else one of `senders`, for an attempt that was planned after a change. Null where there is no such notification.
 */
export const renderAgain = async (engine: Engine, eventId: string, senders: readonly Engine['sender'][] = []): Promise<RenderedAgain[] | null> => {
  const loaded = await engine.load(eventId);
  if (!loaded) return null;
  const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
  const kept = loaded.recipient ? openPart<Addresses>(engine.ring, eventId, 'recipient', loaded.recipient).sender : undefined;
  const candidates = [...(kept ? [kept] : []), ...senders, engine.sender];
  return loaded.state.attempts.map((attempt): RenderedAgain => {
    const step = stepOf(bound.policy, attempt.step);
    const facts = { attemptKey: attempt.key, channel: attempt.channel, template: step.template, templateVersion: step.templateVersion, plannedHash: attempt.renderHash, locale: null, message: null };
    if (attempt.renderHash === null) return { ...facts, verdict: 'not_rendered' };
    const tried = candidates.map((sender) => renderFor({ ring: engine.ring, sender }, loaded, bound, { step, attemptKey: attempt.key, plannedAt: attempt.plannedAt }));
    const rendered = tried.find((one) => one.ok && one.hash === attempt.renderHash) ?? tried[0] as (typeof tried)[number];
    if (!rendered.ok) return { ...facts, verdict: rendered.reason === 'payload_destroyed' ? 'destroyed' : 'differs' };
    return { ...facts, locale: rendered.locale, verdict: rendered.hash === attempt.renderHash ? 'matches' : 'differs', message: rendered.message };
  });
};
