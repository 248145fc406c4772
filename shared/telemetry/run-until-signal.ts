/** One Ctrl-C can arrive twice: from the terminal, and once more from the npm that was asked too. */
const SAME_SIGNAL_WITHIN_MS = 1_500;

/**
 * Keeps a service up until SIGINT or SIGTERM, then closes it in order and exits with 0. Asked again a while later, or where
 * closing takes longer than `withinMs`, the process ends at once with 1: whatever was in hand is found again by the ledger.
 */
export const runUntilSignal = (close: () => Promise<void>, withinMs = 15_000): void => {
  let askedAt: number | null = null;
  const stop = (): void => {
    if (askedAt !== null) {
      if (performance.now() - askedAt > SAME_SIGNAL_WITHIN_MS) process.exit(1);
      return;
    }
    askedAt = performance.now();
    setTimeout(() => process.exit(1), withinMs).unref();
    close().then(() => process.exit(0), (error: unknown) => {
      process.stderr.write(`${(error as Error).message}\n`);
      process.exit(1);
    });
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
};

/**
 * Starts a service; a refusal to start is one readable line and exit 1. A signal that comes while it starts is obeyed once what was
 * begun can be undone: as process 1 of a container it would be deaf to one that it does not ask for.
 */
export const startOrExplain = async (start: () => Promise<() => Promise<void>>): Promise<void> => {
  try {
    const starting = start();
    runUntilSignal(async () => { await starting.then((close) => close(), () => undefined); });
    await starting;
  } catch (error) {
    process.stderr.write(`${(error as Error).name === 'Error' ? '' : `${(error as Error).name}: `}${(error as Error).message}\n`);
    process.exit(1);
  }
};
