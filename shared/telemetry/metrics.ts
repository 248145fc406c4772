import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { productVersion } from './version.ts';

/** From a hit on a warm cache to a provider that takes its whole time limit. */
const CALL_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
/** Lags: on time within milliseconds, noticed at a second, an incident at a minute. */
const LAG_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** Rendering is work of this process: milliseconds, and an incident at a second. */
const RENDER_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1];
/** What providers and people take: from a second to a day. */
const LIFE_SECONDS = [1, 2.5, 5, 10, 20, 30, 60, 120, 300, 600, 1_800, 3_600, 14_400, 86_400];
const GROUP_SIZES = [1, 2, 5, 10, 20, 50, 100];
/** How long a scrape may wait for what has to be asked for; a gauge that cannot be read then is left out. */
const READ_WITHIN_MS = 1_000;

const make = (registry: Registry) => {
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) => new Counter({ name, help, labelNames, registers });
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) => new Gauge({ name, help, labelNames, registers });
  const histogram = <Label extends string>(name: string, help: string, how: { labelNames: readonly Label[]; buckets: number[] }) => new Histogram({ name, help, ...how, registers });
  return {
    acceptances: counter('tocsin_acceptances_total', 'Requests to accept a notification, by what came of them.', ['outcome']),
    appends: counter('tocsin_appends_total', 'Appends to the ledger: won, or lost to another one and decided anew.', ['result']),
    groupSize: histogram('tocsin_group_size', 'Appends or acceptances that shared one statement.', { labelNames: ['statement'], buckets: GROUP_SIZES }),
    submissions: counter('tocsin_submissions_total', 'Provider calls that should send a message, by what came of them.', ['channel', 'provider', 'result', 'reason']),
    polls: counter('tocsin_polls_total', 'Status reads and look-ups, by what they brought.', ['provider', 'call', 'outcome']),
    callSeconds: histogram('tocsin_provider_call_duration_seconds', 'Duration of a provider call.', { labelNames: ['provider', 'call'], buckets: CALL_SECONDS }),
    toProviderSeconds: histogram('tocsin_accepted_to_provider_seconds', 'From the acceptance of a notification to the provider\'s answer to its first submission.', { labelNames: ['channel', 'provider'], buckets: LAG_SECONDS }),
    pollLagSeconds: histogram('tocsin_poll_lag_seconds', 'How long after its due instant a status read began.', { labelNames: ['provider'], buckets: LAG_SECONDS }),
    decisionLagSeconds: histogram('tocsin_decision_lag_seconds', 'How long after its due instant a decision was taken up.', { labelNames: [], buckets: LAG_SECONDS }),
    preconditionAnswers: counter('tocsin_precondition_answers_total', 'What origin systems said to whether a notice is still needed.', ['wanted', 'answer', 'reason']),
    optOuts: counter('tocsin_opt_outs_total', 'What recipients asked for by link or by word, and what came of it.', ['kind', 'result']),
    fallbacks: counter('tocsin_fallbacks_claimed_total', 'Claims of a further channel, by cause.', ['channel', 'cause']),
    deadLetters: counter('tocsin_dead_letters_total', 'Work that stopped and needs an operator.', ['channel', 'reason']),
    relayed: counter('tocsin_outbox_rows_relayed_total', 'Outbox rows moved into a queue.', ['channel']),
    relayLagSeconds: histogram('tocsin_relay_lag_seconds', 'How long a due outbox row waited until it was enqueued.', { labelNames: ['channel'], buckets: LAG_SECONDS }),
    jobsInHand: gauge('tocsin_queue_jobs_in_hand', 'Jobs that this process works on now.', ['queue', 'backend']),
    oldestDueSeconds: gauge('tocsin_oldest_due_row_age_seconds', 'Age of the oldest row that is due, over the whole deployment; zero where none is.', ['kind']),
    queueSeconds: histogram('tocsin_queue_seconds', 'From the instant at which an attempt was put into its queue, or may be tried again, to the start of its submission.', { labelNames: ['channel'], buckets: LAG_SECONDS }),
    renderSeconds: histogram('tocsin_render_seconds', 'Rendering of one message.', { labelNames: ['channel'], buckets: RENDER_SECONDS }),
    confirmationSeconds: histogram('tocsin_confirmation_seconds', 'From the provider\'s acceptance to the confirmed delivery.', { labelNames: ['channel', 'provider'], buckets: LIFE_SECONDS }),
    completionSeconds: histogram('tocsin_completion_seconds', 'From the request to the close: the person acted.', { labelNames: ['purpose'], buckets: LIFE_SECONDS }),
    duplicatesPrevented: counter('tocsin_duplicates_prevented_total', 'Submissions that were not started a second time.', ['channel', 'cause']),
    attemptsEnded: counter('tocsin_attempts_ended_total', 'Attempts of which nothing more is expected, by how they ended.', ['channel', 'region', 'outcome']),
    unresolved: counter('tocsin_unresolved_at_deadline_total', 'Decision deadlines that came without a delivery, and expiries, by how the attempt stood.', ['channel', 'class']),
    doubleContacts: counter('tocsin_double_contacts_total', 'Second channels that were delivered although one was enough.', ['purpose']),
    dutyFailures: counter('tocsin_duty_failures_total', 'Parts of a coordinator\'s daily duty that could not be done; the rest went on.', ['duty']),
    alertPosts: counter('tocsin_alert_posts_total', 'Alerts told to a receiver, and told in vain.', ['receiver', 'result']),
    atRisk: gauge('tocsin_at_risk', 'Findings over the whole deployment, of which an operator should know.', ['finding']),
    alertsOpen: gauge('tocsin_alerts_open', 'Incidents that last, over the whole deployment.', ['kind']),
    providerOpen: gauge('tocsin_provider_refuses', 'Whether a provider refuses our account now: 1, or 0 where it works again.', ['provider']),
    feedLagSeconds: gauge('tocsin_feed_lag_seconds', 'Age of the oldest committed entry that the change feed may not show yet; zero where it shows all.', []),
    costs: counter('tocsin_cost_estimate_total', 'What was spent since the start by the price list, in its currency.', ['kind']),
    retainedBytes: gauge('tocsin_retained_bytes', 'What is kept takes up on disk.', ['kind']),
    retainedCost: gauge('tocsin_retained_cost_per_month', 'What that costs in a month by the price list, in its currency.', ['kind']),
    buildInfo: gauge('tocsin_build_info', 'Always 1; the labels say what runs here.', ['version', 'node', 'service', 'backend']),
  };
};

