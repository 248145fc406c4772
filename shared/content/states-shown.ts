import type { Policy } from '../domain/policy.ts';
import { hostsIn } from './link-check.ts';
import { partsOf } from './template-check.ts';
import type { ReadTemplate } from './template-file.ts';
import { shapeOf } from './text-shape.ts';
import type { TextShape } from './text-shape.ts';
import type { FileProblem } from './yaml-file.ts';

/** Per variable, the only channels that carry it, by the policy's word. */
export type LeftOut = Policy['secretChannels'];

interface Seen { part: 'sms' | 'text' | 'html'; locale: string; shape: TextShape; names: Set<string> }

/** What each text of a template shows its reader. Subjects are no place for it. */
const seenIn = ({ template }: ReadTemplate): Seen[] => partsOf(template).flatMap(({ part, locale, source }) => {
  if (part === 'subject') return [];
  const shape = shapeOf({ part, source }, template.variables);
  return [{ part, locale, shape, names: new Set(shape.outputs.map(({ name }) => name)) }];
});

/** A link of each channel's own is one link to the reader: `report_url_sms` and `report_url_email`. */
export const sharedName = (name: string): string => name.replace(/_(sms|email)$/, '');

/** By what they are called: until when something may be done, and where. */
const TELLING = { time: /(?:^|_)(?:until|by|before|expir[a-z]*|valid|deadline)(?:_|$)/, place: /(?:^|_)(?:host|domain)(?:_|$)/ };
/** A time that a text tells by itself, of the languages shipped. */
const OWN_TIME = /\b(?:today|tonight|tomorrow|heute|morgen|(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|\d{1,2}[:.]\d{2}|\d{1,4}[\s\u00a0-]*(?:min(?:ute[ns]?)?|h|hours?|stunden?|days?|tage?n?))\b/i;

const told = ({ fileOf }: ReadTemplate, { part, locale }: Seen, problem: string): FileProblem => ({ file: fileOf(part, locale), line: 1, column: 1, field: '', problem, code: 'states_differ' });

/** The host that a template states must be seen: by its variable, or as it is written. */
const checkHost = (read: ReadTemplate, isLeftOut: (name: string) => boolean): FileProblem[] => {
  const { template, at } = read;
  const host = template.terms?.states?.host;
  if (host === undefined) return [];
  const isVariable = Object.hasOwn(template.variables, host);
  if (!isVariable && !/[.:]/.test(host)) return isLeftOut(host) ? [] : [at(['states', 'host'], `is ${host}, which is neither a host nor among the variables; correct it, or declare it`, 'states_differ')];
  if (isVariable) return isLeftOut(host) ? [] : seenIn(read).filter(({ names }) => !names.has(host)).map((seen) => told(read, seen, `does not show ${host}, where the reader is led by what template.yaml states; add {{ ${host} }}`));
  // A link in a variable may lead to the host that is stated; its own rule is what holds it to that.
  const isSeen = ({ part, shape, names }: Seen): boolean => hostsIn(part, shape).some((one) => one.host === host) || shape.text.includes(host) || [...names].some((name) => template.variables[name]?.type === 'url');
  return seenIn(read).filter((seen) => !isSeen(seen)).map((seen) => told(read, seen, `does not show ${host}, where the reader is led by what template.yaml states; add it`));
};

/** Whether a text tells of its own what another text has from a variable of that name. */
const saysItself = (name: string, { part, shape }: Seen): boolean => (TELLING.time.test(name) ? OWN_TIME.test(shape.text.replace(/<style[\s\S]*?<\/style>|<[^>]*>/gi, ' ')) : hostsIn(part, shape).length > 0);

/** What the other channel's reader is told of time and place by a variable, this one's is told by the same, or not at all. */
const checkTelling = (read: ReadTemplate, other: ReadTemplate, isLeftOut: (name: string) => boolean): FileProblem[] => {
  const shownThere = new Set(seenIn(other).flatMap(({ names }) => [...names]).filter((name) => (TELLING.time.test(name) || TELLING.place.test(name)) && Object.hasOwn(other.template.variables, name) && !isLeftOut(name)).map(sharedName));
  return seenIn(read).flatMap((seen) => {
    const here = new Set([...seen.names].map(sharedName));
    return [...shownThere].filter((name) => !here.has(name) && name !== read.template.terms?.states?.host).map((name) => {
      const found = told(read, seen, `does not show ${name}, which ${other.template.name} ${other.template.version} of the same purpose tells its reader; add {{ ${name} }}, so that both say the same`);
      // Leaving it out may be meant; declaring it and not showing it, or saying something else instead, is not.
      return Object.hasOwn(read.template.variables, name) || saysItself(name, seen) ? found : { ...found, level: 'warning' as const };
    });
  });
};

/** Where a template does not show what it states, or what its counterpart of another channel shows of time and place; unless the policy leaves that out of its channel. */
export const checkShownStates = (read: ReadTemplate, other: ReadTemplate, leftOut: LeftOut): FileProblem[] => {
  const isLeftOut = (name: string): boolean => leftOut?.[name] !== undefined && !leftOut[name].includes(read.template.channel);
  return [...checkHost(read, isLeftOut), ...checkTelling(read, other, isLeftOut)];
};
