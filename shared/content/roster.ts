import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { Channel } from '../domain/words.ts';
import { normaliseEmail, normalisePhone } from './address.ts';
import { isTimeZone } from './time-zones.ts';
import { FileProblemsError, readFrom, readYamlFile } from './yaml-file.ts';
import type { FileProblem } from './yaml-file.ts';

/** All faults in the roster. */
export class RosterFileError extends FileProblemsError {}

/** The lawful basis on which a person may be contacted, and where its record is kept. */
export interface Consent { basis: string; reference: string }

export interface Person {
  id: string;
  name: string;
  sms: string;
  email: string;
  locale: string;
  /** IANA name. */
  timeZone: string;
  regions: string[];
  consent: Record<Channel, Consent[]>;
}

export interface SupportQueue {
  queue: string;
  categories: string[];
  urgency: 'urgent' | 'routine';
  purpose: string;
  onCall: string;
  onCallByRegion: Record<string, string>;
}

export interface Roster { people: Person[]; queues: SupportQueue[] }

export type Route =
  | { kind: 'routed'; queue: string; urgency: 'urgent' | 'routine'; purpose: string; person: Person }
  | { kind: 'unknown_category'; known: string[] }
  | { kind: 'unknown_on_call'; known: string[] };

/** A field that a function reads as something else, or refuses with a cure. */
const readAs = (read: (text: string) => string | null, cure: string) => z.string().transform((text, context) => {
  const value = read(text);
  if (value !== null) return value;
  context.addIssue({ code: 'custom', message: cure });
  return z.NEVER;
});

const consents = z.array(z.strictObject({ basis: z.string().min(1), reference: z.string().min(1) }));

const personSchema = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'must be a short name in lower case, such as oncall-01'),
  name: z.string().min(1),
  sms: readAs(normalisePhone, 'is not a valid number; write it in quotes with + and country code, such as "+12025550101"'),
  email: readAs(normaliseEmail, 'is not an email address with a dotted domain'),
  locale: z.string().regex(/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/, 'must be a BCP 47 tag, such as en or de-AT'),
  time_zone: z.string().refine(isTimeZone, 'is not a known time zone; write its IANA name, such as Europe/Berlin'),
  regions: z.array(z.string().regex(/^[A-Z]{2}$/, 'a region is two capital letters')).min(1),
  consent: z.strictObject({ sms: consents.default([]), email: consents.default([]) }),
}).transform(({ time_zone, ...person }): Person => ({ ...person, timeZone: time_zone }));

const queueSchema = z.strictObject({
  queue: z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be a short name in lower case'),
  categories: z.array(z.string().regex(/^[a-z][a-z0-9_]{0,31}$/, 'a category is written in lower case with underscores, at most 32 characters')).min(1),
  urgency: z.enum(['urgent', 'routine']),
  purpose: z.string().min(1),
  on_call: z.string(),
  on_call_by_region: z.record(z.string().regex(/^[A-Z]{2}$/), z.string()).default({}),
}).transform(({ on_call, on_call_by_region, ...queue }): SupportQueue => ({ ...queue, onCall: on_call, onCallByRegion: on_call_by_region }));

/** `roster.yaml`; its JSON schema is published under `docs/schemas`. */
export const rosterSchema = z.strictObject({ people: z.array(personSchema).min(1), queues: z.array(queueSchema).min(1) });

type Problem = [path: (string | number)[], problem: string];

const checkQueue = (roster: Roster, index: number, dir: string): Problem[] => {
  const queue = roster.queues[index] as SupportQueue;
  const knows = (id: string): boolean => roster.people.some((person) => person.id === id);
  const earlier = roster.queues.slice(0, index);
  const found: Problem[] = [];
  if (earlier.some((other) => other.queue === queue.queue)) found.push([['queue'], 'names an earlier queue; give each its own name']);
  for (const category of queue.categories) {
    if (earlier.some((other) => other.categories.includes(category))) found.push([['categories'], `hold ${category}, which an earlier queue has; keep it in one`]);
  }
  if (!knows(queue.onCall)) found.push([['on_call'], 'is nobody among people; name one by id']);
  for (const [region, id] of Object.entries(queue.onCallByRegion)) {
    if (!knows(id)) found.push([['on_call_by_region', region], 'is nobody among people; name one by id']);
  }
  if (!existsSync(join(dir, queue.purpose))) found.push([['purpose'], 'has no folder of policies beside this file; add one or correct the name']);
  return found.map(([path, problem]) => [['queues', index, ...path], problem]);
};

const checkRoster = (roster: Roster, dir: string): Problem[] => [
  ...roster.people.flatMap((person, index): Problem[] =>
    (roster.people.findIndex((other) => other.id === person.id) < index ? [[['people', index, 'id'], 'stands twice; give each person an id of their own']] : [])),
  ...roster.queues.flatMap((_queue, index) => checkQueue(roster, index, dir)),
];

/**
 * Reads `<dir>/roster.yaml`.
 * @throws RosterFileError naming every fault with line, column, field and cure; ConfigurationError where there is no such file.
 */
export const loadRoster = (dir: string): Roster => {
  const path = join(dir, 'roster.yaml');
  readFrom(dir, 'TOCSIN_POLICY_DIR', () => readdirSync(dir));
  readFrom(path, 'TOCSIN_POLICY_DIR', () => accessSync(path, constants.R_OK), 'the folder of the policies must also hold the roster of who is on call, so write one (the shipped one shows how)');
  const read = readYamlFile(path, rosterSchema, dir);
  const problems: FileProblem[] = read.ok ? checkRoster(read.value, dir).map(([path, problem]) => read.at(path, problem)) : read.problems;
  if (!read.ok || problems.length > 0) throw new RosterFileError(problems);
  return read.value;
};

/** Every category of the roster, in its order. */
export const knownCategories = (roster: Roster): string[] => roster.queues.flatMap((queue) => queue.categories);

/** The person with this id, or with this ending of it (`03` for `oncall-03`). */
export const findPerson = (roster: Roster, id: string): Person | null =>
  roster.people.find((person) => person.id === id || person.id === `oncall-${id}`) ?? null;

/**
 * Chooses queue, urgency and the one current on-call of a ticket. `onCall` overrides the roster's choice (the picker of the
 * demo form). Whether the region is covered is the policy's question, not the roster's: a ticket of a region without a policy
 * still belongs to a queue.
 */
export const routeTicket = (roster: Roster, ticket: { category: string; region: string; onCall?: string }): Route => {
  const queue = roster.queues.find((candidate) => candidate.categories.includes(ticket.category));
  if (!queue) return { kind: 'unknown_category', known: knownCategories(roster) };
  const chosen = ticket.onCall ?? (Object.hasOwn(queue.onCallByRegion, ticket.region) ? queue.onCallByRegion[ticket.region] : null) ?? queue.onCall;
  const person = findPerson(roster, chosen);
  if (!person) return { kind: 'unknown_on_call', known: roster.people.map((one) => one.id) };
  return { kind: 'routed', queue: queue.queue, urgency: queue.urgency, purpose: queue.purpose, person };
};
