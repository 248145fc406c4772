/** Names of log events, in one place. */
export const EVENTS = {
  decided: 'decided',
  appendLost: 'append.lost',
  appendReloaded: 'append.reloaded',
  submissionRefused: 'submission.refused',
  queueAway: 'queue.away',
  jobFailed: 'job.failed',
  decisionPostponed: 'decision.postponed',
  databaseAway: 'database.away',
  sweepFailed: 'sweep.failed',
  decisionFailed: 'decision.failed',
  pollFailed: 'poll.failed',
  rescued: 'engine.rescued',
  relayFailed: 'relay.failed',
  checkpointFailed: 'checkpoint.failed',
  started: 'service.started',
  stopped: 'service.stopped',
} as const;
