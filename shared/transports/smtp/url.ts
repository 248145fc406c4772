import type { SMTPConnectionOptions } from 'nodemailer/lib/smtp-connection';

export interface SmtpTarget {
  options: Pick<SMTPConnectionOptions, 'host' | 'port' | 'secure' | 'requireTLS' | 'ignoreTLS' | 'tls'>;
  credentials: { user: string; pass: string } | null;
}

const DEFAULT_PORTS: Record<string, number> = { 'smtp:': 587, 'smtps:': 465 };
const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || /^127\./.test(host);
const isOn = (value: string | null): boolean => value === 'true' || value === '1';

/**
 * Reads an SMTP_URL: `smtp://user:pass@host:port` (STARTTLS where the server offers it) or `smtps://…` (TLS from the start).
 * Query: `requireTLS=true`, `ignoreTLS=true`, `rejectUnauthorized=false`. With credentials, and not on loopback, plain text is
 * refused unless `ignoreTLS` asks for it.
 *
 * @throws where it is no such URL; the error does not repeat it, for it holds a password
 */
export const readSmtpUrl = (text: string): SmtpTarget => {
  const url = URL.canParse(text) ? new URL(text) : null;
  const defaultPort = url && DEFAULT_PORTS[url.protocol];
  if (!url || !defaultPort || !url.hostname) throw new Error('SMTP_URL is not of the form smtp://user:pass@host:port or smtps://…');
  const host = decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1'));
  const credentials = url.username ? { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } : null;
  const ignoreTLS = isOn(url.searchParams.get('ignoreTLS'));
  const mustHideCredentials = credentials !== null && !ignoreTLS && !isLoopback(host);
  return {
    options: {
      host,
      port: url.port ? Number(url.port) : defaultPort,
      secure: url.protocol === 'smtps:',
      ignoreTLS,
      requireTLS: isOn(url.searchParams.get('requireTLS')) || mustHideCredentials,
      ...(url.searchParams.get('rejectUnauthorized') === 'false' ? { tls: { rejectUnauthorized: false } } : {}),
    },
    credentials,
  };
};
