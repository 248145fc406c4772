import type { Part, TemplateVersion } from './template.ts';
import { LINK, shapeOf, VALUE } from './text-shape.ts';
import type { ShownOutput, TextShape } from './text-shape.ts';

/** What is wrong with a link of a text, by line. */
export interface WrongLink { line: number; problem: string; code: string }
/** A place that a text leads to: a host as it is written, a mark for each variable in it. */
interface Written { host: string; index: number }

/** What ends an address in a text. */
const END = '\\s"\'<>{}\uE002';
const WRITTEN = { html: new RegExp(`(?:https?:|(?<=["'=(,\\s]))//([^${END}()/\\\\?#]+)`, 'gi'), others: new RegExp(`https?://([^${END}/\\\\?#]+)`, 'gi') };
/** Closes a sentence or a bracket behind an address, and is no part of it. */
const CLOSING = /[.,;:!?)\]…»”’–—]+$/;
/** Names that phones and mail programs make a link of where no scheme stands before them; others only with a path, or `www.` before them. */
const TOP_LEVEL = 'com|net|org|info|biz|io|co|me|ly|app|dev|link|click|shop|store|online|site|xyz|top|tv|cc|gg|eu|de|at|ch|uk|us|fr|it|es|nl|pl|be|se|ru|cn|jp|br|in|ca|au';
const BARE = new RegExp(`(?<![\\p{L}\\p{N}_@./:\\-${LINK}${VALUE}])((?:www\\.)?(?:[\\p{L}\\p{N}${VALUE}-]+\\.)+(\\p{L}{2,24}))(?![\\p{L}\\p{N}@_${LINK}${VALUE}-]|\\.[\\p{L}\\p{N}])(:\\d+)?(/?)`, 'giu');
const KNOWN = new RegExp(`^(?:${TOP_LEVEL})$`, 'i');

const bareHosts = (text: string): Written[] => [...text.matchAll(BARE)].filter(([, host = '', top = '', , path]) => path === '/' || /^www\./i.test(host) || KNOWN.test(top))
  .map((match) => ({ host: `${match[1]}${match[3] ?? ''}`, index: match.index }));

/** Hosts that the text of a part leads to, by a link or, in a plain text, by what the reader's program makes one. */
export const hostsIn = (part: Part, { text }: TextShape): Written[] => [
  ...[...text.matchAll(part === 'html' ? WRITTEN.html : WRITTEN.others)].map((match) => ({ host: String(match[1]).replace(CLOSING, '').toLowerCase(), index: match.index })),
  ...(part === 'html' ? [] : bareHosts(text).map(({ host, index }) => ({ host: host.toLowerCase(), index }))),
];

const MARKED = new RegExp(`[${LINK}${VALUE}]`);
const shownHost = (host: string): string => host.replaceAll(LINK, '{{ … }}').replaceAll(VALUE, '{{ … }}');

const wrongHosts = (part: Part, shape: TextShape, allowed: readonly string[]): WrongLink[] => hostsIn(part, shape).filter(({ host }) => !allowed.includes(host)).map(({ host, index }) => ({
  line: shape.lineAt(index), code: 'link_host', problem: wrongHostOf(host),
}));

