import type { StandaloneFile } from './data-dir.ts';

/** Whoever set REDIS_URL expects it to be used: it is told once, at the start, what goes on without it. Never the address, which may hold a password. */
const REDIS_AWAY = `
Redis does not answer at REDIS_URL. What is handed over is accepted, decided and sent all the same, by this process; the board of queues is away
until Redis is back, and then nothing has to be done. Start Redis, or correct REDIS_URL:  npx tocsin doctor
`;

/** What is said once everything answers, or all but the queue does. */
export const readyBanner = ({ intake, sandbox, dashboard, operator }: StandaloneFile, { seconds, queueAnswers }: { seconds: number; queueAnswers: boolean }): string => `
Tocsin is ready (${seconds.toFixed(1)} s).

  Support form    ${intake}/
  Sandbox inbox   ${sandbox}/            (what the providers received)
  Dashboard       ${dashboard}/            (user ${operator.user}, password ${operator.password || 'as it was changed'})
${queueAnswers ? '' : REDIS_AWAY}
Post the form, then follow its notification:  npx tocsin watch EVENT_ID
Stop with Ctrl-C.`;
