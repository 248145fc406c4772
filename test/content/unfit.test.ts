import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { unfitVersions } from '../../shared/delivery/unfit-versions.ts';
import { CARRIERS } from '../../shared/transports/carriers.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

describe('a policy version that fits nothing', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'tocsin-unfit-'));
    cpSync(POLICY_DIR, join(dir, 'policies'), { recursive: true });
  });
  afterEach(() => { rmSync(dir, { recursive: true, force: true }); });

  const unfit = () => unfitVersions({ policyDir: join(dir, 'policies'), templateDir: TEMPLATE_DIR, carriers: CARRIERS }).map(({ version, tell }) => [version, tell]);
  const write = (version: number, change: (text: string) => string): void =>
    writeFileSync(join(dir, `policies/game-support-urgent/${version}.yaml`), change(readFileSync(join(POLICY_DIR, 'game-support-urgent/1.yaml'), 'utf8')));

  it('is told where somebody expects it to be taken up, and not once a newer one is there', () => {
    expect(unfit()).toEqual([]);
    write(3, (text) => text.replace('template_version: 1', 'template_version: 7'));
    expect(unfit()).toEqual([[3, true]]);
    write(4, (text) => text);
    expect(unfit()).toEqual([[3, false]]);
  });

  it('is none for a mere warning', () => {
    write(3, (text) => text.replace('  US:\n', '  US:\n    quiet_hours: { sms: { from: "21:00", to: "08:00", time_zone: recipient } }\n'));
    expect(unfit()).toEqual([]);
  });
});
