import { describe, expect, it } from '@jest/globals';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { definitionHash } from '../../shared/security/definition-hash.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

/** As they were first published. A line is added with a new version and never changed: a deployment that has the version refuses to start on another content. */
const PUBLISHED: Readonly<Record<string, string>> = {
  'policy game-support-routine 1': 'd836d789b53b644b8fb1e1ab1b30dfcf4a44ec14b5d10881f5b030c826a57a7e',
  'policy game-support-urgent 1': 'cc29b95c108883ad2a6fa7353be8279f9e601a6e5d6234b76500067891a9d884',
  'policy game-support-routine 2': '8c4c4a9b551b2603923a8b66f9334a5e08ca8ceec442f8b6c03e0bb95d9856f1',
  'policy game-support-urgent 2': '22bd26cf45bfd685afbb5962793ef448ee5f8502afb56cccc1b39b7d06b5cc37',
  'template game-support-routine-email 1': 'f343702b820f2c17540e5ab99d2421ff95503094ce9c068889b884fea1e0452b',
  'template game-support-urgent-email 1': '0d2e149ddfa68325de5c6c69420d0f197be64ee8def9ccc51d1725a3bdc1f2f6',
  'template game-support-routine-email 2': 'eba0a50deea09df218ee462c66d3c6ee053003ef4c2f5b457a1dd943279bcb82',
  'template game-support-urgent-email 2': 'b96cfcec64da121aa862f481d42e3048c64e5250bf9834543718a2e3eb8dc3c7',
  'template game-support-urgent-sms 1': '898b4a18448a20c945aba6baa1ef42b92ce8c5111ad5fe559e48d12840df7674',
};

describe('a shipped version', () => {
  it('never changes, neither its file nor what is read of it', () => {
    const hashes = Object.fromEntries([
      ...loadPolicies(POLICY_DIR).map((policy) => [`policy ${policy.purpose} ${policy.version}`, definitionHash(policy)]),
      ...loadTemplates(TEMPLATE_DIR).map((template) => [`template ${template.name} ${template.version}`, definitionHash(template)]),
    ]);
    expect(hashes).toMatchObject(PUBLISHED);
  });
});
