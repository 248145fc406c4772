import type net from 'node:net';
import { performance } from 'node:perf_hooks';
import { afterEach, beforeEach, describe, expect, it, test } from '@jest/globals';
import type { RunningSandbox } from '../../services/sandbox/sandbox.ts';
import { PROVIDERS } from '../../shared/transports/carriers.ts';
import type { InboundReading, Transport } from '../../shared/transports/transport.ts';
import { stoppedClock } from '../sandbox/support.ts';
import { startSandboxFor } from '../support/sandbox-providers.ts';
import { closedPort, startTcpServer } from './http-server.ts';
import { EVERY_SUBJECT, submission, SUBJECTS } from './subjects.ts';

/** What every transport promises, whatever its provider does. */
const LIMIT_MS = 200;
/** Room for a busy machine; a transport without a limit of its own would hang until the test's. */
const SLACK_MS = 1_500;

type Behaviour = (socket: net.Socket) => void;

/** Sends a byte now and then for as long as the connection stands. */
const dribble = (socket: net.Socket, opening: string, byte: string) => {
  socket.write(opening);
  const timer = setInterval(() => socket.write(byte), 20);
  socket.on('close', () => clearInterval(timer));
};
const onFirstData = (act: Behaviour): Behaviour => (socket) => { socket.once('data', () => act(socket)); };

const behaviours: [string, Behaviour][] = [
  ['accepts connections and never says a word', () => undefined],
  ['hangs up at once', (socket) => socket.destroy()],
  ['resets at once', (socket) => socket.resetAndDestroy()],
  ['reads and hangs up', onFirstData((socket) => socket.end())],
  ['reads and resets', onFirstData((socket) => socket.resetAndDestroy())],
  ['talks nonsense', (socket) => socket.end('\0\x01\x02 nonsense\r\n\r\n'.repeat(10))],
  ['dribbles a line that never ends', (socket) => dribble(socket, '2', '2')],
  ['dribbles an HTTP body that never ends', onFirstData((socket) => dribble(socket, 'HTTP/1.1 201 Created\r\nContent-Length: 9999\r\n\r\n{', ' '))],
  ['dribbles HTTP headers that never end', onFirstData((socket) => dribble(socket, 'HTTP/1.1 201 Created\r\nX: ', 'x'))],
  ['dribbles SMTP lines that never end', (socket) => dribble(socket, '220-a\r\n', '220-b\r\n')],
  ['greets and never goes on', (socket) => { socket.write('220 hello\r\n'); }],
];

const elapsed = async <T>(work: Promise<T>): Promise<{ result: T; ms: number }> => {
  const from = performance.now();
  return { result: await work, ms: performance.now() - from };
};

it('covers every transport there is', () => expect(SUBJECTS.map(({ name }) => name).sort()).toEqual(Object.keys(PROVIDERS).sort()));

