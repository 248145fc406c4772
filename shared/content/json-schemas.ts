import { z } from 'zod';
import { policySchema } from './policy-file.ts';
import { rosterSchema } from './roster.ts';
import { sendersSchema } from './senders-file.ts';
import { suppliesSchema } from './supplies-file.ts';
import { templateSchema } from './template-file.ts';

const SOURCES = {
  policy: [policySchema, 'A policy version: policies/<purpose>/<version>.yaml'],
  roster: [rosterSchema, 'Who is told: policies/roster.yaml'],
  senders: [sendersSchema, 'Registered senders: policies/senders.yaml'],
  supplies: [suppliesSchema, 'What purposes supply: policies/supplies.yaml'],
  template: [templateSchema, 'A template version: templates/<name>/<version>/template.yaml'],
} as const;

/**
 * JSON schemas (draft 2020-12) of the files that people write, made of the schemas that read them, by file name. They say what an
 * editor can check; what holds between fields and files `lint` says.
 */
export const jsonSchemas = (): Record<string, string> => Object.fromEntries(Object.entries(SOURCES).map(([name, [schema, title]]) => [
  `${name}.schema.json`, `${JSON.stringify({ title, ...z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) }, null, 2)}\n`,
]));
