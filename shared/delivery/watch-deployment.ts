import { RISKS } from '../domain/at-risk.ts';
import { ALERT_KINDS } from '../ledger/alerts.ts';
import { databaseBytes, readStanding } from '../ledger/deployment.ts';
import { cachedFor } from '../telemetry/metrics.ts';
import { surveyRisks } from './at-risk.ts';
import type { Engine } from './engine.ts';

/** However many scrape: some queries over indexes in that time. */
const KEEP_MS = 5_000;
/** Sizes change slowly, and asking looks at every file. */
const KEEP_SIZES_MS = 300_000;
const GIGABYTE = 1e9;

/** Shows at every scrape how the whole deployment stands; what cannot be read then is left out, rather than shown as it was. */
export const watchDeployment = ({ metrics, ...engine }: Engine): void => {
  const risks = cachedFor(KEEP_MS, () => surveyRisks(engine));
  const standing = cachedFor(KEEP_MS, () => readStanding(engine.db, engine.now()));
  const size = cachedFor(KEEP_SIZES_MS, () => databaseBytes(engine.db));
  metrics.onScrape(async () => {
    metrics.atRisk.reset();
    const { rows } = await risks();
    for (const finding of RISKS) metrics.atRisk.set({ finding }, rows.filter(({ kind }) => kind === finding).length);
  });
  metrics.onScrape(async () => {
    for (const gauge of [metrics.alertsOpen, metrics.providerOpen, metrics.feedLagSeconds]) gauge.reset();
    // A gauge without labels begins anew at zero, which would look like an answer.
    metrics.feedLagSeconds.remove();
    const { alerts, providers, feedLagMs } = await standing();
    for (const kind of ALERT_KINDS) metrics.alertsOpen.set({ kind }, alerts[kind] ?? 0);
    for (const [provider, state] of Object.entries(providers)) metrics.providerOpen.set({ provider }, state === 'closed' ? 0 : 1);
    metrics.feedLagSeconds.set(feedLagMs / 1_000);
  });
  metrics.onScrape(async () => {
    for (const gauge of [metrics.retainedBytes, metrics.retainedCost]) gauge.reset();
    const bytes = await size();
    metrics.retainedBytes.set({ kind: 'database' }, bytes);
    metrics.retainedCost.set({ kind: 'database' }, (bytes / GIGABYTE) * engine.prices.gb_month);
  });
};