describe.each(EVERY_SUBJECT)('the $title transport', (subject) => {
  const { name, channel, threaded } = subject;
  const at = (port: number) => subject.at(port, LIMIT_MS);
  const request = (mayStart?: () => boolean, startWithinMs?: number) => submission(subject.message('01'), mayStart, startWithinMs);

  it('goes by its name and its channel, and can what it declares', async () => {
    const transport = at(1);
    const { reconcile, dedup, statusByPoll, evidence } = transport.capabilities;
    expect([transport.name, transport.channel]).toEqual([name, channel]);
    expect(transport.capabilities).toEqual(PROVIDERS[name].capabilities);
    expect(statusByPoll).toBe(transport.readStatus !== undefined);
    expect(reconcile === 'reference' || reconcile === 'heuristic').toBe(transport.lookUp !== undefined);
    expect(reconcile === 'replay').toBe(dedup === 'replay');
    expect(evidence === 'none').toBe(!statusByPoll);
    await transport.close();
  });

  test.each(behaviours)('ends in time, with an answer, at a server that %s', async (_name, behaviour) => {
    const server = await startTcpServer(behaviour);
    const transport = at(server.port);
    const { result, ms } = await elapsed(transport.submit(request()));
    expect(['deferred', 'unknown']).toContain(result.kind);
    expect(ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    if (transport.readStatus) {
      const reading = await elapsed(transport.readStatus({ attemptKey: 'k', providerMessageId: 'SM1', to: '' }));
      expect(reading.result.kind).toBe('read_failed');
      expect(reading.ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    }
    if (transport.readInbound) {
      const heard = await elapsed(transport.readInbound({ to: '+12025550199', since: 0, page: null }));
      expect(heard.result.kind).toBe('read_failed');
      expect(heard.ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    }
    if (transport.lookUp) {
      const found = await elapsed(transport.lookUp({ attemptKey: 'k', reference: 'NPQRSS1', to: '', from: '', submissionStartedAt: 0 }));
      expect(found.result.kind).toBe('read_failed');
      expect(found.ms).toBeLessThan(LIMIT_MS + SLACK_MS);
    }
    expect((await elapsed(transport.close())).ms).toBeLessThan(SLACK_MS);
    await server.close();
  });

  it('writes nothing of the message before the fence is asked, and nothing after it refused', async () => {
    const seen: string[] = [];
    const server = await startTcpServer((socket) => {
      if (name === 'smtp') socket.write('220 hello\r\n');
      socket.on('data', (chunk) => {
        const text = chunk.toString('latin1');
        seen.push(text);
        if (text.startsWith('EHLO')) socket.write('250 hello\r\n');
        if (text.startsWith('QUIT')) socket.end();
      });
    });
    const transport = at(server.port);
    let asked = 0;
    const refuse = () => {
      asked += 1;
      return false;
    };
    expect(await transport.submit(request(refuse, -1))).toEqual({ kind: 'abandoned', reason: 'start_too_late' });
    await transport.close();
    expect(asked).toBe(threaded ? 0 : 1);
    expect(seen.join('')).not.toMatch(/POST|MAIL|RCPT|DATA|hello/);
    await server.close();
  });

  it('says that nothing was sent, and asks no fence, where nobody listens', async () => {
    const transport = at(await closedPort());
    let asked = 0;
    expect(await transport.submit(request(() => { asked += 1; return true; }))).toEqual({ kind: 'deferred', reason: 'connection_refused', retryAfterMs: null });
    expect(asked).toBe(0);
    await transport.close();
  });

  it('may be closed twice and takes nothing afterwards', async () => {
    const transport = at(await closedPort());
    await transport.close();
    await transport.close();
    expect(await transport.submit(request())).toMatchObject({ kind: 'deferred' });
  });

  it('refuses a message of another channel as the mistake it is', async () => {
    const transport = at(1);
    const other = SUBJECTS.find((candidate) => candidate.channel !== channel) ?? subject;
    await expect(transport.submit({ ...request(), message: other.message('01') })).rejects.toThrow('only');
    await transport.close();
  });

  it('leaves no connection behind', async () => {
    // reads, for the end of a connection is only seen behind what was sent on it
    const server = await startTcpServer((socket) => { socket.resume(); });
    const transport = at(server.port);
    await transport.submit(request());
    await transport.close();
    await Promise.all([...server.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve))));
    expect(server.sockets.size).toBe(0);
    await server.close();
  });
});

describe.each(EVERY_SUBJECT)('the $title transport at its stand-in', (subject) => {
  const { name, channel } = subject;
  let sandbox: RunningSandbox;
  let transport: Transport;
  let clock: ReturnType<typeof stoppedClock>;
  beforeEach(async () => {
    clock = stoppedClock();
    sandbox = await startSandboxFor({ now: clock.now });
    transport = subject.inSandbox(sandbox, 1_000);
  });
  afterEach(async () => {
    await transport.close();
    await sandbox.close();
  });
  const submitTo = (ending: string) => transport.submit(submission(subject.message(ending)));
  const submitAs = async (script: unknown[]) => {
    expect(sandbox.setScenario(subject.message('50').to, script)).toBeNull();
    return submitTo('50');
  };
  const { reconcile, dedup, statusByPoll } = PROVIDERS[name].capabilities;

  it('hands over one message, byte for byte the same each time, under the attempt key', async () => {
    expect(await submitTo('50')).toMatchObject({ kind: 'accepted', providerMessageId: expect.any(String) });
    const [first] = sandbox.messages();
    expect(first).toMatchObject({ channel, to: subject.message('50').to, attempt_key: submission(subject.message('50')).attemptKey });
    await submitTo('50');
    const hashes = [...sandbox.messages(), ...sandbox.refused()].map((message) => message.content_sha256);
    expect(new Set(hashes)).toEqual(new Set([first?.content_sha256]));
    expect(hashes).toHaveLength(2);
  });

  test.each([
    ['a refused recipient ends it', [{ submit: 'reject' }], { kind: 'rejected', reason: 'invalid_destination' }],
    ['a throttle is no failure', [{ submit: 'throttle', retryAfter: 7 }], { kind: 'deferred' }],
    ['a lost answer leaves it unknown', [{ submit: 'lose_response' }], { kind: 'unknown', reason: 'lost_response' }],
    ['silence leaves it unknown', [{ submit: 'hang', accepted: true }], { kind: 'unknown', reason: 'request_timeout' }],
    ['nonsense leaves it unknown', [{ submit: 'nonsense', accepted: true }], { kind: 'unknown', reason: 'answer_not_understood' }],
  ])('%s', async (_name, script, result) => {
    expect(await submitAs(script)).toMatchObject(result);
    expect(sandbox.messages().length + sandbox.refused().length).toBe(1);
  });

  it('never takes an error after the fact for a refusal', async () => {
    const result = await submitAs([{ submit: 'fail_after_accept' }]);
    // a mail server's refusal after the data is definite by the protocol, so that a message may come twice there
    expect(result.kind).toBe(name === 'smtp' ? 'deferred' : 'unknown');
  });

  it('does not lose an attempt to a port that is closed for a while', async () => {
    await sandbox.setOutage('sms', 'closed');
    await sandbox.setOutage('email', 'closed');
    expect(await submitTo('50')).toMatchObject({ kind: 'deferred', reason: 'connection_refused' });
    await sandbox.setOutage('email', 'off');
    await sandbox.setOutage('sms', 'off');
    expect(await submitTo('50')).toMatchObject({ kind: 'accepted' });
    expect(sandbox.messages()).toHaveLength(1);
  });

  if (statusByPoll) describe('that tells statuses', () => {
    const statusOf = async (id: string, to = subject.message('01').to) => transport.readStatus?.({ attemptKey: 'k', providerMessageId: id, to });
    const idOf = async (ending: string): Promise<string> => {
      const result = await submitTo(ending);
      return result.kind === 'accepted' ? result.providerMessageId : '';
    };

    it.each([['01', 'delivered'], ['02', 'undelivered'], ['03', 'accepted'], ['04', 'accepted']])('%s is %s in the end', async (ending, outcome) => {
      const id = await idOf(ending);
      expect(await statusOf(id, subject.message(ending).to)).toMatchObject({ kind: 'observed', outcome: 'pending' });
      clock.advance(10_000);
      expect(await statusOf(id, subject.message(ending).to)).toMatchObject({ kind: 'observed', outcome });
    });

    it('knows a status also where the address has been erased', async () => {
      const id = await idOf('01');
      clock.advance(10_000);
      expect(await statusOf(id, '')).toMatchObject({ kind: 'observed', outcome: 'delivered' });
    });

    it('does not know an id it never gave', async () => expect(await statusOf('nobody')).toMatchObject({ kind: 'not_found' }));

    it('takes a failed read for no evidence, a 404 for not yet visible, and a new word for unknown', async () => {
      sandbox.setScenario(subject.message('01').to, [{ readFails: 1, httpStatus: 429, retryAfter: 3 }, { notFoundTimes: 1 }, { status: 'teleported' }]);
      const id = await idOf('01');
      expect(await statusOf(id)).toMatchObject({ kind: 'read_failed', reason: 'rate_limited', retryAfterMs: 3_000 });
      expect(await statusOf(id)).toMatchObject({ kind: 'not_found' });
      expect(await statusOf(id)).toMatchObject({ kind: 'observed', outcome: 'unknown', reason: 'status_not_recognised' });
    });
  });

  if (reconcile === 'reference' || reconcile === 'heuristic') it('finds by our reference what was accepted without an answer, and nothing that was not', async () => {
    const look = () => transport.lookUp?.({ ...submission(subject.message('07')), reference: 'NPQRSS1', to: subject.message('07').to, from: '+12025550199', submissionStartedAt: clock.now() - 1_000 });
    expect(await look()).toEqual({ kind: 'none' });
    expect(await submitTo('07')).toMatchObject({ kind: 'unknown' });
    expect(await look()).toMatchObject({ kind: 'found', providerMessageId: sandbox.messages()[0]?.id });
    await submitTo('07');
    expect(await look()).toEqual({ kind: 'several', matches: 2 });
  });

  if (channel === 'sms') describe('that tells what people text back', () => {
    const OURS = '+12025550199';
    const heardSince = async (since: number) => {
      const texts: string[] = [];
      const ids = new Set<string>();
      let pages = 0;
      for (let page: string | null = null; ; pages += 1) {
        const reading: InboundReading | undefined = await transport.readInbound?.({ to: OURS, since, page });
        if (reading?.kind !== 'read') throw new Error(reading?.kind);
        for (const { id, from, text, receivedAt } of reading.messages) {
          expect([from, receivedAt]).toEqual(['+12025550101', expect.any(Number)]);
          texts.push(text);
          ids.add(id);
        }
        if (reading.next === null) return { texts, ids, pages: pages + 1 };
        page = reading.next;
      }
    };
    const receive = (text: string, to = OURS): void => sandbox.receive({ from: '+12025550101', to, text });

    it('names sender, text, instant and an id that is the same at every read; the newest first, and nothing of others', async () => {
      await submitTo('01');
      receive('first');
      receive('to somebody else', '+12025550198');
      clock.advance(1_000);
      receive('STOP');
      const { texts, ids } = await heardSince(clock.now() - 60_000);
      expect(texts).toEqual(['STOP', 'first']);
      expect([...(await heardSince(clock.now() - 60_000)).ids]).toEqual([...ids]);
      expect(await transport.readInbound?.({ to: OURS, since: clock.now() - 60_000, page: null })).toMatchObject({ messages: [{ receivedAt: clock.now() }, { receivedAt: clock.now() - 1_000 }] });
    });

    it('tells all of many pages, and nothing that is older than asked for', async () => {
      receive('long ago');
      clock.advance(3_600_000);
      for (let n = 0; n < 230; n += 1) {
        receive(`text ${n}`);
        clock.advance(1_000);
      }
      const { texts, ids, pages } = await heardSince(clock.now() - 600_000);
      expect([pages, ids.size, texts[0], texts.at(-1)]).toEqual([3, 230, 'text 229', 'text 0']);
    });

    it('takes a failed read for no evidence', async () => {
      sandbox.setScenario(OURS, [{ readFails: 1, of: 'listing', httpStatus: 429, retryAfter: 7 }]);
      expect(await transport.readInbound?.({ to: OURS, since: 0, page: null })).toMatchObject({ kind: 'read_failed', reason: 'rate_limited', retryAfterMs: 7_000 });
      expect(await transport.readInbound?.({ to: OURS, since: 0, page: null })).toMatchObject({ kind: 'read', messages: [], next: null });
    });
  });
  else it('has nothing to tell of what people text back', () => expect(transport.readInbound).toBeUndefined());

  if (dedup === 'replay') it('learns by submitting again what was accepted without an answer, and sends nothing twice', async () => {
    expect(await submitTo('07')).toMatchObject({ kind: 'unknown' });
    expect(await submitTo('07')).toMatchObject({ kind: 'accepted', providerMessageId: sandbox.messages()[0]?.id });
    expect(sandbox.messages()).toHaveLength(1);
  });
});
