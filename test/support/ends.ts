import { expect } from '@jest/globals';
import { detailsOf } from '../../shared/delivery/notification-view.ts';
import { explain } from '../../shared/domain/explain.ts';
import { readEntries } from '../../shared/ledger/reads.ts';
import { expectAnswers } from './answers.ts';
import { golden, steadied } from './golden.ts';
import type { World } from './world.ts';

/** The one record of how a notification stands, as anyone may read it: its status and the explanation, instants steadied. */
export const recordOf = async (world: World, eventId: string): Promise<string> => {
  const state = await world.state(eventId);
  const entries = await readEntries(world.engine.db, eventId);
  const { policy } = await world.engine.versions.bind(state.purpose, state.policyVersion);
  const told = explain(state, entries.map((entry) => ({ at: entry.at.getTime(), kind: entry.kind, details: detailsOf(entry) })), policy);
  expect(told.join('\n')).toContain(`policy ${state.purpose}/${state.policyVersion}`);
  return steadied(`status: ${await world.status(eventId)}\n\n${told.join('\n')}\n`, state.requestedAt);
};

/** Holds that record against the kept text of that name. */
export const expectRecord = async (world: World, eventId: string, file: URL): Promise<void> => {
  await expectAnswers(world, eventId, file.pathname.slice(file.pathname.indexOf('/golden/') + '/golden/'.length, -'.txt'.length));
  const text = await recordOf(world, eventId);
  expect(text).toBe(golden(file, text));
};
