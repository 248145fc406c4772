import { escapeHtml } from '../../shared/http/escape-html.ts';
import type { PublicStatus } from '../../shared/domain/words.ts';

/** What a status means, in a sentence. */
export const STATUS_WORDS: Readonly<Record<PublicStatus, string>> = {
  accepted: 'Written to the ledger. Nothing was submitted to a provider yet.',
  in_progress: 'Under way: a channel is being tried, or its provider is asked what became of it.',
  sent: 'A provider has it. That it arrived was not confirmed.',
  delivered: 'Its delivery was confirmed.',
  partially_delivered: 'Delivered on one channel; another one is not confirmed.',
  undelivered: 'No channel could deliver it.',
  unknown: 'Whether it was sent cannot be told. It is never sent blindly a second time.',
  expired: 'It expired before anything was submitted.',
  closed: 'Closed: nothing is submitted any more.',
  suppressed: 'No channel could be used: each one is barred for this recipient.',
  shadowed: 'All of it ran in shadow: everything but the provider call, so nobody received anything.',
  policy_rejected: 'Its policy does not cover it, so nothing was sent.',
};

/** A sentence of the explanation as HTML: instants become times of day with the whole instant as title, stressed words stressed. On another day (UTC) than `from` the date stands before the time. */
export const toldHtml = (sentence: string, from: number): string => escapeHtml(sentence)
  .replace(/\*([a-z_ ]+)\*/g, (_whole, words: string) => `<em>${words.replaceAll('_', ' ')}</em>`)
  .replace(/\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d\.\d{3})Z/g, (iso, time: string) => `<time datetime="${iso}" title="${iso.slice(0, 10)} ${time} UTC">${iso.slice(0, 10) === new Date(from).toISOString().slice(0, 10) ? '' : `${iso.slice(0, 10)} `}${time}</time>`);