export interface Metrics extends ReturnType<typeof make> {
  /** Called before every scrape; one that fails or takes longer than a second is passed over. */
  onScrape: (read: () => Promise<void>) => void;
  /** Adds the measurements of the process itself: CPU, memory, garbage collection, lag of the event loop. Once. */
  addProcess: () => void;
  /** The text that Prometheus reads, and its media type. */
  scrape: () => Promise<{ type: string; text: string }>;
}

const inTime = async (read: Promise<void>): Promise<void> => {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => { timer = setTimeout(resolve, READ_WITHIN_MS); });
  await Promise.race([read.catch(() => undefined), late]);
  clearTimeout(timer);
};

/**
 * The product's metrics in a registry of their own. Labels are closed sets: channel, provider, outcome, reason code, queue, backend;
 * never an id, an address or a text. Listed in docs/metrics.md.
 */
export const createMetrics = (): Metrics => {
  const registry = new Registry();
  const reads: (() => Promise<void>)[] = [];
  let hasProcess = false;
  return {
    ...make(registry),
    onScrape: (read) => { reads.push(read); },
    addProcess: () => {
      if (!hasProcess) {
        collectDefaultMetrics({ register: registry });
        // Gauges under names of counters, which promtool refuses; the same by type stand beside them.
        for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`);
      }
      hasProcess = true;
    },
    scrape: async () => {
      await Promise.all(reads.map((read) => inTime(read())));
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
};

/** The metrics of this process, for whoever is given no others. */
export const processMetrics: Metrics = createMetrics();

/** Says what runs here. */
export const tellBuild = (metrics: Metrics, { service, backend }: { service: string; backend: string }): void => {
  metrics.buildInfo.set({ version: productVersion(), node: process.versions.node, service, backend }, 1);
};

/** Remembers a reading for a while, so that many scrapers cost no more than one. A reading that fails is not remembered. */
export const cachedFor = <Value>(keepMs: number, read: () => Promise<Value>): (() => Promise<Value>) => {
  let kept: { at: number; value: Promise<Value> } | null = null;
  return () => {
    if (kept === null || performance.now() - kept.at > keepMs) {
      const reading = { at: performance.now(), value: read() };
      reading.value.catch(() => { if (kept === reading) kept = null; });
      kept = reading;
    }
    return kept.value;
  };
};
