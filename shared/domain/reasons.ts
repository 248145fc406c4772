/**
 * Reason codes: the only explanations that may stand in the ledger, a queue payload, a log or an error. The value says who
 * knows it: the provider said so, or Tocsin did, failed or decided.
 */
export const REASONS = {
  // the provider said so
  invalid_destination: 'provider',
  opted_out: 'provider',
  blocked_region: 'provider',
  content_refused: 'provider',
  carrier_failed: 'provider',
  message_expired_at_provider: 'provider',
  cancelled_at_provider: 'provider',
  rate_limited: 'provider',
  quota_exhausted: 'provider',
  provider_auth: 'provider',
  provider_account: 'provider',
  provider_temporary: 'provider',
  provider_error: 'provider',
  refused_by_provider: 'provider',
  idempotency_conflict: 'provider',
  no_longer_updated: 'provider',
  // we failed, could not tell, or decided
  connection_refused: 'tocsin',
  reset_before_write: 'tocsin',
  lost_response: 'tocsin',
  request_timeout: 'tocsin',
  answer_without_id: 'tocsin',
  answer_not_understood: 'tocsin',
  status_not_recognised: 'tocsin',
  not_yet_visible: 'tocsin',
  not_found: 'tocsin',
  several_matches: 'tocsin',
  read_failed: 'tocsin',
  start_too_late: 'tocsin',
  worker_lost: 'tocsin',
  retries_exhausted: 'tocsin',
  render_error: 'tocsin',
  render_drift: 'tocsin',
  payload_destroyed: 'tocsin',
  artifact_damaged: 'tocsin',
  artifact_missing: 'tocsin',
  superseded: 'tocsin',
  closed: 'tocsin',
  expired: 'tocsin',
  region: 'tocsin',
  no_address: 'tocsin',
  no_consent: 'tocsin',
  throttled: 'tocsin',
  quiet_hours: 'tocsin',
  suppressed: 'tocsin',
  consent_withdrawn: 'tocsin',
  deadline: 'tocsin',
  attempt_failed: 'tocsin',
  step_skipped: 'tocsin',
  grace_ended: 'tocsin',
  adopted: 'tocsin',
  found_meanwhile: 'tocsin',
  replay: 'tocsin',
  absent: 'tocsin',
  basis_lapsed: 'tocsin',
  carrier_changed: 'tocsin',
  provider_unavailable: 'tocsin',
  provider_back: 'tocsin',
  probe: 'tocsin',
} as const;

export type ReasonCode = keyof typeof REASONS;
/** Who says so: the provider, or Tocsin itself. */
export const reasonBy = (reason: ReasonCode): 'provider' | 'tocsin' => REASONS[reason];

/** Why the answer of an origin system is none. `url_lost`: its sealed URL is gone or cannot be opened. */
export type PreconditionFault =
  | 'url_not_allowed' | 'url_lost' | 'address_not_allowed' | 'not_connected' | 'certificate' | 'timeout' | 'connection_lost' | 'redirected'
  | 'http_status' | 'answer_too_long' | 'answer_not_understood';
