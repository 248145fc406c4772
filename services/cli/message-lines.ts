import type { RenderedAgain } from '../../shared/delivery/render-again.ts';
import { maskDestination } from '../../shared/security/redact.ts';
import { mailFieldsOf } from '../../shared/transports/resend/mail-fields.ts';

const SAID: Record<RenderedAgain['verdict'], string> = {
  matches: 'the hash in the ledger matches: this is the exact message',
  differs: 'the hash in the ledger does not match: this is not what was planned then; where the sender has changed since the acceptance, name it with --sms-from or --mail-from',
  destroyed: 'destroyed: what it was made of is not kept any more',
  not_rendered: 'it was never rendered',
};

const textOf = ({ message }: RenderedAgain, unmasked: boolean): string => {
  if (message === null) return '';
  const to = unmasked ? message.to : maskDestination(message.channel, message.to);
  if (message.channel === 'sms') return `\nTo: ${to}\nFrom: ${message.from}\n\n${message.text}\n`;
  const mail = mailFieldsOf(message.mime);
  return `\nTo: ${to}\nFrom: ${mail?.from ?? message.from}\nSubject: ${mail?.subject ?? ''}\n\n${(mail?.text ?? message.mime).replaceAll('\r\n', '\n')}\n`;
};

/** The messages of a notification for people: what each attempt's hash says, and the text; to whom, masked unless somebody asks for it. */
export const messageLines = (found: readonly RenderedAgain[], unmasked: boolean): string => (found.length === 0 ? 'No attempt was planned, so there is no message.\n' : found.map((one) =>
  `${one.attemptKey}  ${one.template} ${one.templateVersion}${one.locale === null ? '' : `, ${one.locale}`}\n${one.plannedHash ?? '-'}\n${SAID[one.verdict]}\n${textOf(one, unmasked)}`).join('\n'));

/** The same for programs; `message` is exactly what a submission hands to the provider. */
export const messageJson = ({ attemptKey, channel, template, templateVersion, locale, plannedHash, verdict, message }: RenderedAgain) =>
  ({ attempt_key: attemptKey, channel, template, template_version: templateVersion, locale, hash: plannedHash, verdict, message });
