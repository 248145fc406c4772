import { startIntake } from './intake.ts';
import { startWorkers } from './workers.ts';

const part = process.argv[2];
if (part !== 'intake') await startWorkers();
const url = part === 'workers' ? '' : await startIntake();
process.stdout.write(`${JSON.stringify({ ready: true, url })}\n`);
