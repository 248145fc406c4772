import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Carrier } from '../domain/work.ts';
import type { Channel } from '../domain/words.ts';
import { checkBases } from './basis-check.ts';
import { readPolicies } from './policy-file.ts';
import type { ReadPolicy } from './policy-file.ts';
import { checkPurpose } from './purpose-check.ts';
import { loadRoster, RosterFileError } from './roster.ts';
import type { Person } from './roster.ts';
import { readSenders } from './senders-file.ts';
import { checkSuppliesOf, readSupplies } from './supplies-file.ts';
import { readTemplates } from './template-file.ts';
import type { ReadTemplate, ReadTemplates } from './template-file.ts';
import { isError } from './yaml-file.ts';
import type { FileProblem } from './yaml-file.ts';

export interface LintInput {
  policyDir: string;
  /** Null where policies are looked at alone; nothing is said of the templates that they name then. */
  templateDir: string | null;
  /** The adapters of the deployment: some rules depend on what they can tell. */
  carriers: Readonly<Record<Channel, Carrier>>;
}

/** Every fault of both folders, in order of file and line, and what could be read. */
export interface Linted { problems: FileProblem[]; policies: ReadPolicy[]; templates: ReadTemplate[] }

const readRoster = (dir: string): { people: Person[]; problems: readonly FileProblem[] } => {
  if (!existsSync(join(dir, 'roster.yaml'))) return { people: [], problems: [] };
  try {
    return { people: loadRoster(dir).people, problems: [] };
  } catch (error) {
    if (error instanceof RosterFileError) return { people: [], problems: error.problems };
    throw error;
  }
};

const order = (one: FileProblem, other: FileProblem): number =>
  (one.file !== other.file ? (one.file < other.file ? -1 : 1) : one.line - other.line || one.column - other.column);

/** Two purposes that share a template find its fault twice. */
const once = (problems: readonly FileProblem[]): FileProblem[] => [...new Map(problems.map((one) => [`${one.file}:${one.line}:${one.column} ${one.field} ${one.problem}`, one])).values()];

/** Sorts faults as people read them, each told once. */
export const inOrder = (problems: readonly FileProblem[]): FileProblem[] => once(problems).sort(order);

/**
 * Reads policies, roster, senders, supplies and templates and holds them against each other. Touches nothing else; that a published version
 * was changed only a database can tell.
 * @throws ConfigurationError where a folder is not there.
 */
export const lintContent = ({ policyDir, templateDir, carriers }: LintInput): Linted => {
  const policies = readPolicies(policyDir);
  const templates: ReadTemplates | null = templateDir === null ? null : readTemplates(templateDir);
  const { senders, problems: senderProblems } = readSenders(policyDir);
  const { supplies, problems: suppliesProblems } = readSupplies(policyDir);
  const roster = readRoster(policyDir);
  const together = templates === null ? [] : policies.read.flatMap((policy) => checkPurpose(policy, { templates, senders, supplies, carriers }));
  const problems = [...policies.problems, ...templates?.problems ?? [], ...senderProblems, ...suppliesProblems, ...(supplies ? checkSuppliesOf(supplies, new Set(policies.read.map(({ policy }) => policy.purpose))) : []), ...roster.problems, ...checkBases(policies.read, roster.people), ...together];
  return { problems: inOrder(problems), policies: policies.read, templates: templates?.read ?? [] };
};

/** Whether a fault stands in a file of that folder. */
export const isWithin = ({ file }: FileProblem, dir: string): boolean => file.startsWith(`${basename(dir)}/`);

export const hasErrors = (problems: readonly FileProblem[]): boolean => problems.some(isError);

/** Whether a fault stands in a file of one version: `<folder>/<name>/<version>.yaml` or `<folder>/<name>/<version>/…`. */
export const isWithinVersion = ({ file }: FileProblem, name: string, version: number): boolean => {
  const [, folder, rest] = file.split('/');
  return folder === name && (rest === `${version}.yaml` || rest === String(version));
};
