import type { Command } from '../domain/decide.ts';
import { decide } from '../domain/decide.ts';
import type { Decision, DecisionInput } from '../domain/work.ts';
import type { NotificationState } from '../domain/state.ts';
import type { Loaded } from '../ledger/load.ts';
import type { Append, Provenance } from '../ledger/rows.ts';
import { toAppend } from '../ledger/rows.ts';
import { faultPoint } from '../telemetry/fault-points.ts';
import type { Engine } from './engine.ts';
import { logDecision, logProviders } from './log-decision.ts';
import { renderFor } from './payload.ts';
import type { BoundVersions } from './versions.ts';

/** What one round of load -> decide -> append came to. */
export type Result =
  | { kind: 'not_found' }
  /** The decision was to do nothing. */
  | { kind: 'unchanged'; state: NotificationState }
  | { kind: 'appended'; before: NotificationState; decision: Decision };

const MOST_ROUNDS = 50;

/** The input of a decision on a loaded notification, at `now`. */
export const inputFor = (engine: Engine, loaded: Loaded, bound: BoundVersions): DecisionInput => ({
  now: engine.now(), random: engine.random, policy: bound.policy, carriers: engine.carriers, ...(loaded.providers ? { providers: loaded.providers } : {}),
  render: (planned) => {
    const rendered = renderFor(engine, loaded, bound, planned);
    return rendered.ok ? { ok: true, hash: rendered.hash } : { ok: false, reason: rendered.reason };
  },
});

/** Decides on what is loaded and appends it; null where another append came first. */
export const tryDecide = async (engine: Engine, loaded: Loaded, command: Command, how: { provenance: Provenance; enrich?: (append: Append) => Append }): Promise<Result | null> => {
  const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
  const decision = decide(command, loaded.state, inputFor(engine, loaded, bound));
  if (decision.transitions.length === 0) return { kind: 'unchanged', state: loaded.state };
  const append = toAppend(decision, { before: loaded.state, prevHash: loaded.headHash, provenance: how.provenance });
  if (!(await engine.append(how.enrich?.(append) ?? append))) return null;
  if (decision.transitions.some(({ transition }) => transition.kind === 'FallbackClaimed')) faultPoint('fallback-claimed');
  logDecision(engine.log, decision);
  logProviders(engine.log, decision);
  if (decision.requests.some((request) => request.kind === 'enqueue')) engine.onEnqueued();
  return { kind: 'appended', before: loaded.state, decision };
};

export interface Round {
  provenance: Provenance;
  /** The command for what was loaded in this round; called anew after every lost race. */
  command: (loaded: Loaded, bound: BoundVersions) => Command;
  enrich?: (append: Append) => Append;
}

/** Load, decide, append at the version decided on; after a lost race reload and decide again. Losing is no error. */
export const decideAndAppend = async (engine: Engine, eventId: string, round: Round): Promise<Result> => {
  for (let tries = 0; tries < MOST_ROUNDS; tries += 1) {
    const loaded = await engine.load(eventId);
    if (!loaded) return { kind: 'not_found' };
    const bound = await engine.versions.bind(loaded.state.purpose, loaded.state.policyVersion);
    const result = await tryDecide(engine, loaded, round.command(loaded, bound), round);
    if (result) return result;
  }
  throw new Error(`lost ${MOST_ROUNDS} races in a row for ${eventId}`);
};
