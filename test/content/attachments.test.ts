import { describe, expect, it } from '@jest/globals';
import { renderAttempt } from '../../shared/content/render-attempt.ts';
import type { CarriedArtifact } from '../../shared/content/render-attempt.ts';
import { inputFor } from './render-support.ts';

const artifact: CarriedArtifact = { artifact: 'art_01ARZ3NDEKTSV4RRFFQ69G5FAV', sha256: 'ab'.repeat(32), bytes: 1_000, type: 'application/pdf' };
const render = (name: string, attachments: CarriedArtifact[]) => {
  const rendered = renderAttempt(inputFor(name, { report_title: 'October', report_url_email: 'https://example.com/reports/e', report_url_sms: 'https://example.com/reports/s' }, { attachments }));
  if (!rendered.ok) throw new Error(rendered.problem);
  return rendered;
};
const mailOf = (attachments: CarriedArtifact[]) => {
  const rendered = render('account-report-email', attachments);
  if (rendered.message.channel !== 'email') throw new Error('not an email');
  return { ...rendered, message: rendered.message };
};

describe('a mail with a report', () => {
  it('names the artifact and its place, and holds nothing of its bytes', () => {
    const { message } = mailOf([artifact]);
    const place = message.attachments?.[0]?.at as number;
    expect(message.attachments).toEqual([{ artifact: artifact.artifact, sha256: artifact.sha256, bytes: 1_000, at: place }]);
    expect(message.mime.slice(0, place)).toMatch(/Content-Disposition: attachment; filename="report\.pdf"\r\n\r\n$/);
    expect(message.mime.slice(place)).toMatch(/^\r\n--=_mixed_evt_[0-9A-Z]{26}\.email\.1--\r\n$/);
  });

  it('has another hash with another checksum, size or artifact, and the same one again with the same', () => {
    const hashes = [artifact, { ...artifact, sha256: 'cd'.repeat(32) }, { ...artifact, bytes: 1_001 }, { ...artifact, artifact: 'art_01ARZ3NDEKTSV4RRFFQ69G5FAW' }].map((one) => mailOf([one]).hash);
    expect(new Set([...hashes, mailOf([]).hash]).size).toBe(5);
    expect(mailOf([artifact]).hash).toBe(hashes[0]);
  });

  it('says whether it is attached, in the reader\'s language', () => {
    expect(mailOf([artifact]).message.mime).toContain('It is attached to this message.');
    expect(mailOf([]).message.mime).toContain('It is too large to be attached.');
    expect(mailOf([]).message).not.toHaveProperty('attachments');
  });

  it('has nothing of it in an SMS, whose text has the link', () => {
    expect(render('account-report-sms', []).message).toMatchObject({ channel: 'sms', text: expect.stringContaining('https://example.com/reports/s') });
  });
});
