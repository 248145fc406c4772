/** The value of a cookie; null where it is not there. */
export const cookieIn = (header: string | undefined, name: string): string | null =>
  (header ?? '').split(';').map((pair) => pair.trim()).find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;

export interface SiteCookies { session: string; form: string; /** Sets a cookie until the browser closes. */ set: (name: string, value: string, sameSite: 'Lax' | 'Strict') => string; clear: (name: string) => string }

/**
 * The dashboard's cookies. Over https they have names that a browser takes only with Secure, for this host and all of it, so that no
 * neighbouring host can plant one.
 */
export const siteCookies = (secure: boolean): SiteCookies => {
  const prefix = secure ? '__Host-' : '';
  const attributes = (sameSite: string): string => `Path=/; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`;
  return {
    session: `${prefix}tocsin_session`, form: `${prefix}tocsin_login`,
    set: (name, value, sameSite) => `${name}=${value}; ${attributes(sameSite)}`,
    clear: (name) => `${name}=; ${attributes('Strict')}; Max-Age=0`,
  };
};
