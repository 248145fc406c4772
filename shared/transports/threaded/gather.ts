/** Passes on what was told to it within one turn of the event loop all at once, at the turn's end: a message between threads costs as much for ten as for two. */
export const createGatherer = <T>(passOn: (all: T[]) => void): ((one: T) => void) => {
  let gathered: T[] = [];
  const flush = (): void => {
    const all = gathered;
    gathered = [];
    passOn(all);
  };
  return (one) => {
    if (gathered.push(one) === 1) setImmediate(flush);
  };
};
