/**
 * Where somebody goes on after the login: a path of this site, or its first page. Whatever a browser could read as another host - a
 * scheme, `//host`, a backslash, a control character - is not followed.
 */
export const ownPath = (text: unknown): string => {
  if (typeof text !== 'string' || !/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(text)) return '/';
  const at = new URL(text, 'http://own.invalid');
  return at.host !== 'own.invalid' || at.pathname.startsWith('//') || /^\/log(in|out)$/.test(at.pathname) ? '/' : `${at.pathname}${at.search}`;
};