/** A link variable is checked when it is handed over; what is written right behind it could still make its host a part of another. */
const CONTINUED = new RegExp(`${LINK}([^${END}]+)`, 'g');
const continued = ({ text, lineAt }: TextShape): WrongLink[] => [...text.matchAll(CONTINUED)]
  .filter(([, rest = '']) => rest.replace(CLOSING, '') !== '' && !/^(?:[/?#\\)\]]|&[a-z]+;)/i.test(rest))
  .map((match) => ({ line: lineAt(match.index), code: 'link_changed', problem: 'goes on right behind the link of a variable, which may lead to another host then; put a space between, or begin with /, ? or #' }));

const filtered = (outputs: readonly ShownOutput[], variables: TemplateVersion['variables']): WrongLink[] => outputs
  .filter(({ name, filters }) => variables[name]?.type === 'url' && filters.some((filter) => filter !== 'url_encode' && filter !== 'size'))
  .map(({ name, filters, line }) => ({ line, code: 'link_changed', problem: `changes the link ${name} by ${filters.join(', ')}, so that it may lead elsewhere than what was checked; show it as it is` }));

/** Hosts in the texts that filters put together: what they come to is seen by nobody before it is sent. */
const inFilters = (part: Part, { outputs }: TextShape, allowed: readonly string[]): WrongLink[] => outputs.flatMap(({ source, line }) =>
  wrongHosts(part, { text: source.replace(/^\{\{|\}\}$/g, ' '), lineAt: () => line, outputs: [] }, allowed));

const ATTRIBUTE = /(?:^|[\s"'/;:])(?:href|src|srcset|action|formaction|background|poster|data|cite|ping|url)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)/gi;
const STYLE = /(?:\burl\(\s*|@import\s+)("[^"]*"|'[^']*'|[^\s)"']+)/gi;
const SCHEME = /^([a-z][a-z0-9+.-]*):/i;
/** Lead to no host. */
const HOSTLESS = ['mailto', 'tel', 'sms', 'cid'];

/** What is wrong with an address as a browser takes it: blanks dropped, `\` the same as `/`, slashes behind the scheme as one likes. */
const wrongAddress = (value: string, allowed: readonly string[]): Omit<WrongLink, 'line'> | null => {
  const address = value.replace(/^["']|["']$/g, '').replace(/[\t\r\n]/g, '').trim().replaceAll('\\', '/');
  if (address === '' || address.startsWith('#') || address.startsWith(LINK)) return null;
  const scheme = SCHEME.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined && !address.startsWith('//')) {
    if (address.startsWith(VALUE)) return { code: 'link_variable', problem: 'takes a link from what is no url variable; declare the variable with type: url' };
    return bareHosts(address).length === 0 ? null : { code: 'link_host', problem: 'leads to a host without a scheme; write the whole address, with https' };
  }
  if (scheme !== undefined && HOSTLESS.includes(scheme)) return null;
  if (scheme !== undefined && scheme !== 'https') return { code: 'link_scheme', problem: `is a link by ${scheme}, and only https leads where it says; write https, or take the link from a variable` };
  const host = (/^(?:https:)?\/*([^/?#]*)/i.exec(address)?.[1] ?? '').toLowerCase();
  return allowed.includes(host) ? null : { code: 'link_host', problem: wrongHostOf(host) };
};

const wrongHostOf = (host: string): string => (MARKED.test(host)
  ? `links to ${shownHost(host)}, a host that a variable decides; write the host, or take the whole link from a variable of type url`
  : `links to ${host}, which is not allowed; list it under link_hosts in template.yaml, or take the link from a variable`);

const inAttributes = ({ text, lineAt }: TextShape, allowed: readonly string[]): WrongLink[] => [ATTRIBUTE, STYLE].flatMap((pattern) => [...text.matchAll(pattern)].flatMap((match) => {
  const wrong = wrongAddress(match[1] ?? '', allowed);
  return wrong === null ? [] : [{ ...wrong, line: lineAt(match.index + match[0].length - 1) }];
}));

const schemes = ({ text, lineAt }: TextShape): WrongLink[] => [...text.matchAll(/(?<![\p{L}\p{N}])([a-z][a-z0-9+.-]{1,20}):\/\//giu)].filter(([, scheme = '']) => scheme.toLowerCase() !== 'https').map((match) =>
  ({ line: lineAt(match.index), code: 'link_scheme', problem: `is a link by ${String(match[1]).toLowerCase()}, and only https leads where it says; write https, or take the link from a variable` }));

const once = (found: readonly WrongLink[]): WrongLink[] => [...new Map(found.map((one) => [`${one.line} ${one.problem}`, one])).values()];

/** Links of a part that lead, or can be made to lead, to a host that is not allowed, or by anything else than https. */
export const wrongLinks = ({ part, source }: { part: Part; source: string }, variables: TemplateVersion['variables'], allowed: readonly string[]): WrongLink[] => {
  const shape = shapeOf({ part, source }, variables);
  return once([...wrongHosts(part, shape, allowed), ...schemes(shape), ...continued(shape), ...filtered(shape.outputs, variables), ...inFilters(part, shape, allowed), ...(part === 'html' ? inAttributes(shape, allowed) : [])]);
};
