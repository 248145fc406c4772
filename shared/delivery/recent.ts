import type { EventId } from '../domain/words.ts';
import type { ProviderStates } from '../domain/provider-state.ts';
import type { Loaded } from '../ledger/load.ts';
import { loadedWith } from '../ledger/load.ts';

/** What this process has just appended to or loaded: a hint of what a load would bring. Whatever rests on it is compared by its append. */
export interface Recent {
  /** With what was last heard of the providers; null where nothing is known. */
  find: (eventId: EventId) => Loaded | null;
  /** Takes the place of what was known before. */
  keep: (loaded: Loaded) => void;
  forget: (eventId: EventId) => void;
  /** What was last heard of the providers; undefined where nothing was. */
  providers: () => ProviderStates | undefined;
}

/** A few kilobytes each: what is at work in a second or two. */
const MOST = 1_000;

/** Keeps the newest thousand in the memory of the process; boxes stay sealed. */
export const createRecent = (): Recent => {
  const kept = new Map<EventId, Loaded>();
  let providers: ProviderStates | undefined;
  return {
    find: (eventId) => {
      const loaded = kept.get(eventId);
      if (!loaded || !providers) return null;
      return loaded.providers === providers ? loaded : loadedWith(loaded, { state: loaded.state, headHash: loaded.headHash, providers });
    },
    keep: (loaded) => {
      if (loaded.providers) ({ providers } = loaded);
      kept.delete(loaded.eventId);
      // A settled one is done with.
      if (loaded.state.settledAt !== null) return;
      kept.set(loaded.eventId, loaded);
      if (kept.size > MOST) kept.delete(kept.keys().next().value as EventId);
    },
    forget: (eventId) => { kept.delete(eventId); },
    providers: () => providers,
  };
};

/** Where processes are many, what one of them knows is seldom what the other needs. */
export const noRecent: Recent = { find: () => null, keep: () => undefined, forget: () => undefined, providers: () => undefined };
