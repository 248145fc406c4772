import type { PayloadPart } from './words.ts';
import type { DetailsOf, Moment } from './explain-words.ts';
import { instant, listed } from './explain-words.ts';

const NAMES: Record<PayloadPart, string> = { secrets: 'the secret variables', variables: 'the variables', addresses: 'the addresses', precondition: 'the URL of the origin system' };

/** Parts of the payload that are gone for good. */
export const tellDestroyed = (d: DetailsOf<'PayloadDestroyed'>, { at }: Moment): string => (d.erasure ? tellErased(d.erasure, at) : tellGone(d, at));

const tellErased = ({ of, reason }: NonNullable<DetailsOf<'PayloadDestroyed'>['erasure']>, at: number): string =>
  `${of === 'recipient' ? 'the recipient was erased' : 'the player who wrote the ticket was erased'} at ${instant(at)} (${reason}): nothing that tells who it was is kept any more; this record stays as it is`;

const tellGone = (d: DetailsOf<'PayloadDestroyed'>, at: number): string =>
  (d.parts.every((part) => part === 'precondition')
    ? `${NAMES.precondition} was destroyed at ${instant(at)}, since nothing can be submitted any more and nobody asks there; this record stays as it is`
    : `${listed(d.parts.map((part) => NAMES[part]))} were destroyed at ${instant(at)}, so no message can be made from them any more; this record stays as it is`);
