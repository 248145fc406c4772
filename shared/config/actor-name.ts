/**
 * Whether a name may stand in the ledger as who acted: the ledger is for ever, and clear text, so no address and no number that
 * could be called.
 */
export const isActorName = (text: string): boolean => /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/.test(text) && text.replace(/\D/g, '').length <= 6;
