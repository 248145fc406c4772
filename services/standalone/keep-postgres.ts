import { startEmbeddedPostgres } from './embedded-postgres.ts';
import type { EmbeddedPostgres } from './embedded-postgres.ts';

export interface KeptPostgres { url: string; close: () => Promise<void> }

/** The embedded Postgres, started again on the same port should it end under us. */
export const keepPostgres = async (settings: { dataDir: string; say: (line: string) => void }): Promise<KeptPostgres> => {
  const { dataDir, say } = settings;
  let closed = false;
  let restarting: Promise<unknown> = Promise.resolve();
  let current: EmbeddedPostgres;
  const start = (port: number): Promise<EmbeddedPostgres> => startEmbeddedPostgres({
    dataDir, port, log: say,
    onUnexpectedExit: () => {
      if (closed) return;
      say('postgres: ended unexpectedly, starting it again');
      restarting = start(Number(new URL(current.url).port)).then((again) => { current = again; }, (error: unknown) => say(`postgres: ${(error as Error).message}`));
    },
  });
  current = await start(0);
  return {
    url: current.url,
    close: async () => {
      closed = true;
      await restarting;
      await current.stop();
    },
  };
};
