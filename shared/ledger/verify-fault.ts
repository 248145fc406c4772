/** One thing that is not as it was written, with its place: where in the ledger, and in which column. */
export interface Fault {
  eventId: string | null;
  version: number | null;
  checkpoint: number | null;
  /** `table.column` for what is kept beside the entries, else the column of the entry, intent or checkpoint. */
  column: string;
  text: string;
}

export interface Faults {
  add: (place: Partial<Omit<Fault, 'column' | 'text'>>, column: string, text: string) => void;
  /** The first ones; memory stays flat where everything is wrong. */
  list: readonly Fault[];
  count: () => number;
}

/** Collects faults: keeps the first `limit`, counts all. */
export const collectFaults = (limit = 1_000): Faults => {
  const list: Fault[] = [];
  let count = 0;
  return {
    list,
    count: () => count,
    add: (place, column, text) => {
      count += 1;
      if (list.length < limit) list.push({ eventId: null, version: null, checkpoint: null, ...place, column, text });
    },
  };
};

/** Path of the first difference between two JSON values, e.g. `attempts[0].state`; null where they are equal. */
export const firstDifference = (left: unknown, right: unknown, path = ''): string | null => {
  if (Object.is(left, right)) return null;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null || Array.isArray(left) !== Array.isArray(right)) return path || 'value';
  const [one, other] = [left as Record<string, unknown>, right as Record<string, unknown>];
  for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const at = Array.isArray(left) ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`;
    if (Object.hasOwn(one, key) !== Object.hasOwn(other, key)) return at;
    const found = firstDifference(one[key], other[key], at);
    if (found !== null) return found;
  }
  return null;
};
