import { describe, expect, it } from '@jest/globals';
import type { PolicyStep } from '../../shared/domain/policy.ts';
import { loadPolicies } from '../../shared/content/policy-file.ts';
import { loadRoster, routeTicket } from '../../shared/content/roster.ts';
import { readSenders } from '../../shared/content/senders-file.ts';
import { loadTemplates } from '../../shared/content/template-file.ts';
import { maskCardNumbers } from '../../shared/security/card-numbers.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

const roster = loadRoster(POLICY_DIR);
const every = loadPolicies(POLICY_DIR).filter(({ purpose }) => purpose.startsWith('game-support-'));
/** The newest of each. */
const policies = [...new Map(every.map((policy) => [policy.purpose, policy])).values()];

describe('game support', () => {
  it('is for the United States and the European Union by policy, each with the bases that every channel needs; any other region is refused', () => {
    expect(policies.map(({ purpose }) => purpose).sort()).toEqual(['game-support-routine', 'game-support-urgent']);
    for (const { regions, steps } of policies) {
      expect(Object.keys(regions).sort()).toEqual(['EU', 'US']);
      for (const { consent } of Object.values(regions)) for (const { channel } of steps) expect(consent[channel]?.length).toBeGreaterThan(0);
    }
  });

  it('routes every category to one queue, whose purpose has the queue\'s urgency and whose on-call is of that region', () => {
    const categories = roster.queues.flatMap((queue) => queue.categories);
    expect(categories).toHaveLength(new Set(categories).size);
    for (const category of categories) for (const region of ['US', 'EU']) {
      const route = routeTicket(roster, { category, region });
      if (route.kind !== 'routed') throw new Error(route.kind);
      expect(policies.find(({ purpose }) => purpose === route.purpose)?.urgency).toBe(route.urgency);
      expect(route.person.regions).toContain(region);
    }
  });

  it('has of everyone on the roster a basis that the policy accepts for each channel, with the reference of its record', () => {
    for (const { regions, steps } of policies) for (const person of roster.people) for (const region of person.regions) for (const { channel } of steps) {
      const accepted = person.consent[channel].filter(({ basis }) => regions[region]?.consent[channel]?.includes(basis));
      expect([person.id, region, channel, accepted.length, accepted.every(({ reference }) => reference.includes(person.id))]).toEqual([person.id, region, channel, 1, true]);
    }
  });

  it('has for each region and channel that needs one a registered sender, with the reference of its record', () => {
    const { needs, registered } = readSenders(POLICY_DIR).senders ?? { needs: {}, registered: [] };
    const wanted = policies.flatMap(({ regions, steps }) => Object.keys(regions).flatMap((region) => steps.filter(({ channel }) => needs[region]?.includes(channel)).map(({ channel }) => `${region} ${channel}`)));
    expect(wanted).toEqual(['US sms']);
    for (const one of wanted) expect(registered.filter(({ region, channel, sender, reference }) => `${region} ${channel}` === one && sender !== '' && reference !== '')).toHaveLength(1);
  });

  it('is in version 2 what it was in version 1, but for the throttle, the conversation and what the form supplies', () => {
    const supplies = Object.keys(loadTemplates(TEMPLATE_DIR).find(({ name }) => name === 'game-support-urgent-email')?.variables ?? {});
    const [routine, , urgent] = every;
    const mailed = (step: PolicyStep): PolicyStep => (step.channel === 'email' ? { ...step, templateVersion: 2 } : { ...step, throttle: { most: 5, withinMs: 300_000 } });
    expect(policies).toEqual([routine, urgent].map((first) => ({ ...first, version: 2, supplies, steps: first?.steps.map(mailed) })));
  });

  it('gives an SMS the category, the queue, the region and a link, and nothing that the player wrote', () => {
    const template = loadTemplates(TEMPLATE_DIR).find(({ name }) => name === 'game-support-urgent-sms');
    expect(Object.keys(template?.variables ?? {}).sort()).toEqual(['category', 'queue', 'region', 'ticket_url']);
  });
});

describe('a card number in a text', () => {
  it.each([
    ['4111 1111 1111 1111', '•••• •••• •••• 1111'], ['4111111111111111', '••••••••••••1111'], ['5500-0000-0000-0004.', '••••-••••-••••-0004.'], ['378282246310005', '•••••••••••0005'], ['3782 822463 10005', '•••• •••••• •0005'],
    ['4222222222222', '•••••••••2222'], ['a4111111111111111b', 'a••••••••••••1111b'], ['4111 1111 1111 1111 5500 0000 0000 0004', '•••• •••• •••• 1111 •••• •••• •••• 0004'],
    ['12 4111 1111 1111 1111 12/29', '12 •••• •••• •••• 1111 12/29'], ['4111\u00a01111\u00a01111\u00a01111', '••••\u00a0••••\u00a0••••\u00a01111'], ['4111.1111.1111.1111', '••••.••••.••••.1111'],
  ])('%s is left as %s', (text, left) => { expect(maskCardNumbers(text)).toBe(left); });

  it.each(['', 'no digits', '482913', '+1 (202) 555-0123', '2026-11-29T12:00:00Z', '4111 1111 1111 1112', '4111 1111\n1111 1111', '1234567890123456789012345', '203.0.113.7', '0x8007 551.23', '١٢٣٤'])('%j is left as it is', (text) => { expect(maskCardNumbers(text)).toBe(text); });
});
