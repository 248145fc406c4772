import { escapeHtml } from '../../shared/http/escape-html.ts';
import { MEMORABLE } from './memorable.ts';
import type { Reply } from './replies.ts';
import type { Counts, MessageView } from './views.ts';


export interface InboxPage { messages: MessageView[]; counts: Counts; /** Newest first. */ replies?: readonly Reply[]; to: string | undefined; paused: boolean }

const REFRESH_SECONDS = 3;

/** Served as its own file, so that the content security policy needs no inline styles. */
export const INBOX_CSS = `
:root { color-scheme: light dark; --ink: light-dark(#1c2127, #e8eaed); --soft: light-dark(#57606a, #a3adb8); --line: light-dark(#d5dae0, #3a424b);
  --card: light-dark(#ffffff, #1d2228); --ground: light-dark(#f4f6f8, #12161a); --good: light-dark(#146c2e, #6fd58b); --bad: light-dark(#a4161a, #ff9a9a);
  --link: light-dark(#0b57d0, #9cc2ff); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0; }
a { color: var(--link); }
a:focus-visible, input:focus-visible, button:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
.soft { color: var(--soft); }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: 1rem 0; }
label { display: grid; gap: .25rem; flex: 1 1 14rem; }
input, button { font: inherit; min-height: 44px; padding: .5rem .75rem; border: 1px solid var(--soft); border-radius: .375rem; background: var(--card); color: var(--ink); }
section h2 { font-size: 1rem; margin: 1.25rem 0 .375rem; }
section ul { list-style: none; margin: 0; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); gap: .5rem; }
section a { display: block; height: 100%; min-height: 44px; padding: .375rem .625rem; border: 1px solid var(--line); border-radius: .375rem; background: var(--card); color: var(--ink); text-decoration: none; }
section a:hover { border-color: var(--link); } section a b { display: block; color: var(--link); font-weight: 600; font-size: .9375rem; white-space: nowrap; } section a[aria-current] { border: 2px solid var(--link); }
section p { margin: .375rem 0; }
.counts { display: flex; flex-wrap: wrap; align-items: center; gap: 0 1rem; margin: 0 0 .5rem; } .counts a { padding: .625rem 0; }
ol { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 1rem; overflow-wrap: anywhere; }
article header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; }
article h2 { font-size: 1rem; margin: .5rem 0 0; }
article pre { font: inherit; white-space: pre-wrap; margin: .5rem 0; }
article footer { display: flex; flex-wrap: wrap; gap: 0 1rem; font-size: .875rem; color: var(--soft); }
.delivered { color: var(--good); } .bad { color: var(--bad); font-weight: 600; }
`;

/** Puts in place what was received since, and leaves what somebody is typing or reading alone. Without it the page loads anew. */
export const INBOX_SCRIPT = `'use strict';
const turn = () => setTimeout(async () => {
  try {
    const answer = document.hidden ? null : await fetch(location.href, { cache: 'no-store' });
    if (answer && answer.ok) {
      const now = document.getElementById('received');
      const then = new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('received');
      if (then && then.innerHTML !== now.innerHTML && !now.contains(document.activeElement)) now.innerHTML = then.innerHTML;
    }
  } catch {
    // Away for a moment: asked again at the next turn.
  }
  turn();
}, ${REFRESH_SECONDS}000);
turn();
`;

const memorableList = (to: string | undefined): string => `<section aria-labelledby="fixed"><h2 id="fixed">Numbers with a fixed outcome</h2><ul>
${Object.entries(MEMORABLE).map(([digits, outcome]) =>
    `<li><a href="/?to=%2B120255501${digits}"${to === `+120255501${digits}` ? ' aria-current="true"' : ''}><b>+1 202 555 01${digits}</b> ${outcome}</a></li>`).join('\n')}
</ul><p class="soft">Addresses like name+01@example.com to +07 do the same, as far as a mail server can tell.</p></section>`;

