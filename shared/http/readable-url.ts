/**
 * Refuses a request target whose path is no percent-encoded UTF-8, or that holds a NUL anywhere: neither Postgres nor a queue can hold one, and a
 * library below would fail on it as on a defect of ours. Broken percent signs in a query stay as they are, as every form may send them.
 * @throws URIError, which says nothing of what was sent.
 */
export const refuseUnreadableUrl = (target: string): void => {
  const cut = target.indexOf('?');
  const path = decodeURIComponent(cut === -1 ? target : target.slice(0, cut));
  if (path.includes('\u0000') || /%00|\u0000/.test(cut === -1 ? '' : target.slice(cut))) throw new URIError('a NUL in the address');
};
