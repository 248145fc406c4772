import { describe, expect, it } from '@jest/globals';
import { hostsFor, linkFault } from '../../shared/content/link-rule.ts';

const rule = { type: 'url' as const, max: 200 };

describe('a link in a variable', () => {
  it('may lead to the hosts of its variable, else of its template, else of the deployment, else to every one', () => {
    const terms = { linkHosts: ['www.example.com'] };
    expect(hostsFor({ ...rule, hosts: ['reset.example.com'] }, { terms }, ['shop.example.com'])).toEqual(['reset.example.com']);
    expect(hostsFor(rule, { terms }, ['shop.example.com'])).toEqual(['www.example.com']);
    expect(hostsFor(rule, {}, ['shop.example.com'])).toEqual(['shop.example.com']);
    expect(hostsFor(rule, {}, [])).toBeNull();
  });

  it.each([
    ['https://www.example.com/a?b=c#d', null],
    ['https://www.example.com:443/', null],
    ['HTTPS://WWW.example.com/', null],
    ['http://www.example.com/', 'is an http link'],
    ['http://127.0.0.1.evil.example/', 'is an http link'],
    ['http://localhost.evil.example/', 'is an http link'],
    ['https://www.example.com:8443/', 'leads to a host that is not allowed'],
    ['https://www.example.com.evil.example/', 'leads to a host that is not allowed'],
    ['https://www.example.com./', 'leads to a host that is not allowed'],
    ['https://evil.example/?www.example.com', 'leads to a host that is not allowed'],
    ['https://www.example.com:x@evil.example/', 'holds a user or a password, behind which another host can hide'],
    ['http://127.0.0.1:3000/', 'leads to a host that is not allowed'],
  ])('%s is judged by where a browser would go', (url, problem) => {
    expect(linkFault(url, ['www.example.com'])?.problem ?? null).toBe(problem);
  });
});