/** A text with its web addresses as links, as a phone or a mail program shows it. */
const linked = (text: string): string => text.split(/(https?:\/\/[^\s<>"']+)/)
  .map((part, index) => (index % 2 === 0 ? escapeHtml(part) : `<a href="${escapeHtml(part)}" rel="noreferrer">${escapeHtml(part)}</a>`)).join('');

const statusClass = (message: MessageView): string => {
  if (message.status === 'delivered') return 'delivered';
  return ['undelivered', 'failed', 'refused'].includes(message.status) ? 'bad' : 'soft';
};

const card = (message: MessageView): string => {
  const text = message.body ?? message.text ?? '';
  const code = message.error_code === null ? '' : ` (${message.error_code})`;
  const duplicate = message.accepted_count > 1 ? `<strong class="bad">duplicate: ${message.accepted_count} with this attempt key</strong>` : '';
  return `<li><article><header><strong>${message.channel === 'sms' ? 'SMS' : 'Email'}</strong><span>to ${escapeHtml(message.to)}</span>
<span class="${statusClass(message)}">${escapeHtml(message.status)}${code}</span>${duplicate}</header>
${message.subject === null ? '' : `<h2>${escapeHtml(message.subject)}</h2>`}
<pre>${linked(text)}</pre>
<footer><time datetime="${message.received_at}">${message.received_at.replace('T', ' ').replace('Z', ' UTC')}</time>
<span>attempt key ${message.attempt_key === null ? 'missing' : `<code>${escapeHtml(message.attempt_key)}</code>`}</span> <span>submissions ${message.submission_count}</span></footer></article></li>`;
};

/** A word back, from the number that the page shows alone. */
const replyForm = (to: string | undefined): string => (to === undefined || !/^\+[1-9]\d{6,14}$/.test(to) ? '' : `<form method="post" action="/inbound"><input type="hidden" name="from" value="${escapeHtml(to)}">
<label>Text back as ${escapeHtml(to)}<input name="text" placeholder="STOP" autocomplete="off" required></label><button>Send</button></form>`);

const replyList = (replies: readonly Reply[]): string => (replies.length === 0 ? '' : `<section aria-labelledby="replies"><h2 id="replies">Texted back</h2>
${replies.map(({ from, text, at }) => `<p><strong>${escapeHtml(from)}</strong> ${escapeHtml(text)} <time class="soft" datetime="${new Date(at).toISOString()}">${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC</time></p>`).join('\n')}</section>`);

/** The inbox as a whole page; works without JavaScript. `messages` newest first. */
export const inboxPage = ({ messages, counts, replies = [], to, paused }: InboxPage): string => {
  const filter = to === undefined ? '' : `to=${encodeURIComponent(to)}`;
  const toggle = paused ? `<a href="/?${escapeHtml(filter)}">Refresh by itself</a>` : `<a href="/?${escapeHtml(filter)}${filter ? '&amp;' : ''}paused=1">Stop refreshing</a>`;
  const none = to === undefined ? '<p>No messages yet. Whatever is sent appears here.</p>' : `<p>No messages to ${escapeHtml(to)} yet. <a href="/">See all</a></p>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
${paused ? '' : `<noscript><meta http-equiv="refresh" content="${REFRESH_SECONDS}"></noscript><script src="/inbox.js" defer></script>`}
<title>Sandbox inbox</title><link rel="stylesheet" href="/inbox.css"><link rel="icon" href="data:,"></head><body><main>
<h1>Sandbox inbox</h1><p class="soft">Stand-in for the SMS and mail providers. Nothing here reaches a phone or a mailbox.</p>
${memorableList(to)}
<form method="get" action="/"><label>Number or address<input name="to" value="${escapeHtml(to ?? '')}" autocomplete="off"></label><button>Show</button></form>
${replyForm(to)}<div id="received"><p class="counts"><span>${counts.accepted} accepted, ${counts.refused} refused, <span${counts.duplicate_attempt_keys > 0 ? ' class="bad"' : ''}>${counts.duplicate_attempt_keys} duplicated</span>.</span> ${toggle}</p>
${replyList(replies)}${messages.length === 0 ? none : `<ol>${messages.map(card).join('\n')}</ol>`}</div>
</main></body></html>`;
};
