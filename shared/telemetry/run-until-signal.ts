/**
 * Keeps a service up until SIGINT or SIGTERM, then closes it in order and exits with 0. A second signal, or a close that
 * takes longer than `withinMs`, ends the process at once with 1: whatever was in hand is found again by the ledger.
 */
export const runUntilSignal = (close: () => Promise<void>, withinMs = 15_000): void => {
  let stopping = false;
  const stop = (): void => {
    if (stopping) process.exit(1);
    stopping = true;
    setTimeout(() => process.exit(1), withinMs).unref();
    close().then(() => process.exit(0), (error: unknown) => {
      process.stderr.write(`${(error as Error).message}\n`);
      process.exit(1);
    });
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
};

/** Starts a service; a refusal to start is one readable line and exit 1. */
export const startOrExplain = async (start: () => Promise<() => Promise<void>>): Promise<void> => {
  try {
    runUntilSignal(await start());
  } catch (error) {
    process.stderr.write(`${(error as Error).name === 'Error' ? '' : `${(error as Error).name}: `}${(error as Error).message}\n`);
    process.exit(1);
  }
};
