import type { Preview } from '../../shared/content/preview.ts';
import { ownerName } from '../../shared/content/template.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { facts, page, shownTime, table } from './page.ts';

export interface ListedTemplate { template: TemplateVersion; publishedAt: Date; /** Active policies, as `purpose version`. */ usedBy: string[] }

const pathOf = ({ name, version }: Pick<TemplateVersion, 'name' | 'version'>): string => `/templates/${encodeURIComponent(name)}/${version}`;
const localesOf = (template: TemplateVersion): string[] => Object.keys(template.locales);

/** Every published template version, the newest of each name first. */
export const templateListPage = (listed: readonly ListedTemplate[]): string => page('Templates', `<h1>Templates</h1>
<p>What messages say. A version never changes; a preview is made of sample values, and nothing is sent.</p>
${listed.length === 0 ? '<p>No template was published yet: <code>npx tocsin migrate</code> publishes those that are shipped.</p>' : table('Published versions', ['Template', 'Version', 'Channel', 'Class', 'Languages', 'Used by', 'Published'], listed.map(({ template, publishedAt, usedBy }) => [
    `<a href="${escapeHtml(pathOf(template))}">${escapeHtml(template.name)}</a>`, String(template.version), escapeHtml(template.channel), escapeHtml(template.classification),
    escapeHtml(localesOf(template).join(', ')), usedBy.length === 0 ? '<span class="soft">no active policy</span>' : escapeHtml(usedBy.join(', ')), shownTime(publishedAt.getTime()),
  ]))}`);

export interface PreviewView { template: TemplateVersion; versions: number[]; locale: string; values: Readonly<Record<string, string>>; preview: Preview; /** Query that gives the same values again. */ query: string }

/** Beyond this a value no longer fits into an address. */
const LONGEST_VALUE = 1_000;

const field = ([name, rule]: [string, TemplateVersion['variables'][string]], value: string): string => {
  const id = `v-${escapeHtml(name)}`;
  const common = `id="${id}" name="v.${escapeHtml(name)}" maxlength="${Math.min(rule.max, LONGEST_VALUE)}" autocomplete="off" spellcheck="false"`;
  const isLong = rule.max > 200 && rule.type === 'string';
  const input = isLong ? `<textarea ${common} rows="3">\n${escapeHtml(value)}</textarea>` : `<input ${common} value="${escapeHtml(value)}">`;
  return `<div${isLong ? ' class="long-field"' : ''}><label for="${id}">${escapeHtml(name)}${rule.secret ? ' <span class="soft">(secret)</span>' : ''}</label>${input}</div>`;
};

const form = ({ template, locale, values }: PreviewView): string => `<form method="get" action="${escapeHtml(pathOf(template))}" class="filters">
<div><label for="locale">Language</label><select id="locale" name="locale">${localesOf(template).map((one) => `<option${one === locale ? ' selected' : ''}>${escapeHtml(one)}</option>`).join('')}</select></div>
${Object.entries(template.variables).map((entry) => field(entry, values[entry[0]] ?? '')).join('\n')}
<button type="submit">Show</button></form>`;

const shown = ({ template, preview, query }: PreviewView): string => {
  if (!preview.ok) return `<p class="problem" role="alert">It cannot be rendered: ${escapeHtml(preview.problem)}.</p>`;
  const { texts, sms } = preview;
  if (sms) {
    return `<div class="words" dir="auto">${escapeHtml(texts.sms ?? '')}</div>
<p>${sms.segments} segment${sms.segments === 1 ? '' : 's'}, ${sms.characters} characters, ${escapeHtml(sms.encoding)}</p>`;
  }
  return `<p class="subject"><span class="soft">Subject</span> ${escapeHtml(texts.subject ?? '')}</p>
<iframe class="mail" title="The HTML part of the email" sandbox src="${escapeHtml(`${pathOf(template)}/html${query}`)}"></iframe>
<details><summary>The text part</summary><div class="words" dir="auto">${escapeHtml((texts.text ?? '').replaceAll('\r\n', '\n'))}</div></details>`;
};

/** A template version with its message in one language, made of the values in the form. */
export const templatePreviewPage = (view: PreviewView): string => {
  const { template, versions } = view;
  const others = versions.filter((version) => version !== template.version);
  return page('Template', `<h1>${escapeHtml(template.name)} ${template.version}</h1>
<div class="idline"><a href="/templates">All templates</a>${others.map((version) => `<a href="${escapeHtml(pathOf({ name: template.name, version }))}">Version ${version}</a>`).join('')}</div>
<h2>Values</h2>${form(view)}
<h2>Message in ${escapeHtml(view.locale)}</h2>${shown(view)}
<h2>Facts</h2>${facts([
    ['Channel', escapeHtml(template.channel)], ['Class', escapeHtml(template.classification)], ['Owner', escapeHtml(template.owner === 'ours' ? 'ours' : `${ownerName(template.owner)}, ${template.owner.id}`)], ['Languages', escapeHtml(localesOf(template).join(', '))],
    ['Fallback', escapeHtml(template.fallbackLocale)], ['Hash', `<code>${escapeHtml(template.hash)}</code>`],
  ])}`);
};
