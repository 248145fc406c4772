import type { Boundary, Fault, FaultKind } from './plan.ts';

type Of<Kind extends FaultKind> = Extract<Fault, { kind: Kind }>;

/** Deals out the faults of a plan as their passes come round, and keeps which ones came to pass and where. */
export interface Faults {
  /** The fault that strikes at this pass of a boundary, on that side of it. */
  atBoundary: (boundary: string, side: 'before' | 'after') => Of<'crash' | 'stop'> | Of<'commit-answer-lost'> | null;
  /** The fault that strikes this time; each kind counts its own passes. */
  next: <Kind extends FaultKind>(kind: Kind) => Of<Kind> | null;
  all: <Kind extends FaultKind>(kind: Kind) => Of<Kind>[];
  struck: (fault: Fault, boundary?: string) => void;
  /** Kinds that came to pass, and `boundary fault` pairs. */
  readonly kinds: ReadonlySet<FaultKind>;
  readonly pairs: ReadonlyMap<string, number>;
}

export const createFaults = (faults: readonly Fault[]): Faults => {
  const passes = new Map<string, number>();
  const kinds = new Set<FaultKind>();
  const pairs = new Map<string, number>();
  const count = (what: string): number => {
    const passed = (passes.get(what) ?? 0) + 1;
    passes.set(what, passed);
    return passed;
  };
  const all = <Kind extends FaultKind>(kind: Kind): Of<Kind>[] => faults.filter((fault): fault is Of<Kind> => fault.kind === kind);
  const struck = (fault: Fault, boundary?: string): void => {
    kinds.add(fault.kind);
    if (boundary === undefined) return;
    const name = 'side' in fault ? `${fault.kind} ${fault.side}` : fault.kind;
    pairs.set(`${boundary} x ${name}`, (pairs.get(`${boundary} x ${name}`) ?? 0) + 1);
  };
  return {
    atBoundary: (boundary, side) => {
      const pass = count(`${boundary} ${side}`);
      const found = faults.find((fault): fault is Of<'crash' | 'stop'> => (fault.kind === 'crash' || fault.kind === 'stop') && fault.boundary === (boundary as Boundary) && fault.side === side && fault.pass === pass)
        ?? (side === 'after' ? all('commit-answer-lost').find((fault) => fault.boundary === (boundary as Boundary) && fault.pass === pass) : undefined) ?? null;
      if (found) struck(found, boundary);
      return found;
    },
    next: (kind) => {
      const pass = count(kind);
      const found = all(kind).find((fault) => 'pass' in fault && fault.pass === pass) ?? null;
      if (found) struck(found);
      return found;
    },
    all, struck, kinds, pairs,
  };
};
