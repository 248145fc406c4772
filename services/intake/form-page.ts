import type { Roster } from '../../shared/content/roster.ts';
import { knownCategories } from '../../shared/content/roster.ts';
import type { Site } from './page.ts';
import { escapeHtml } from '../../shared/http/escape-html.ts';
import { page } from './page.ts';
import type { Fault } from './problem.ts';
import { MESSAGE_LIMIT } from './ticket-fields.ts';

/** What a person had typed, by the field's name. */
export type FormValues = Readonly<Record<string, string>>;

export interface FormView {
  roster: Roster;
  demo: boolean;
  formToken: string;
  values: FormValues;
  faults: Fault[];
  /** Something other than a field stopped the ticket. */
  notice: { heading: string; text: string } | null;
}

const PLAIN_WORDS: Readonly<Record<string, string>> = {
  payment_lockout: 'I paid and am locked out', account_takeover: 'Someone took over my account', live_service_incident: 'The game is down',
  bug_report: 'I found a bug', purchase_question: 'A question about a purchase', feedback: 'Feedback',
};
/** What the sandbox's fixed numbers do, by the last two digits of the person's id. */
const DEMO_OUTCOMES: Readonly<Record<string, string>> = {
  '01': 'the SMS is delivered, so no email is sent', '02': 'the SMS comes back undelivered, so the email starts at once',
  '03': 'the SMS is never confirmed, so the email starts at the deadline', '04': 'the SMS is confirmed late, after the email has started',
  '05': 'the SMS is rejected, so the email starts at once', '06': 'the provider throttles first, then the SMS is delivered',
  '07': 'the provider takes the SMS but its answer is lost; it is never sent twice',
};
const REGIONS: Readonly<Record<string, string>> = { US: 'United States', EU: 'European Union' };
const LABELS: Readonly<Record<string, string>> = {
  category: 'What is it about?', message: 'What happened?', region: 'Where do you play?', locale: 'Language', player_ref: 'Your player id',
  'contact.sms': 'Phone', 'contact.email': 'Email', on_call: 'Who is on call',
};
const LOCALES = ['en-US', 'en-GB', 'de-DE', 'es-ES', 'fr-FR', 'ja-JP', 'ar'];

const words = (category: string): string => PLAIN_WORDS[category] ?? category.replaceAll('_', ' ');
const idOf = (field: string): string => `field-${field.replaceAll('.', '-')}`;

/** Label, hint and fault around one control; the control gets its attributes. */
const labelled = (view: FormView, field: string, hint: string | null, control: (attributes: string) => string): string => {
  const fault = view.faults.find((one) => one.field === field || (field.startsWith('contact.') && one.field === 'contact'));
  const id = idOf(field);
  const described = [hint !== null && `${id}-hint`, fault && `${id}-fault`].filter(Boolean).join(' ');
  const attributes = `id="${id}" name="${field}"${described ? ` aria-describedby="${described}"` : ''}${fault ? ' aria-invalid="true"' : ''}`;
  return `<div><label for="${id}">${LABELS[field] ?? field}</label>
${hint === null ? '' : `<p class="hint" id="${id}-hint">${hint}</p>`}${fault ? `<p class="fault" id="${id}-fault">This ${escapeHtml(fault.problem)}: ${escapeHtml(fault.cure)}.</p>` : ''}
${control(attributes)}</div>`;
};

const options = (entries: [value: string, text: string][], chosen: string | undefined, empty: string): string => [
  `<option value="">${empty}</option>`,
  ...entries.map(([value, text]) => `<option value="${escapeHtml(value)}"${value === chosen ? ' selected' : ''}>${escapeHtml(text)}</option>`),
].join('');

const regionEntries = (chosen: string | undefined): [string, string][] => {
  const known = Object.entries(REGIONS);
  return chosen === undefined || chosen === '' || Object.hasOwn(REGIONS, chosen) ? known : [...known, [chosen, chosen]];
};

const picker = ({ roster, values }: FormView): string => `<fieldset><legend>Demo: who is on call</legend>
<p class="hint">Each person's number has a fixed outcome in the sandbox. Nothing reaches a real phone.</p>
${roster.people.map((person) => {
    const outcome = DEMO_OUTCOMES[person.id.slice(-2)];
    const chosen = values.on_call === person.id || (values.on_call !== undefined && `oncall-${values.on_call}` === person.id);
    return `<label class="choice"><input type="radio" name="on_call" value="${escapeHtml(person.id)}"${chosen ? ' checked' : ''}>
