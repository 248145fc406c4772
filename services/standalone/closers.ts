/** What has to be closed again, in the opposite order of its opening; one that fails does not keep the others open. */
export const createClosers = (): { add: (close: () => Promise<void>) => void; closeAll: () => Promise<void> } => {
  const open: (() => Promise<void>)[] = [];
  return {
    add: (close) => { open.push(close); },
    closeAll: async () => {
      for (let close = open.pop(); close; close = open.pop()) {
        await close().catch((error: unknown) => process.stderr.write(`while stopping: ${(error as Error).message}\n`));
      }
    },
  };
};
