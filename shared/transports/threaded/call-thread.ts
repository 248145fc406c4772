import { parentPort, workerData } from 'node:worker_threads';
import type { MessagePort } from 'node:worker_threads';
import type { Channel } from '../../domain/words.ts';
import { armFaultPoint } from '../../telemetry/fault-points.ts';
import { MAX_CONNECTIONS, openTransport } from '../open-transports.ts';
import type { Transport } from '../transport.ts';
import { createGatherer } from './gather.ts';
import type { Answer, Call, ThreadSettings, Told } from './words.ts';
import { KEPT_HERE, systemMs } from './words.ts';

/** The entry of the thread in which transports make their calls. It knows no database and no queue: it does what it is told and tells what came of it. */
const { channels, transports: settings, killAt } = workerData as ThreadSettings;
const port = parentPort as MessagePort;
if (killAt !== null) armFaultPoint(killAt);

let aheadMs = 0;
const open = (channel: Channel): Transport => openTransport(channel, { ...settings, now: () => Date.now() + aheadMs }, MAX_CONNECTIONS[channel] - KEPT_HERE);
const transports = new Map(channels.map((channel) => [channel, open(channel)]));
const answer = createGatherer<Answer>((answers) => port.postMessage(answers));

const perform = async (transport: Transport, call: Call): Promise<unknown> => {
  switch (call.method) {
    case 'submit': {
      const { startsBy, ...request } = call.request;
      return transport.submit({ ...request, mayStart: () => systemMs() <= startsBy });
    }
    case 'readStatus':
      return transport.readStatus?.(call.request);
    case 'lookUp':
      return transport.lookUp?.(call.request);
    case 'readInbound':
      return transport.readInbound?.(call.request);
  }
};

const take = (call: Call): void => {
  perform(transports.get(call.channel) as Transport, call).then(
    (result) => answer({ id: call.id, result }),
    ({ name, message }: Error) => answer({ id: call.id, error: { name, message } }),
  );
};

port.on('message', (told: Told) => {
  if (told === 'end') {
    // Nothing else keeps the thread alive once its connections are closed.
    void Promise.allSettled([...transports.values()].map((transport) => transport.close())).then(() => port.close());
    return;
  }
  ({ aheadMs } = told);
  for (const call of told.calls) take(call);
});
