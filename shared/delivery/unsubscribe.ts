import type { Engine } from './engine.ts';
import { openToken, sealToken } from '../security/opaque-token.ts';
import { addressPrint } from './suppression.ts';

const PURPOSE = 'unsubscribe';
/** From the acceptance of its notification on. The law wants 30 days after sending (CAN-SPAM); an old mail is found again later than that. */
const LINK_LIVES_MS = 400 * 86_400_000;

/** What a link to unsubscribe stands for. All of it is in the link itself, so that it works when everything else has been destroyed. */
export interface Unsubscription { tenant: string; addressPrint: Buffer; senderPrint: Buffer; madeAt: number }

/**
 * The token of the link in a message to that address: for that tenant, our sender of today and mail of the classes that carry such links. Null where our sender is not known.
 * The same input gives the same token, and tokens of different messages do not show that they are one person's.
 */
export const unsubscribeToken = ({ ring, mailingPrint }: Pick<Engine, 'ring' | 'mailingPrint'>, to: { tenant: string; email: string; madeAt: number }): string | null => {
  if (mailingPrint === null) return null;
  const parts = [to.tenant, addressPrint(ring, 'email', to.email).toString('base64url'), Buffer.from(mailingPrint, 'hex').toString('base64url'), to.madeAt];
  return sealToken(ring, PURPOSE, JSON.stringify(parts));
};

/** Reads a token; null where it was changed, was never made here or is too old: no more is said of it. */
export const readUnsubscribeToken = ({ ring, now }: Pick<Engine, 'ring' | 'now'>, token: string): Unsubscription | null => {
  const text = openToken(ring, PURPOSE, token);
  if (text === null) return null;
  const [tenant, address, sender, madeAt] = JSON.parse(text) as [string, string, string, number];
  return now() - madeAt > LINK_LIVES_MS ? null : { tenant, addressPrint: Buffer.from(address, 'base64url'), senderPrint: Buffer.from(sender, 'base64url'), madeAt };
};

/**
 * Does what the recipient asks for: once this resolves, no submission of such mail to that address is started any more (docs/decisions/0013).
 * False where it was so already.
 */
export const unsubscribe = async (engine: Pick<Engine, 'ledger' | 'metrics' | 'now'>, { tenant, addressPrint: address, senderPrint }: Unsubscription): Promise<boolean> => {
  const added = await engine.ledger.suppress({
    tenant, channel: 'email', addressPrint: address, senderPrint, reason: 'unsubscribed', source: 'unsubscribe', at: engine.now(), actor: 'recipient',
  });
  engine.metrics.optOuts.inc({ kind: 'unsubscribe', result: added ? 'suppressed' : 'standing' });
  return added;
};
