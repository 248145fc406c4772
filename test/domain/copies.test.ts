import { expect, test } from '@jest/globals';
import { amended, copyAttempt, copyState } from '../../shared/domain/copies.ts';
import type { AttemptState, NotificationState } from '../../shared/domain/state.ts';
import { marked } from '../support/marked.ts';
import { examplePolicy } from './policies.ts';
import { openAccepted } from './world.ts';

const accepted = (): NotificationState => openAccepted(examplePolicy()).state;
const first = ({ attempts }: NotificationState) => attempts[0] as NonNullable<typeof attempts[0]>;

test('a copy has all that its original has, and nothing beside', () => {
  const state = accepted();
  const whole: NotificationState = {
    ...state, erased: { player: 7 }, quietHours: { sms: { from: '21:00', to: '08:00', zones: ['UTC'] } },
    payload: { parts: ['variables'], variables: 'retention', addresses: 'retention', retryWindowMs: 1, retentionUntil: 2, destroyed: {} },
  };
  expect(copyState(whole)).toStrictEqual(whole);
  expect(copyState(state)).toStrictEqual(state);
  const attempt = { ...first(state), shadow: true, reportsByMail: true, foundMeanwhile: true } as const;
  expect(copyAttempt(attempt)).toStrictEqual(attempt);
  expect(copyAttempt(first(state))).toStrictEqual(first(state));
});

test('and each of it as it was, whatever it is', () => {
  const state = accepted();
  const attempt = marked<AttemptState>({ ...first(state), shadow: true, reportsByMail: true, foundMeanwhile: true });
  expect(copyAttempt(attempt)).toStrictEqual(attempt);
  const whole = marked({ ...state, erased: {}, quietHours: {}, payload: {} }) as unknown as NotificationState;
  expect(copyState(whole)).toStrictEqual(whole);
});

test('amending an attempt leaves it as it was', () => {
  const attempt = first(accepted());
  const before = structuredClone(attempt);
  expect(amended(attempt, { polls: 3, reason: 'replay' })).toStrictEqual({ ...before, polls: 3, reason: 'replay' });
  expect(attempt).toStrictEqual(before);
});

test('what a later release has written beside is passed on', () => {
  const state = { ...accepted(), later: 1 } as NotificationState;
  expect(copyState(state)).toStrictEqual(state);
  const attempt = { ...first(state), shadow: true, later: { at: 2 } } as const;
  expect(amended(attempt, { polls: 3 })).toStrictEqual({ ...attempt, polls: 3 });
});
