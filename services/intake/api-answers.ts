import { z } from 'zod';

/**
 * What the API answers, as its document says it. A test holds real answers against these. Statuses and outcomes are texts and no
 * closed lists: clients must bear new ones.
 */

const instant = z.iso.datetime();
const eventId = z.string().regex(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/);
const channel = z.string().meta({ description: '`sms` or `email`' });
const status = z.string().meta({
  description: '`accepted`, `in_progress`, `sent`, `delivered`, `partially_delivered`, `undelivered`, `unknown`, `expired`, `closed`, `suppressed`, `policy_rejected` or `shadowed`; more may come',
});
const reasonCode = z.string().meta({ description: 'a code that is stable' });
const skipped = z.array(z.strictObject({ channel, reason: reasonCode })).meta({ description: 'There where every channel was skipped (`suppressed`): why each was.' }).optional();
const more = { reason: reasonCode.optional(), skipped, replayed: z.literal(true).meta({ description: 'The same request came before; this is what it came to.' }).optional() };

export const receipt = z.strictObject({ event_id: eventId, status, received_at: instant, status_url: z.url(), ...more });
export const ticketReceipt = z.strictObject({ ...receipt.shape, queue: z.string(), urgency: z.string() });

const attempt = z.strictObject({
  attempt_key: z.string(), channel, sequence: z.int(), step: z.int(), origin: z.string().meta({ description: '`policy` or `operator`' }),
  outcome: z.string().meta({ description: 'state of the attempt, such as `submitted`, `submitted_unknown`, `delivered` or `undelivered`; more may come' }),
  reason: reasonCode.nullable(), reason_by: z.string().nullable().meta({ description: 'who says so: `provider` or `tocsin`' }),
  planned_at: instant, queued_at: instant.nullable(), submitted_at: instant.nullable(), settled_at: instant.nullable(), decision_deadline_at: instant,
  shadow: z.literal(true).optional().meta({ description: 'its provider is never called' }),
});

export const notification = z.strictObject({
  event_id: eventId, status, reason: reasonCode.meta({ description: 'There where it was refused, or every channel was skipped: why; where the channels differ, that of the last.' }).optional(), skipped, paused: z.boolean(), closed: z.strictObject({ reason: z.string(), at: instant }).nullable(),
  completed_at: instant.nullable(), purpose: z.string(), policy: z.strictObject({ purpose: z.string(), version: z.int() }),
  template: z.strictObject({ owner: z.string(), name: z.string(), version: z.int(), locale: z.string() }).nullable(),
  requested_at: instant, expires_at: instant, steps: z.array(z.strictObject({ channel, phase: z.string(), reason: reasonCode.nullable(), shadow: z.literal(true).optional() })),
  attempts: z.array(attempt), settled_at: instant.nullable(), erased_at: instant.meta({ description: 'Who it was about was erased; nothing tells it any more.' }).optional(), updated_at: instant,
});

export const feedPage = z.strictObject({
  items: z.array(z.strictObject({ ...notification.shape, version: z.int(), changed_at: instant })),
  next_cursor: z.string().meta({ description: 'Opaque and signed. Keep the last one and ask from there.' }), has_more: z.boolean(),
});

export const history = z.strictObject({
  event_id: eventId,
  entries: z.array(z.strictObject({
    version: z.int(), kind: z.string(), at: instant, actor: z.string(), request_id: z.string(), attempt_key: z.string().nullable(), from: z.string().nullable(), to: z.string().nullable(),
    policy_version: z.int(), details: z.record(z.string(), z.unknown()), body: z.string().meta({ description: 'the exact text that the hash covers' }),
    prev_hash: z.string().regex(/^[0-9a-f]{64}$/), hash: z.string().regex(/^[0-9a-f]{64}$/),
  })),
});

export const explanation = z.strictObject({
  event_id: eventId, policy: z.strictObject({ purpose: z.string(), version: z.int() }),
  channels: z.array(z.strictObject({
    step: z.int().meta({ description: 'From 1 on, as the sentences count.' }), channel, used: z.boolean().meta({ description: 'Something of it was, or may have been, at its provider, or was refused there.' }),
    cause: z.string().meta({ description: 'Why: a code. Expect new ones.' }), text: z.string(),
  })).meta({ description: 'Each step of the policy, answered once.' }),
  explanation: z.array(z.string()).meta({ description: 'What happened, in the order of the ledger.' }),
});

const inFlight = z.boolean().meta({ description: 'A call to a provider was under way at that instant, and cannot be taken back.' });
const replayed = z.boolean().meta({ description: 'It was so already; the first reason stands.' });
export const closed = z.strictObject({ event_id: eventId, status, closed: z.strictObject({ reason: z.string(), at: instant }), in_flight: inFlight, replayed });
export const paused = z.strictObject({ event_id: eventId, status, paused: z.literal(true), reason: z.string(), paused_at: instant, in_flight: inFlight, replayed });
export const resumed = z.strictObject({ event_id: eventId, status, paused: z.literal(false), replayed });

export const alive = z.strictObject({ status: z.literal('alive') });
export const ready = z.strictObject({ status: z.literal('ready') });
export const engine = z.strictObject({ status: z.literal('ok'), oldest_due: z.strictObject({ decision_ms: z.number(), poll_ms: z.number(), outbox_ms: z.number() }) });

/** RFC 9457. Further members say more where they can, e.g. `known_purposes`. */
export const problem = z.looseObject({
  type: z.string(), title: z.string(), status: z.int(), code: z.string().meta({ description: 'Stable; what a client may branch on.' }),
  detail: z.string().meta({ description: 'What happened and what to do, for a person.' }),
  field: z.string().meta({ description: 'The first field at fault.' }).optional(),
  errors: z.array(z.strictObject({ field: z.string(), problem: z.string(), cure: z.string() })).optional(),
  request_id: z.string().meta({ description: 'Give it when you ask about this answer.' }),
});
