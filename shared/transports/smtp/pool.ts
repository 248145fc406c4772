import { SmtpFailure } from './session.ts';
import type { SmtpSession } from './session.ts';

export interface SmtpPoolSettings {
  maxConnections: number;
  open: (signal: AbortSignal) => Promise<SmtpSession>;
  /** How long a server may take to prove that an idle connection still stands. */
  checkWithinMs: number;
}

export interface SmtpPool {
  /** A session for one message, ready to begin a transaction. @throws SmtpFailure */
  acquire(signal: AbortSignal): Promise<SmtpSession>;
  /** Gives a session back; a broken one is dropped. */
  release(session: SmtpSession): void;
  /** Ends the idle sessions; one in use ends when its taker gives it back. */
  close(): Promise<void>;
}

/** Servers end idle connections; past this age one is asked before it is trusted with a message. */
const TRUSTED_IDLE_MS = 1_000;
/** Servers commonly end a connection after a hundred messages, by a 421 that would cost a retry. */
const MAX_MESSAGES_PER_CONNECTION = 100;
const QUIT_WITHIN_MS = 1_000;

/** A pool that never repeats a message: what is lost on a connection is the taker's to judge. */
export const createSmtpPool = ({ maxConnections, open, checkWithinMs }: SmtpPoolSettings): SmtpPool => {
  const idle: SmtpSession[] = [];
  const waiting = new Set<() => void>();
  let inUse = 0;
  let closed = false;

  const takeSlot = async (signal: AbortSignal): Promise<void> => {
    if (closed) throw new SmtpFailure('lost', 'connect');
    if (inUse < maxConnections) {
      inUse += 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const onAbort = () => {
        waiting.delete(onSlot);
        reject(new SmtpFailure('timed_out', 'connect'));
      };
      const onSlot = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      waiting.add(onSlot);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  };
  /** Hands the slot to whoever waits longest, so that it is never free and taken at once. */
  const freeSlot = () => {
    const [next] = waiting;
    if (next) {
      waiting.delete(next);
      next();
    } else {
      inUse -= 1;
    }
  };

  const isStillThere = async (session: SmtpSession, signal: AbortSignal): Promise<boolean> => {
    if (!session.isUsable()) return false;
    if (session.isClean() && session.idleForMs() < TRUSTED_IDLE_MS) return true;
    try {
      await session.reset(AbortSignal.any([signal, AbortSignal.timeout(checkWithinMs)]));
      return true;
    } catch {
      return false;
    }
  };

  const quit = (session: SmtpSession): Promise<void> => session.quit(AbortSignal.timeout(QUIT_WITHIN_MS));

  return {
    acquire: async (signal) => {
      await takeSlot(signal);
      try {
        for (let session = idle.pop(); session; session = idle.pop()) {
          if (await isStillThere(session, signal)) return session;
          session.destroy();
        }
        return await open(signal);
      } catch (failure) {
        freeSlot();
        throw failure;
      }
    },
    release: (session) => {
      if (closed || !session.isUsable()) session.destroy();
      else if (session.messagesCarried() >= MAX_MESSAGES_PER_CONNECTION) void quit(session);
      else idle.push(session);
      freeSlot();
    },
    close: async () => {
      closed = true;
      await Promise.all(idle.splice(0).map(quit));
    },
  };
};
