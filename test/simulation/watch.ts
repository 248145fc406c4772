import type { Commit } from './memory-ledger.ts';
import type { Receipt } from './provider.ts';

/** A broken promise, by its name. */
export interface Violation { invariant: string; about: string; at: number }

export interface Started { at: number; committedAt: number }

/** What the checks keep between the steps, of one notification. */
export interface Book {
  planned: Set<number>; claimed: Set<number>; attempts: Set<string>;
  /** Per attempt: submissions as the ledger started them. */
  started: Map<string, Started[]>;
  /** Per attempt: calls whose bytes arrived. */
  receipts: Map<string, Receipt[]>;
  /** Per attempt: the provider's last wish not to be called before an instant, heard or not. */
  wished: Map<string, number>;
  /** Per attempt: not before that instant may another call arrive. */
  notBefore: Map<string, number>;
  ended: Map<string, string>;
  /** Per attempt: on what its next submission after an unknown one rests. */
  basis: Map<string, string>;
  closedAt: number | null;
  pausedAt: number | null;
  expiresAt: number;
}

export const openBook = (expiresAt: number): Book => ({
  planned: new Set(), claimed: new Set(), attempts: new Set(), started: new Map(), receipts: new Map(), wished: new Map(), notBefore: new Map(), ended: new Map(), basis: new Map(), closedAt: null, pausedAt: null, expiresAt,
});

export interface Told { transition: { kind: string; details: Record<string, unknown> }; at: number; version: number }

/** The entries of a commit as their stored text says them. */
export const toldBy = (commit: Commit): Told[] => commit.entries.map((entry) => {
  const body = JSON.parse(entry.body) as { at: number; kind: string; details: Record<string, unknown> };
  return { at: body.at, version: entry.version, transition: { kind: body.kind, details: body.details } };
});
