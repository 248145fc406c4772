import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { jsonSchemas } from '../../shared/content/json-schemas.ts';
import { POLICY_DIR, TEMPLATE_DIR } from './render-support.ts';

const SCHEMAS = join(import.meta.dirname, '../../docs/schemas');
const yamlFiles = (dir: string): string[] => readdirSync(dir, { recursive: true }).map(String).filter((path) => path.endsWith('.yaml')).map((path) => join(dir, path));

interface Schema { type?: string; properties?: Record<string, Schema>; required?: string[]; additionalProperties?: Schema | false; items?: Schema; pattern?: string; enum?: unknown[] }

/** What of a value a schema refuses, as far as these schemas go: unknown and missing fields, types, patterns, enumerations. */
const refused = (schema: Schema, value: unknown, path = ''): string[] => {
  if (Array.isArray(value)) return value.flatMap((one, index) => refused(schema.items ?? {}, one, `${path}[${index}]`));
  if (typeof value === 'object' && value !== null) {
    const missing = (schema.required ?? []).filter((name) => !(name in value)).map((name) => `${path}.${name} is missing`);
    return [...missing, ...Object.entries(value).flatMap(([name, one]) => {
      const inner = schema.properties?.[name] ?? schema.additionalProperties;
      return inner === false ? [`${path}.${name} is unknown`] : refused(inner ?? {}, one, `${path}.${name}`);
    })];
  }
  const isWrong = (schema.type === 'string' && typeof value !== 'string') || (schema.type === 'integer' && !Number.isInteger(value))
    || (schema.pattern !== undefined && typeof value === 'string' && !new RegExp(schema.pattern, 'u').test(value)) || (schema.enum !== undefined && !schema.enum.includes(value));
  return isWrong ? [`${path} is ${JSON.stringify(value)}`] : [];
};

describe('the JSON schemas', () => {
  it('are those of the code: after a change, node --import tsx scripts/write-schemas.mjs', () => {
    const files = Object.fromEntries(readdirSync(SCHEMAS).map((name) => [name, readFileSync(join(SCHEMAS, name), 'utf8')]));
    expect(files).toEqual(jsonSchemas());
  });

  it.each([...yamlFiles(POLICY_DIR), ...yamlFiles(TEMPLATE_DIR)].map((path) => [path.split('/').slice(-3).join('/'), path]))('take %s, and are where it says that they are', (_shown, path) => {
    const text = readFileSync(path, 'utf8');
    const kind = /(roster|senders|supplies|template)\.yaml$/.exec(path)?.[1] ?? 'policy';
    const named = /^# yaml-language-server: \$schema=(\S+)$/m.exec(text)?.[1];
    if (named !== undefined) expect(resolve(dirname(path), named)).toBe(resolve(SCHEMAS, `${kind}.schema.json`));
    expect(refused(JSON.parse(jsonSchemas()[`${kind}.schema.json`] as string) as Schema, parse(text))).toEqual([]);
  });

  it('refuse what an editor can see: a number without its unit, an unknown field, an unknown channel', () => {
    const schema = JSON.parse(jsonSchemas()['policy.schema.json'] as string) as Schema;
    const policy = parse(readFileSync(join(POLICY_DIR, 'game-support-urgent/1.yaml'), 'utf8')) as { steps: object[] };
    expect(refused(schema, { ...policy, retention: 30, stratgy: 'escalate', steps: [{ ...policy.steps[0], channel: 'fax' }] })).toEqual(['.retention is 30', '.steps[0].channel is "fax"', '.stratgy is unknown']);
  });
});
