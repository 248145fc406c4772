import pg from 'pg';

/** A node of a plan, as `EXPLAIN (ANALYZE, FORMAT JSON)` has it. */
export interface PlanNode {
  'Node Type': string; 'Relation Name'?: string; Schema?: string; 'Index Name'?: string; 'Index Cond'?: string; 'Recheck Cond'?: string; Filter?: string;
  'Actual Rows': number; 'Actual Loops': number; 'Rows Removed by Filter'?: number; 'Rows Removed by Index Recheck'?: number;
  'Shared Hit Blocks'?: number; 'Shared Read Blocks'?: number; Plans?: PlanNode[];
}
export interface RecordedPlan { text: string; plan: PlanNode }

export interface PlanRecorder {
  /** The plans of everything that the product asked since the last call, also inside of functions, triggers and constraints. */
  take: () => RecordedPlan[];
  /** Whether connections opened from now on plan each statement once, without looking at its parameters. */
  generic: (on: boolean) => void;
  restore: () => void;
}

const SETTINGS = [
  'session_preload_libraries=auto_explain', 'auto_explain.log_min_duration=0', 'auto_explain.log_analyze=on', 'auto_explain.log_timing=off', 'auto_explain.log_buffers=on',
  'auto_explain.log_verbose=off', 'auto_explain.log_nested_statements=on', 'auto_explain.log_format=json', 'auto_explain.log_level=notice', 'client_min_messages=notice',
];

/** Lower and the same for statements that differ in their numbers of placeholders alone, as Prisma's `IN` lists do. */
const nameOf = (text: string): string => text.replace(/\s+/g, ' ').replace(/\$\d+(,\$\d+)+/g, '$…').trim();

/**
 * From now on every connection under the product's role tells the plan of each statement that it really executes: by
 * auto_explain, so that no statement has to be listed or copied, and none can be forgotten.
 */
export const recordPlans = (): PlanRecorder => {
  const recorded: RecordedPlan[] = [];
  let settings = SETTINGS;
  type Patched = pg.Client & { connectionParameters: { application_name?: string; options?: string } };
  const prototype = pg.Client.prototype as unknown as { connect: (this: Patched, ...given: unknown[]) => unknown };
  const original = prototype.connect;
  prototype.connect = function connect(...given) {
    const parameters = this.connectionParameters;
    if (parameters.application_name === 'tocsin' && parameters.options?.includes('role=tocsin_app')) {
      parameters.options = [parameters.options, ...settings.map((setting) => `-c ${setting}`)].join(' ');
      this.on('notice', ({ message }) => {
        const at = message?.indexOf('plan:\n') ?? -1;
        if (at === -1) return;
        const told = JSON.parse((message as string).slice(at + 6)) as { 'Query Text': string; Plan: PlanNode };
        recorded.push({ text: nameOf(told['Query Text']), plan: told.Plan });
      });
    }
    return original.apply(this, given);
  };
  return {
    take: () => recorded.splice(0),
    generic: (on) => { settings = on ? [...SETTINGS, 'plan_cache_mode=force_generic_plan'] : SETTINGS; },
    restore: () => { prototype.connect = original; },
  };
};

/** A plan's nodes, its own first. */
export const nodesOf = (plan: PlanNode): PlanNode[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
