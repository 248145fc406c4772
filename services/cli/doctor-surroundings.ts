import type { CliConfig } from '../../shared/config/cli-config.ts';
import { readKeysText } from '../../shared/config/cli-config.ts';
import { readEngineConfig } from '../../shared/config/engine-config.ts';
import type { Environment } from '../../shared/config/environment.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadRoster } from '../../shared/content/roster.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { FileProblemsError, isError, textOf } from '../../shared/content/yaml-file.ts';
import type { PublishedVersion } from '../../shared/content/published-check.ts';
import { publishedVersions } from '../../shared/delivery/activate-policy.ts';
import { parseKeyRing } from '../../shared/security/key-ring.ts';
import { lintFolders, problemsOf } from './content-folders.ts';
import type { Finding } from './doctor-finding.ts';
import { fault, note, ok, wordsOf } from './doctor-finding.ts';
import type { Read } from './optional-database.ts';
import { readIfThere } from './optional-database.ts';

const LEAST_NODE = [20, 19] as const;
const ANSWER_WITHIN_MS = 3_000;

/** Node as new as the product needs. */
export const checkNode = (version: string): Finding => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  return fits ? ok('node', version) : fault('node', `${version} is too old`, `install Node ${LEAST_NODE.join('.')} or later`);
};

/** The standalone that the data directory speaks of, and whether it answers. */
export const checkStandalone = async (env: Environment, { standalone, dataDir }: CliConfig): Promise<Finding> => {
  if (!standalone) {
    const text = `no standalone runs on ${dataDir}`;
    return (env['DATABASE_URL'] ?? '') !== '' ? note('standalone', `${text}; DATABASE_URL is used`) : fault('standalone', text, 'start it with npm start, or set DATABASE_URL and start the services');
  }
  try {
    const response = await fetch(new URL('/healthz', standalone.intake), { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    if (response.ok) return ok('standalone', `answers at ${standalone.intake}`);
    return fault('standalone', `${standalone.intake} answers ${response.status}`, 'look into its log; start it again if need be');
  } catch {
    return fault('standalone', `standalone.json names ${standalone.intake}, where nothing answers`, `it was killed, so start it again on ${dataDir}: npm start`);
  }
};

/** Whether services would start with this environment; nothing where it is not one of theirs, who know the database and the keys by their own variables. */
export const checkServices = (env: Environment): Finding[] => {
  if ((env['DATABASE_URL'] ?? '') === '' || (env['TOCSIN_KEYS'] ?? '') === '') return [];
  try {
    readEngineConfig(env);
    return [ok('services', 'have the variables that each of them needs')];
  } catch (error) {
    return [note('services', `with these variables none starts: ${wordsOf(error)}`, 'set them where services run; of no matter where only this command runs')];
  }
};

/** The keys without which nothing sealed can be read. */
export const checkKeys = (env: Environment, config: CliConfig): Finding => {
  try {
    const ring = parseKeyRing(readKeysText(env, config));
    return ok('keys', `${ring.keys.length} in the ring, ${ring.keys[0].id} seals`);
  } catch (error) {
    return fault('keys', wordsOf(error), 'take the keys that the services use; without them nothing sealed before can be read');
  }
};

const loads = (name: string, what: string, load: () => number): Finding => {
  try {
    return ok(name, `${load()} ${what}`);
  } catch (error) {
    return fault(name, wordsOf(error), error instanceof FileProblemsError ? 'correct the file at that line' : 'see that the folder is there, and that TOCSIN_POLICY_DIR and TOCSIN_TEMPLATE_DIR name it');
  }
};

/** What the database has published. One that cannot be read is a finding of its own, and no reason to say nothing of the files. */
const publishedIfReadable = async (env: Environment): Promise<Read<PublishedVersion[]>> => {
  try {
    return await readIfThere({ env }, publishedVersions);
  } catch {
    return { value: null, missing: 'the database cannot be read' };
  }
};

/** Whether policies, templates, senders and transports fit each other, and published versions are what they were: the rules of `policy lint` and `template lint`. */
const fitting = async (env: Environment, folders: CliConfig): Promise<Finding> => {
  try {
    const problems = problemsOf(lintFolders(folders, { env }), await publishedIfReadable(env));
    const [first] = problems.filter(isError);
    if (first) return fault('lint', textOf(first), 'run npx tocsin policy lint and npx tocsin template lint');
    const [warning] = problems;
    return warning ? note('lint', textOf(warning), 'run npx tocsin policy lint and npx tocsin template lint') : ok('lint', 'nothing to object to');
  } catch (error) {
    return fault('lint', wordsOf(error), 'see that the folders are there');
  }
};

/** Policies, templates and roster, as files, and together. */
export const checkContent = async (env: Environment, config: CliConfig): Promise<Finding[]> => [...loadable(config), await fitting(env, config)];

const loadable = ({ policyDir, templateDir }: CliConfig): Finding[] => [
  loads('policies', 'policy versions', () => loadPolicies(policyDir).length),
  loads('templates', 'template versions', () => loadTemplates(templateDir).length),
  loads('roster', 'people', () => loadRoster(policyDir).people.length),
];
