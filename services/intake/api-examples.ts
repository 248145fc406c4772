/** Values that the examples of the API's document share. */
export const EVENT_ID = 'evt_01KB8Z5Q6W3T9X2M4N7P8R0S1V';
export const AT = '2026-11-29T18:30:00.000Z';
const LATER = '2026-11-29T18:30:30.000Z';
const HASH = '9f2c1d0e8b7a6f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4d3c2b1a09f8e7d6';

export const NOTIFICATION_BODY = {
  purpose: 'game-support-urgent',
  recipient: {
    ref: 'oncall-03', sms: '+12025550103', email: 'oncall-03@example.com', region: 'US', locale: 'en', time_zone: 'America/New_York',
    consent: ['sms:on_call_duty', { channel: 'email', basis: 'on_call_duty', reference: 'duty/2026-11' }],
  },
  variables: {
    category: 'payment_lockout', queue: 'payments-urgent', region: 'US', locale: 'en-US', player_ref: 'p-1001', message: 'charged twice, locked out',
    received_at: AT, ticket_url: 'https://support.example.com/tickets/1001',
  },
};

export const TICKET_BODY = { category: 'payment_lockout', message: 'charged twice, locked out', region: 'US', locale: 'en-US', player_ref: 'p-1001', contact: { email: 'player@example.com' } };

export const RECEIPT = { event_id: EVENT_ID, status: 'in_progress', received_at: AT, status_url: `https://tocsin.example.com/notifications/${EVENT_ID}` };
export const TICKET_RECEIPT = {
  event_id: EVENT_ID, queue: 'payments-urgent', urgency: 'urgent', status: 'in_progress', received_at: AT,
  status_url: 'https://tocsin.example.com/receipts/k3Zt0m9yQ1c8w7v6u5t4s3r2q1p0o9n8m7l6k5j4h3g',
};

export const NOTIFICATION = {
  event_id: EVENT_ID, status: 'in_progress', paused: false, closed: null, completed_at: null, purpose: 'game-support-urgent', policy: { purpose: 'game-support-urgent', version: 1 },
  template: { owner: 'player-support', name: 'game-support-urgent-sms', version: 1, locale: 'en' }, requested_at: AT, expires_at: '2026-11-29T18:45:00.000Z',
  steps: [{ channel: 'sms', phase: 'started', reason: null }, { channel: 'email', phase: 'waiting', reason: null }],
  attempts: [{
    attempt_key: `${EVENT_ID}.sms.1`, channel: 'sms', sequence: 1, step: 0, origin: 'policy', outcome: 'submitted', reason: null, reason_by: null,
    planned_at: AT, queued_at: AT, submitted_at: '2026-11-29T18:30:00.140Z', settled_at: null, decision_deadline_at: LATER,
  }],
  settled_at: null, updated_at: '2026-11-29T18:30:00.140Z',
};

export const HISTORY = {
  event_id: EVENT_ID,
  entries: [{
    version: 1, kind: 'NotificationAccepted', at: AT, actor: 'form', request_id: '0b6d2c1e-9f1a-4c51-8a55-1f0e5f6f7c11', attempt_key: null, from: null, to: null, policy_version: 1,
    details: { purpose: 'game-support-urgent', strategy: 'escalate' }, body: '{"actor":"form","at":1796063400000,"details":{…}}', prev_hash: HASH, hash: HASH.split('').reverse().join(''),
  }],
};

export const EXPLANATION = {
  event_id: EVENT_ID, policy: { purpose: 'game-support-urgent', version: 1 },
  channels: [
    { step: 1, channel: 'sms', used: true, cause: 'first_step', text: 'SMS, step 1 of policy game-support-urgent/1, was used because it is the first one; it was taken and never confirmed.' },
    { step: 2, channel: 'email', used: true, cause: 'deadline', text: 'Email, step 2 of policy game-support-urgent/1, was used because SMS stood as *accepted* at its deadline; it was taken.' },
  ],
  explanation: ['The SMS was taken by the provider and never confirmed.', 'At the deadline the email was claimed, since the policy escalates on accepted.'],
};

export const CLOSED = { event_id: EVENT_ID, status: 'closed', closed: { reason: 'taken', at: LATER }, in_flight: false, replayed: false };
export const PAUSED = { event_id: EVENT_ID, status: 'in_progress', paused: true, reason: 'maintenance', paused_at: LATER, in_flight: false, replayed: false };
export const RESUMED = { event_id: EVENT_ID, status: 'in_progress', paused: false, replayed: false };
