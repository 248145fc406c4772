import { run } from '../cli/support.ts';
import { ask } from '../intake/rig.ts';
import type { Answer } from '../intake/rig.ts';
import type { Deployment } from './deployment.ts';
import { say } from './places.ts';

/** What is asked of intake, the dashboard and the command line, each answer noted with where it was given. */
export interface Talk {
  /** `name` is the place: method and route, without what is asked for. */
  api: (name: string, path: string, init?: RequestInit) => Promise<Answer>;
  page: (name: string, path: string, init?: RequestInit) => Promise<Answer>;
  json: (name: string, path: string, body: unknown, headers?: Record<string, string>) => Promise<Answer>;
  form: (name: string, path: string, fields: Record<string, string>, headers?: Record<string, string>) => Promise<Answer>;
  tocsin: (line: string[], stdin?: string) => Promise<{ code: number; out: string; err: string }>;
}

const FORM = 'application/x-www-form-urlencoded';

export const talkTo = ({ world, intake, dashboard, places }: Deployment, folder: string): Talk => {
  const noted = (kind: string, base: string) => async (name: string, path: string, init: RequestInit = {}): Promise<Answer> => {
    const answer = await ask(`${base}${path}`, init);
    const { headers } = answer;
    say(places, `${kind}:${name}`, `${answer.status} ${answer.text}`);
    // A cookie and where to go next are for whoever asked alone, and are places of their own.
    for (const [header, value] of headers) say(places, header === 'set-cookie' || header === 'location' ? `${header}:${name}` : `${kind}:${name}`, `${header}: ${value}`);
    return answer;
  };
  const [api, page] = [noted('api', intake.url), noted('page', dashboard.url)];
  const env = { DATABASE_URL: world.databaseUrl, TOCSIN_KEYS: world.keys, TOCSIN_DATA_DIR: folder, ARTIFACT_DIR: world.artifactDir };
  return {
    api, page,
    json: (name, path, body, headers = {}) => api(name, path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: typeof body === 'string' ? body : JSON.stringify(body) }),
    form: (name, path, fields, headers = {}) => page(name, path, { method: 'POST', headers: { 'Content-Type': FORM, ...headers }, body: new URLSearchParams(fields).toString() }),
    tocsin: async (line, stdin = '') => {
      const told = await run(line, { env, stdin, wait: () => world.coordinator.attendDeadLetters() });
      // The one command that shows a message as its provider gets it.
      const asked = line.includes('--message') ? ' --message' : '';
      say(places, `cli:${line.slice(0, /^(policy|template|suppress|consent|dead-letters|ledger|key|operator|audit)$/.test(line[0] ?? '') ? 2 : 1).join(' ')}${asked}`, told.out + told.err);
      return told;
    },
  };
};
