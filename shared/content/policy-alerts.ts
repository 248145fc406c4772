import { z } from 'zod';
import { LEAST_STALLED_MS } from '../domain/at-risk.ts';
import type { AlertTerms, Policy } from '../domain/policy.ts';
import { durationField } from './duration.ts';

/** Fields of a policy that say from when on an operator is told. Each may be left out. */
export const alertFields = {
  alerts: z.strictObject({
    page_before: durationField.optional().describe('How long before expiry somebody is paged where nothing under way can reach the recipient'),
    unknown_for: durationField.optional().describe('By when an unknown outcome should be known'),
    dispatch_within: durationField.optional().describe('By when a planned attempt must have been taken by its provider'),
    stalled_for: durationField.refine((ms) => ms >= LEAST_STALLED_MS, 'is too short; what is due is taken up within seconds, so write at least 10s').optional()
      .describe('How long something due may wait'),
  }).optional().describe('From when on an operator is told (docs/alerts.md)'),
};

interface AlertSource { alerts?: { page_before?: number | undefined; unknown_for?: number | undefined; dispatch_within?: number | undefined; stalled_for?: number | undefined } | undefined }

/** The thresholds of a policy. What a file leaves out stays out, so that the content of versions published before does not change. */
export const alertsOf = ({ alerts }: AlertSource): Pick<Policy, 'alerts'> => {
  if (alerts === undefined) return {};
  const terms: AlertTerms = {
    ...(alerts.page_before === undefined ? {} : { pageBeforeMs: alerts.page_before }),
    ...(alerts.unknown_for === undefined ? {} : { unknownForMs: alerts.unknown_for }),
    ...(alerts.dispatch_within === undefined ? {} : { dispatchWithinMs: alerts.dispatch_within }),
    ...(alerts.stalled_for === undefined ? {} : { stalledForMs: alerts.stalled_for }),
  };
  return { alerts: terms };
};
