import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

export interface SelfSigned { key: string; certificate: string }

const DAY_MS = 86_400_000;

/** One DER value (X.690): tag, length, content. */
const der = (tag: number, ...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts);
  const long = content.length > 255 ? [0x82, content.length >> 8, content.length & 0xff] : [0x81, content.length];
  return Buffer.concat([Buffer.from([tag, ...(content.length < 128 ? [content.length] : long)]), content]);
};
const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (at: number): Buffer => der(0x17, Buffer.from(`${new Date(at).toISOString().replace(/\D/g, '').slice(2, 14)}Z`));
const bits = (content: Buffer): Buffer => der(0x03, Buffer.from([0]), content);
const extension = (id: string, critical: boolean, value: Buffer): Buffer => sequence(oid(id), ...(critical ? [der(0x01, Buffer.from([0xff]))] : []), der(0x04, value));
const pem = (content: Buffer): string => `-----BEGIN CERTIFICATE-----\n${(content.toString('base64').match(/.{1,64}/g) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`;

const ECDSA_SHA256 = sequence(oid('2a8648ce3d040302'));
const COMMON_NAME = '550403';
const BASIC_CONSTRAINTS = '551d13';
const ALTERNATIVE_NAMES = '551d11';

/**
 * A key (P-256) and a certificate that signs itself (RFC 5280), for 127.0.0.1, ::1 and these names; for stand-ins only. Whoever calls
 * one has to be given the certificate as an authority.
 */
export const makeSelfSigned = (names: readonly string[] = ['localhost'], now = Date.now()): SelfSigned => {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const name = sequence(der(0x31, sequence(oid(COMMON_NAME), der(0x0c, Buffer.from('Tocsin sandbox')))));
  const alternatives = sequence(
    der(0x87, Buffer.from([127, 0, 0, 1])), der(0x87, Buffer.concat([Buffer.alloc(15), Buffer.from([1])])),
    ...names.map((one) => der(0x82, Buffer.from(one, 'ascii'))),
  );
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), der(0x02, Buffer.concat([Buffer.from([0x4b]), randomBytes(15)])), ECDSA_SHA256, name,
    sequence(utcTime(now - DAY_MS), utcTime(now + 3_650 * DAY_MS)), name, publicKey.export({ format: 'der', type: 'spki' }),
    der(0xa3, sequence(extension(BASIC_CONSTRAINTS, true, sequence(der(0x01, Buffer.from([0xff])))), extension(ALTERNATIVE_NAMES, false, alternatives))),
  );
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    certificate: pem(sequence(content, ECDSA_SHA256, bits(sign('sha256', content, privateKey)))),
  };
};
