import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/**
 * The few questions that the starter asks a server before anyone else may use it ("are you ours?", "is there a
 * database?"), in the frontend/backend protocol 3.0 with SCRAM-SHA-256 (RFC 5802, RFC 7677). The product's own statements
 * never go this way: they live in shared/ledger. SCRAM proves both sides, so a stranger on the port learns no password.
 */
export interface ServerLogin { port: number; user: string; password: string; database: string }

/** The server answered, and said no. `code` is its SQLSTATE: 28P01 wrong password, 57P03 still starting or stopping. */
export class ServerRefusal extends Error {
  readonly code: string;

  constructor(code: string, text: string) {
    super(`${text} (${code})`);
    this.code = code;
  }
}

interface ServerMessage { type: string; body: Buffer }

async function* messagesOf(socket: Socket): AsyncGenerator<ServerMessage> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of socket as AsyncIterable<Buffer>) {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 5) {
      const end = 1 + pending.readUInt32BE(1);
      if (pending.length < end) break;
      yield { type: pending.toString('latin1', 0, 1), body: pending.subarray(5, end) };
      pending = pending.subarray(end);
    }
  }
}

const framed = (type: string, body: Buffer): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type, 'latin1'), length, body]);
};

const startupOf = ({ user, database }: ServerLogin): Buffer =>
  framed('', Buffer.concat([Buffer.from([0, 3, 0, 0]), Buffer.from(`user\0${user}\0database\0${database}\0\0`)]));

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();

/** One SCRAM exchange. The name is empty because Postgres takes the user from the startup message. */
const scram = (password: string) => {
  const clientFirst = `n=,r=${randomBytes(18).toString('base64')}`;
  let serverSignature: Buffer = Buffer.alloc(0);
  return {
    first: (): Buffer => {
      const text = Buffer.from(`n,,${clientFirst}`);
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length);
      return framed('p', Buffer.concat([Buffer.from('SCRAM-SHA-256\0'), length, text]));
    },
    answer: (serverFirst: string): Buffer => {
      const part = (name: string): string => serverFirst.split(',').find((field) => field.startsWith(`${name}=`))?.slice(2) ?? '';
      if (!part('r').startsWith(clientFirst.slice(5))) throw new Error('the server answered to another login');
      const salted = pbkdf2Sync(password, Buffer.from(part('s'), 'base64'), Number(part('i')), 32, 'sha256');
      const withoutProof = `c=biws,r=${part('r')}`;
      const exchange = `${clientFirst},${serverFirst},${withoutProof}`;
      const clientKey = hmac(salted, 'Client Key');
      const clientSignature = hmac(createHash('sha256').update(clientKey).digest(), exchange);
      serverSignature = hmac(hmac(salted, 'Server Key'), exchange);
      const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (clientSignature[index] ?? 0))).toString('base64');
      return framed('p', Buffer.from(`${withoutProof},p=${proof}`));
    },
    accept: (serverFinal: string): void => {
      const claimed = Buffer.from(serverFinal.replace(/^v=/, ''), 'base64');
      if (claimed.length !== serverSignature.length || !timingSafeEqual(claimed, serverSignature)) throw new Error('the server does not know our password');
    },
  };
};

const refusalOf = (body: Buffer): ServerRefusal => {
  const fields = body.toString('utf8').split('\0');
  const field = (name: string): string => fields.find((text) => text.startsWith(name))?.slice(1) ?? '';
  return new ServerRefusal(field('C'), field('M'));
};

const rowOf = (body: Buffer): string[] => {
  const columns: string[] = [];
  for (let at = 2; columns.length < body.readUInt16BE(0);) {
    const length = Math.max(body.readInt32BE(at), 0);
    columns.push(body.toString('utf8', at + 4, at + 4 + length));
    at += 4 + length;
  }
  return columns;
};

const converse = async (socket: Socket, login: ServerLogin, sql: string): Promise<string[][]> => {
  const exchange = scram(login.password);
  const rows: string[][] = [];
  let proved = false;
  let asked = false;
  const authenticate = (body: Buffer): void => {
    const step = body.readUInt32BE(0);
    const text = body.toString('utf8', 4);
    if (step === 10) socket.write(exchange.first());
    else if (step === 11) socket.write(exchange.answer(text));
    else if (step === 12) { exchange.accept(text); proved = true; }
    else if (step !== 0 || !proved) throw new Error('the server does not ask for the password as ours does');
  };
  socket.write(startupOf(login));
  for await (const { type, body } of messagesOf(socket)) {
    if (type === 'R') authenticate(body);
    else if (type === 'E') throw refusalOf(body);
    else if (type === 'D') rows.push(rowOf(body));
    else if (type === 'Z' && asked) { socket.end(framed('X', Buffer.alloc(0))); return rows; }
    else if (type === 'Z') { asked = true; socket.write(framed('Q', Buffer.from(`${sql}\0`))); }
  }
  throw new Error('the server closed the connection');
};

/**
 * Logs in on 127.0.0.1, runs one statement and returns its rows as texts (null as ''). Throws ServerRefusal where the
 * server says no, and an ordinary error where it is away, is no Postgres of ours, or takes longer than `timeoutMs`.
 */
export const askServer = async (login: ServerLogin, sql: string, timeoutMs = 2_000): Promise<string[][]> => {
  const socket = connect({ host: '127.0.0.1', port: login.port });
  const timer = setTimeout(() => socket.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
  try {
    return await converse(socket, login, sql);
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
};