<span><strong>${escapeHtml(person.name)}</strong> (${escapeHtml(person.id)})${outcome ? `<br><span class="soft">${outcome}</span>` : ''}</span></label>`;
  }).join('\n')}
<label class="choice"><input type="radio" name="on_call" value=""${values.on_call ? '' : ' checked'}><span><strong>Whoever the roster says</strong></span></label>
</fieldset>`;

const banner = ({ faults, notice }: FormView): string => {
  // Whoever gets the form back begins at what is wrong with it, on a small screen and with a screen reader alike.
  const opening = '<div class="banner" role="alert" tabindex="-1" autofocus>';
  if (notice) return `${opening}<h2>${escapeHtml(notice.heading)}</h2><p>${escapeHtml(notice.text)}</p></div>`;
  if (faults.length === 0) return '';
  const items = faults.map((fault) => `<li><a href="#${escapeHtml(idOf(fault.field))}">${escapeHtml(LABELS[fault.field] ?? (fault.field || 'The form'))}</a> ${escapeHtml(fault.problem)}: ${escapeHtml(fault.cure)}.</li>`);
  return `${opening}<h2>Not sent yet: please correct this</h2><ul>${items.join('')}</ul></div>`;
};

const input = (type: string, value: string | undefined, rest: string) => (attributes: string): string =>
  `<input type="${type}" ${attributes} value="${escapeHtml(value ?? '')}" ${rest}>`;

/** The support form. Works without JavaScript; what was typed is kept when it comes back with faults. */
export const formPage = (site: Site, view: FormView): string => {
  const { values } = view;
  const main = `<h1>Write to support</h1><p>Tell us what happened. If it is urgent, the person on call is notified at once, day and night.</p>
${banner(view)}
<form class="card" method="post" action="${escapeHtml(site.basePath)}/tickets" accept-charset="utf-8">
<input type="hidden" name="form_token" value="${escapeHtml(view.formToken)}">
${labelled(view, 'category', null, (attributes) =>
    `<select ${attributes} required>${options(knownCategories(view.roster).map((one) => [one, words(one)]), values.category, 'Please choose')}</select>`)}
${labelled(view, 'message', 'Please leave out passwords and card numbers.', (attributes) =>
    // The parser drops one line break right after the tag: without this one, it would drop the person's own.
    `<textarea ${attributes} required maxlength="${MESSAGE_LIMIT}" rows="7" dir="auto">\n${escapeHtml(values.message ?? '')}</textarea>`)}
<div class="pair">
${labelled(view, 'region', 'Where your account is registered', (attributes) => `<select ${attributes} required>${options(regionEntries(values.region), values.region, 'Please choose')}</select>`)}
${labelled(view, 'locale', 'A tag such as en-US or de-DE', input('text', values.locale, 'required maxlength="35" list="locales" autocomplete="off" spellcheck="false"'))}
</div><datalist id="locales">${LOCALES.map((tag) => `<option value="${tag}"></option>`).join('')}</datalist>
${labelled(view, 'player_ref', 'You find it in the game under Settings, Account.', input('text', values.player_ref, 'required maxlength="128" autocomplete="off" spellcheck="false"'))}
<fieldset><legend>How can we reach you? (optional)</legend><div class="pair">
${labelled(view, 'contact.sms', 'With + and country code', input('tel', values['contact.sms'], 'autocomplete="tel" placeholder="+1 202 555 0123"'))}
${labelled(view, 'contact.email', 'We write there only about this', input('email', values['contact.email'], 'autocomplete="email" placeholder="name@example.com"'))}
</div></fieldset>
${view.demo ? picker(view) : ''}
<button type="submit">Send to support</button>
</form>`;
  return page(site, { title: view.faults.length > 0 || view.notice ? 'Not sent yet - Write to support' : 'Write to support', main });
};

const FIELDS = ['category', 'message', 'region', 'locale', 'player_ref', 'on_call'];

/** The typed values of a parsed form, for showing them again. */
export const valuesOf = (body: unknown): FormValues => {
  const fields = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const contact = (typeof fields.contact === 'object' && fields.contact !== null ? fields.contact : {}) as Record<string, unknown>;
  const all = [...FIELDS.map((name) => [name, fields[name]]), ['contact.sms', contact.sms], ['contact.email', contact.email]];
  return Object.fromEntries(all.filter((entry): entry is [string, string] => typeof entry[1] === 'string'));
};
