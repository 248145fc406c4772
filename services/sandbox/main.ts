import { readSandboxConfig } from '../../shared/config/sandbox-config.ts';
import { startSandbox } from './sandbox.ts';

const sandbox = await startSandbox(readSandboxConfig());
process.stdout.write(`${JSON.stringify({ ready: true, http: sandbox.httpUrl, smtp: sandbox.smtpUrl, origin: sandbox.origin?.url })}\n`);

const stop = (): void => {
  void sandbox.close();
};
process.once('SIGTERM', stop);
process.once('SIGINT', stop);
