import type net from 'node:net';
import { startTcpServer } from './http-server.ts';

export interface Delivered { from: string; to: string[]; data: string }
type Verb = 'GREETING' | 'EHLO' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'DOT' | 'RSET' | 'QUIT';
/** A reply line, or what to do with the connection instead. */
export type Act = string | ((socket: net.Socket) => void);

const REPLIES: Record<Verb, Act> = {
  GREETING: '220 test', EHLO: '250-test\r\n250-SIZE 100000\r\n250 8BITMIME', AUTH: '235 welcome', MAIL: '250 ok', RCPT: '250 ok', DATA: '354 go ahead',
  DOT: '250 queued', RSET: '250 reset', QUIT: '221 bye',
};

/**
 * An SMTP server of a few lines that records every byte it gets and departs from the polite answers as told, which a real one
 * cannot be made to do.
 */
export const startScriptedSmtp = async (script: Partial<Record<Verb, Act>> = {}) => {
  let replies = { ...REPLIES, ...script };
  const verbs: string[] = [];
  const messages: Delivered[] = [];
  let connections = 0;

  const server = await startTcpServer((socket) => {
    connections += 1;
    let pending = '';
    let inData = false;
    let mail: Delivered = { from: '', to: [], data: '' };
    const act = (verb: Verb) => {
      const reply = replies[verb] ?? '500 no such command';
      if (typeof reply === 'string') socket.write(`${reply}\r\n`);
      else reply(socket);
      if (verb === 'QUIT') socket.end();
    };
    const onLine = (line: string) => {
      verbs.push(line);
      const verb = line.slice(0, 4).toUpperCase().trim() as Verb;
      if (verb === 'MAIL') mail = { from: line, to: [], data: '' };
      if (verb === 'RCPT') mail.to.push(line);
      if (verb === 'DATA') inData = typeof replies.DATA !== 'string' || replies.DATA.startsWith('354');
      act(verb);
    };
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      pending += chunk;
      while (!socket.destroyed) {
        const mark = inData ? '\r\n.\r\n' : '\r\n';
        const end = pending.indexOf(mark);
        if (end < 0) return;
        const text = pending.slice(0, end);
        pending = pending.slice(end + mark.length);
        if (!inData) {
          onLine(text);
          continue;
        }
        inData = false;
        // the line end before the dot belongs to the message; a doubled dot at a line's start is one
        messages.push({ ...mail, data: Buffer.from(`${text}\r\n`.replace(/^\./gm, ''), 'latin1').toString('utf8') });
        act('DOT');
      }
    });
    act('GREETING');
  });
  return {
    url: `smtp://127.0.0.1:${server.port}`,
    port: server.port,
    verbs,
    messages,
    sockets: server.sockets,
    connections: () => connections,
    answerWith: (next: Partial<Record<Verb, Act>>) => { replies = { ...REPLIES, ...next }; },
    close: server.close,
  };
};
