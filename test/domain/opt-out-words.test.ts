import { describe, expect, test } from '@jest/globals';
import { optOutWordOf } from '../../shared/domain/opt-out-words.ts';

describe('a word by which a recipient stops messages, or has them go on', () => {
  test.each(['STOP', 'UNSUBSCRIBE', 'END', 'QUIT', 'STOPALL', 'REVOKE', 'OPTOUT', 'CANCEL', 'stop', ' Stop \r\n', 'Stop all', 'opt out', 's t o p', '"Stop."', 'STOP!'])('%p stops', (text) => expect(optOutWordOf(text)).toBe('stop'));
  test.each(['START', 'UNSTOP', 'start', ' un stop '])('%p resumes', (text) => expect(optOutWordOf(text)).toBe('start'));
  test.each(['', ' ', 'STOP it', 'please stop', "don't stop", 'ENDE', 'startup', 'yes', 'STOP START', '!', `STOP${' '.repeat(100)}`])('%p is no such word', (text) => expect(optOutWordOf(text)).toBeNull());
});
