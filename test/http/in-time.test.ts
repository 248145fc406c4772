import { describe, expect, test } from '@jest/globals';
import { inTime } from '../../shared/http/in-time.ts';

describe('a check with a limit', () => {
  test('gives its own outcome where it comes in time', async () => {
    expect(await inTime(Promise.resolve('there'), 60_000)).toBe('there');
    await expect(inTime(Promise.reject(new Error('away')), 60_000)).rejects.toThrow('away');
  });
  test('gives nothing where it hangs', async () => {
    expect(await inTime(new Promise(() => undefined), 1)).toBeNull();
  });
});
