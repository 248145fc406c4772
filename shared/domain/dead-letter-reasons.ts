import type { DeadLetterReason } from './plan-attempt.ts';
import type { ReasonCode } from './reasons.ts';

/** Why rendering failed, where an attempt was planned. */
type RenderFailure = Extract<ReasonCode, 'render_error' | 'no_address' | 'payload_destroyed'>;

const EVERY: Record<DeadLetterReason | RenderFailure, true> = {
  retries_exhausted: true, provider_auth: true, provider_account: true, render_error: true, render_drift: true, no_address: true, payload_destroyed: true, carrier_changed: true,
  artifact_damaged: true, artifact_missing: true,
};

/** Every reason that a dead letter can have; each has its runbook. */
export const DEAD_LETTER_REASONS = Object.keys(EVERY) as readonly (keyof typeof EVERY)[];
