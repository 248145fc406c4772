/**
 * What the explanation of an account report says in each case, sentence by sentence: instants, artifacts and hashes are replaced by a word. Reviewed
 * by reading; a changed word has to be read again here.
 */
const ACCEPTED = 'The notification was accepted at T under policy account-report/1 (strategy all: email and SMS at once); it expires at T.';
const emailPlanned = (locale: string): string =>
  `Email was planned at T as step 1 of policy account-report/1, with template account-report-email/1 and the decision deadline T. It was rendered in ${locale}, from a template of ours and variables with the hash HASH, to a message with the hash HASH; attached is ARTIFACT with the checksum HASH.`;
const smsPlanned = (locale: string): string =>
  `SMS was planned at T as step 2 of policy account-report/1, with template account-report-sms/1 and the decision deadline T. It was rendered in ${locale}, from a template of ours and variables with the hash HASH, to a message with the hash HASH, its text has the hash HASH and takes 2 segments; nothing is attached.`;
const EMAIL_SENT = 'Email was submitted to smtp at T (submission 1) and taken there at T; this transport says nothing more, so *sent* is all that can be known of it.';
const SMS_SENT = 'SMS was submitted to twilio at T (submission 1) and taken there at T.';
const DESTROYED = 'The secret variables and the variables were destroyed at T, so no message can be made from them any more; this record stays as it is.';

export const GOLDEN = {
  'normal': [
    ACCEPTED, emailPlanned('de'), smsPlanned('de'), EMAIL_SENT, SMS_SENT,
    'SMS was confirmed *delivered* at T (heard by poll).',
    'The notification settled at T as *partially_delivered*.',
  ],
  'flipped byte': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), SMS_SENT,
    'Email stopped at T after 1 submission(s) (artifact_damaged; Tocsin found so itself); it is a dead letter that an operator must look at.',
    'The provider last said *pending* about SMS, at T; it is asked again at T.',
  ],
  'one channel unknown': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), SMS_SENT,
    'SMS was confirmed *delivered* at T (heard by poll).',
    'The decision deadline of email, T, passed with *unknown*; no later channel was left to claim.',
    'The grace for hearing more of email ended at T; it stays *submitted_unknown* for good.',
    'The notification settled at T as *partially_delivered*.',
    'The secret variables were destroyed at T, so no message can be made from them any more; this record stays as it is.',
    'The variables were destroyed at T, so no message can be made from them any more; this record stays as it is.',
    'Whether submission 1 of email was sent is unknown since T (lost_response; Tocsin found so itself). Policy account-report/1 says on_unknown: hold, so it is never sent again on a guess; this provider cannot be searched for it until T.',
  ],
  'no consent for SMS': [
    ACCEPTED, emailPlanned('en'), EMAIL_SENT, DESTROYED,
    'SMS, step 2 of policy account-report/1, was skipped at T (no_consent): there is no consent or other basis that the policy accepts for it.',
    'The notification settled at T as *sent*.',
  ],
  'rejected by one': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), EMAIL_SENT,
    'SMS ended as *rejected* at T (invalid_destination; the provider said so; heard by submit).',
    'The notification settled at T as *sent*.',
  ],
  'rejected by both': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'),
    'Email ended as *rejected* at T (invalid_destination; the provider said so; heard by submit).',
    'SMS ended as *rejected* at T (invalid_destination; the provider said so; heard by submit).',
    'The notification settled at T as *undelivered*.',
  ],
  'expired': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), DESTROYED,
    'Email expired at T before anything of it was at the provider.',
    'SMS expired at T before anything of it was at the provider.',
    'Submission 1 of SMS was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'Submission 1 of email was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'The notification expired at T: nothing is started any more.',
    'The notification settled at T as *expired*.',
  ],
  'paused and resumed': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'),
    'Email was put into its queue again 1 time(s), since no worker had started it (last at T).',
    'Email was submitted to smtp at T (submission 2) and taken there at T; this transport says nothing more, so *sent* is all that can be known of it.',
    'SMS was confirmed *delivered* at T (heard by poll).',
    'SMS was put into its queue again 1 time(s), since no worker had started it (last at T).',
    'SMS was submitted to twilio at T (submission 2) and taken there at T.',
    'Submission 1 of SMS was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'Submission 1 of email was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'The decision deadline of SMS, T, passed with *pending*; no later channel was left to claim.',
    'The decision deadline of email, T, passed with *pending*; no later channel was left to claim.',
    'The notification settled at T as *partially_delivered*.',
    'The notification was paused at T (wrong_person): nothing is queued, claimed or started until it is resumed, while status reads and expiry go on.',
    'The notification was resumed at T (wrong_person), after a pause since T; what had fallen due meanwhile is decided from then on.',
  ],
  'suppressed on one channel': [
    ACCEPTED, emailPlanned('en'), EMAIL_SENT, DESTROYED,
    'SMS, step 2 of policy account-report/1, was skipped at T (suppressed): its destination is on the suppression list.',
    'The notification settled at T as *sent*.',
  ],
  'suppressed on both': [
    ACCEPTED, DESTROYED,
    'Email, step 1 of policy account-report/1, was skipped at T (suppressed): its destination is on the suppression list.',
    'SMS, step 2 of policy account-report/1, was skipped at T (suppressed): its destination is on the suppression list.',
    'The notification settled at T as *suppressed*.',
  ],
  'closed': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), DESTROYED,
    'Email was cancelled at T (closed): the notification was closed before anything of it was at the provider.',
    'SMS was cancelled at T (closed): the notification was closed before anything of it was at the provider.',
    'Submission 1 of SMS was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'Submission 1 of email was definitely not processed at T (rate_limited; the provider said so), so it is tried again under the same attempt key, not before T.',
    'The notification settled at T as *closed*.',
    'The notification was closed at T (cancelled): nothing is submitted any more.',
  ],
  'lost response, then delivered': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), EMAIL_SENT,
    'A look-up by its reference found SMS at the provider at T, as *delivered*: it was adopted, and nothing was sent again.',
    'SMS was confirmed *delivered* at T (heard by look_up).',
    'The notification settled at T as *partially_delivered*.',
    'Whether submission 1 of SMS was sent is unknown since T (lost_response; Tocsin found so itself). Policy account-report/1 says on_unknown: hold, so it is never sent again on a guess; the provider is searched for it by its reference until T.',
  ],
  'delivered late': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), EMAIL_SENT, SMS_SENT,
    'SMS was confirmed *delivered* at T (heard by poll).',
    'The decision deadline of SMS, T, passed with *accepted*; no later channel was left to claim.',
    'The notification settled at T as *partially_delivered*.',
  ],
  'pending through the deadline': [
    ACCEPTED, emailPlanned('en'), smsPlanned('en'), EMAIL_SENT, SMS_SENT,
    'The decision deadline of SMS, T, passed with *pending*; no later channel was left to claim.',
    'The decision deadline of email, T, passed with *accepted*; no later channel was left to claim.',
    'The grace for hearing more of SMS ended at T; it stays *submitted* for good.',
    'The notification settled at T as *sent*.',
    'The secret variables were destroyed at T, so no message can be made from them any more; this record stays as it is.',
    'The variables were destroyed at T, so no message can be made from them any more; this record stays as it is.',
  ],
  'region not covered': [
    'The notification was refused at T (region): policy account-report/1 does not cover the recipient\'s region, so no channel was used.',
    'The secret variables, the variables and the addresses were destroyed at T, so no message can be made from them any more; this record stays as it is.',
  ],
} as const satisfies Record<string, readonly string[]>;
