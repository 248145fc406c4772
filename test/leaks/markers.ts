import { errorText } from '../../services/sandbox/twilio-errors.ts';
import { ORIGIN_SECRET } from '../support/world.ts';

/** The error of the stand-in whose words are looked for: nobody else writes them. */
export const REFUSED_CODE = 30_034;

/**
 * One text each, of a kind that must not get about. Each is of letters and digits that no escaping changes, so that it is found raw in JSON, HTML,
 * quoted-printable and URLs alike; base64 and hex are looked for beside.
 */
export const MARKED = {
  sms: '+12025557731', email: 'mkreader.zq71@example.org', fallbackSms: '+12025557733', fallbackEmail: 'mkreader.zq73@example.org',
  ref: 'mkref-zq10-Ada-Lovelace', item: 'mkitemzq11', title: 'mktitlezq12', secretUrl: 'mksecretzq13', secretCode: 'MKCODEZQ14', order: 'mkorderzq15',
  message: 'mkmessagezq16', player: 'mkplayerzq17', contactSms: '+12025557732', contactEmail: 'mkcontact.zq18@example.net', formKey: 'mkformzq19', artifact: 'mkartifactzq20',
  password: 'mkpasswordzq21-and-more', wrongPassword: 'mkwrongzq22-and-more', caller: 'mkcallerzq23',
  pauseReason: 'mkpausezq30', resumeReason: 'mkresumezq31', closeReason: 'mkclosezq32', retryReason: 'mkretryzq33', boardReason: 'mkboardzq34', suppressReason: 'mksuppresszq35', activateReason: 'mkactivatezq36',
  bounce: 'mkbouncezq40', providerText: errorText(REFUSED_CODE), thrown: 'mkthrownzq41',
  originSecret: ORIGIN_SECRET, webhookSecret: 'mkwebhookzq50-with-more-than-forty-characters', twilioToken: 'mktwiliozq51', smtpPassword: 'mksmtpzq52',
  wrongField: 'mkwrongfieldzq60', inUrl: 'mkinurlzq61', inHeader: 'mkinheaderzq62', malformed: 'mkmalformedzq63', nested: 'mknestedzq64', idempotencyKey: 'mkidemzq65',
} as const;
export type Marker = keyof typeof MARKED | 'apiKey' | 'viewerCookie' | 'operatorCookie' | 'adminCookie' | 'viewerForm' | 'operatorForm' | 'adminForm' | 'receiptToken' | 'reportToken' | 'reportCode' | 'unsubscribeToken';

export interface Exception { marker: readonly Marker[]; at: RegExp; why: string }

/** What may stand where, and why. Whatever is not here may stand nowhere. */
export const MAY_STAND: readonly Exception[] = [
  { marker: ['apiKey'], at: /^cli:key create$/, why: 'a key is shown once, to whoever makes it' },
  { marker: ['viewerCookie', 'operatorCookie', 'adminCookie'], at: /^set-cookie:POST \/login$/, why: 'a session is given to the browser that signed in' },
  { marker: ['viewerForm'], at: /^page:viewer /, why: 'a form carries the token of its own session' },
  { marker: ['operatorForm'], at: /^page:(operator |GET \/reason$)/, why: 'a form carries the token of its own session' },
  { marker: ['adminForm'], at: /^page:admin /, why: 'a form carries the token of its own session' },
  { marker: ['receiptToken'], at: /^api:(POST \/tickets|GET \/receipts)$/, why: 'the player is given the link to the receipt, and its page names itself' },
  { marker: ['unsubscribeToken'], at: /^api:GET \/unsubscribe$/, why: 'the form of the page goes to where the page is' },
  { marker: ['reportToken'], at: /^api:GET \/reports$/, why: 'the forms of the page go to where the page is' },
  { marker: ['artifact'], at: /^api:POST \/reports\/open$/, why: 'the code opens the report' },
  { marker: ['message', 'player'], at: /^page:(viewer|operator|admin) \/tickets\/:event_id$/, why: 'operators read what the player wrote, signed in' },
  { marker: ['message'], at: /^api:GET \/receipts$/, why: 'the player reads his own words, by his own token' },
  { marker: ['boardReason'], at: /^page:GET \/reason$/, why: 'an operator reads the reason that he stated, out of his own sealed cookie' },
  { marker: ['caller'], at: /^db:public\.ledger_entry\.(actor|body)$|^dump:public\.ledger_entry(_\d+_\d+)?$/, why: 'who acts, as the caller names him: a name by its pattern, with no room for an address or a sentence' },
  { marker: ['caller'], at: /^page:\w+ \/notifications\/:event_id(\/live|\/view)?$|^api:GET \/notifications\/:event_id\/history$|^cli:ledger export$/, why: 'the ledger says who acted' },
  { marker: ['caller'], at: /^db:public\.audit_entry\.(target|body)$|^dump:public\.audit_entry$|^cli:audit list$|^page:(GET \/audit\?actor|admin \/audit)$/, why: 'whose entries an administrator looked up is an entry: a name by its pattern' },
  { marker: ['pauseReason', 'resumeReason', 'closeReason', 'retryReason'], at: /^page:(viewer|operator|admin) \/notifications\/:event_id(\/live)?$/, why: 'a reason stays visible on what it was given for, opened for whoever is signed in' },
  { marker: ['inUrl'], at: /^api:GET \/reports \(wrong address\)$/, why: 'the page answers alike whether or not there is such a link, and its forms go to where it is' },
  { marker: ['nested'], at: /^api:POST \/notifications \(refused\)$/, why: 'whoever sent a field that there is not is told which' },
  { marker: ['secretUrl', 'secretCode'], at: /^cli:show --message$/, why: 'the message as its provider gets it, for whoever holds the keys and asks for it; its destination is masked' },
];
