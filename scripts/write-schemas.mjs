// Writes docs/schemas anew after a change of what a policy, roster, senders or template file may hold: node --import tsx scripts/write-schemas.mjs
import { mkdirSync, writeFileSync } from 'node:fs';
import { jsonSchemas } from '../shared/content/json-schemas.ts';

const folder = new URL('../docs/schemas/', import.meta.url);
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(jsonSchemas())) {
  writeFileSync(new URL(name, folder), text);
  process.stdout.write(`docs/schemas/${name}\n`);
}
