import type { Boundary, Fault, FaultKind } from './plan.ts';

type Of<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;

const NONE: readonly Fault[] = [];

/** Deals out the faults of a plan as their passes come round, and keeps which ones came to pass and where. */
export interface Faults {
  /** The fault that strikes at this pass of a boundary, on that side of it. */
  atBoundary: (boundary: string, side: 'before' | 'after') => Of<'crash' | 'stop'> | Of<'commit-answer-lost'> | null;
  /** The fault that strikes this time; each kind counts its own passes, and where `again` is said those of a second time for themselves. */
  next: <Kind extends FaultKind>(kind: Kind, again?: boolean) => Of<Kind> | null;
  all: <Kind extends FaultKind>(kind: Kind) => Of<Kind>[];
  struck: (fault: Fault, boundary?: Boundary) => void;
  /** Kinds that came to pass, and `boundary fault` pairs. */
  readonly kinds: ReadonlySet<FaultKind>;
  readonly pairs: ReadonlyMap<string, number>;
}

/** Faults by what they wait for; nothing is counted that no fault waits for. */
const grouped = <One extends Fault>(faults: readonly One[], nameOf: (fault: One) => string): Map<string, One[]> => {
  const groups = new Map<string, One[]>();
  for (const fault of faults) groups.set(nameOf(fault), [...(groups.get(nameOf(fault)) ?? []), fault]);
  return groups;
};

const isAtBoundary = (fault: Fault): fault is Of<'crash' | 'stop'> | Of<'commit-answer-lost'> => 'boundary' in fault;
// Of a lost answer the plan names no side: it is lost after the statement.
const placeOf = (fault: Of<'crash' | 'stop'> | Of<'commit-answer-lost'>): string => `${fault.boundary} ${'side' in fault ? fault.side : 'after'}`;

export const createFaults = (faults: readonly Fault[]): Faults => {
  const passes = new Map<string, number>();
  const kinds = new Set<FaultKind>();
  const pairs = new Map<string, number>();
  const byKind = grouped(faults, (fault) => fault.kind);
  // A crash or a stop goes before an answer that is lost at the same pass.
  const byPlace = grouped([...faults].filter(isAtBoundary).sort((one, other) => Number(one.kind === 'commit-answer-lost') - Number(other.kind === 'commit-answer-lost')), placeOf);
  const count = (what: string): number => {
    const passed = (passes.get(what) ?? 0) + 1;
    passes.set(what, passed);
    return passed;
  };
  const all = <Kind extends FaultKind>(kind: Kind): Of<Kind>[] => (byKind.get(kind) ?? NONE) as Of<Kind>[];
  const struck = (fault: Fault, boundary?: Boundary): void => {
    kinds.add(fault.kind);
    if (boundary === undefined) return;
    const name = 'side' in fault ? `${fault.kind} ${fault.side}` : fault.kind;
    pairs.set(`${boundary} x ${name}`, (pairs.get(`${boundary} x ${name}`) ?? 0) + 1);
  };
  return {
    atBoundary: (boundary, side) => {
      const place = `${boundary} ${side}`;
      const waiting = byPlace.get(place);
      if (!waiting) return null;
      const pass = count(place);
      const found = waiting.find((fault) => fault.pass === pass) ?? null;
      if (found) struck(found, found.boundary);
      return found;
    },
    next: (kind, again = false) => {
      const waiting = all(kind).filter((fault) => ('again' in fault ? fault.again : false) === again);
      if (waiting.length === 0) return null;
      const pass = count(again ? `${kind} again` : kind);
      const found = waiting.find((fault) => 'pass' in fault && fault.pass === pass) ?? null;
      if (found) struck(found);
      return found;
    },
    all, struck, kinds, pairs,
  };
};
