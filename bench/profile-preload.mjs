// Loaded before a measured service: begins a CPU profile when it is told to (SIGUSR2), writes it when told again.
import { Session } from 'node:inspector';
import { writeFileSync } from 'node:fs';

const session = new Session();
session.connect();
let running = false;
process.on('SIGUSR2', () => {
  if (!running) session.post('Profiler.enable', () => session.post('Profiler.setSamplingInterval', { interval: 500 }, () => session.post('Profiler.start')));
  else session.post('Profiler.stop', (_error, { profile }) => writeFileSync(`${process.env.BENCH_PROFILE}.cpuprofile`, JSON.stringify(profile)));
  running = !running;
});
