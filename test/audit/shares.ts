import type { Copy, CopiedService } from './fleet.ts';
import type { LedgerReading } from './ledger-reader.ts';
import type { ReceiptLine } from './ticket-client.ts';

/** The part of its kind of work that one copy did: up to the fault, while both lived (null where there was too little of it to speak of shares), and in all. */
export interface Share { name: string; pid: number; beforeFault: number | null; inAll: number; pieces: number }

interface Piece { by: string; at: number }

/** One piece of work per entry: a started submission of a worker, anything that a coordinator decided or heard; a receipt of an intake. */
const piecesOf = (service: CopiedService, ledger: LedgerReading, receipts: readonly ReceiptLine[]): Piece[] => {
  if (service === 'intake') return receipts.flatMap((line) => (line.kind === 'receipt' ? [{ by: line.by, at: line.at }] : []));
  const entries = ledger.notifications.flatMap((notification) => notification.entries);
  const actor = service === 'coordinator' ? 'coordinator' : `delivery-${service}`;
  return entries.filter((entry) => entry.actor.startsWith(`${actor}-`) && (service === 'coordinator' || entry.kind === 'SubmissionStarted')).map(({ actor: by, at }) => ({ by, at }));
};

/** Of so few pieces one copy may well have all by chance. */
const FEW_PIECES = 10;

const partOf = (pieces: readonly Piece[], by: string): number => (pieces.length === 0 ? 0 : pieces.filter((piece) => piece.by === by).length / pieces.length);

/** How the copies of each service shared the work. */
export const sharesOf = (copies: readonly Copy[], { ledger, receipts, faultAt }: { ledger: LedgerReading; receipts: readonly ReceiptLine[]; faultAt: number }): Share[] =>
  copies.map(({ service, process, url }) => {
    const pieces = piecesOf(service, ledger, receipts);
    const by = url ?? `${service === 'coordinator' ? 'coordinator' : `delivery-${service}`}-${process.pid}`;
    const before = pieces.filter((piece) => piece.at < faultAt);
    return { name: process.name, pid: process.pid, beforeFault: before.length < FEW_PIECES ? null : partOf(before, by), inAll: partOf(pieces, by), pieces: pieces.filter((piece) => piece.by === by).length };
  });
