// node bench/read-profile.mjs FILE [WORKFLOWS]: what a profile's time went to, by function and by folder.
import { readFileSync } from 'node:fs';

const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const each = Number(process.argv[3] ?? 1);
const byId = new Map(nodes.map((node) => [node.id, node]));
const parent = new Map();
for (const node of nodes) for (const child of node.children ?? []) parent.set(child, node.id);
const self = new Map(); const total = new Map(); const place = new Map();
const name = (n) => `${n.callFrame.functionName || '(anonymous)'} ${n.callFrame.url.replace(/^file:\/\//, '').replace(/.*node_modules\//, 'nm/').replace(/.*\/(shared|services|bench)\//, '$1/')}:${n.callFrame.lineNumber + 1}`;
const folder = (n) => { const u = n.callFrame.url; const m = /node_modules\/((@[^/]+\/)?[^/]+)/.exec(u); return m ? `nm/${m[1]}` : u.startsWith('node:') ? u.split('/').slice(0, 2).join('/') : /\/(shared|services|bench)\/([^/]+)/.exec(u)?.slice(1, 3).join('/') ?? n.callFrame.functionName; };
samples.forEach((id, i) => {
  const d = timeDeltas[i] / 1000; const n = byId.get(id); const add = (map, key) => map.set(key, (map.get(key) ?? 0) + d);
  if (n.callFrame.functionName === '(idle)') return;
  add(self, name(n)); add(place, folder(n));
  const seen = new Set();
  for (let at = id; at !== undefined; at = parent.get(at)) { const k = name(byId.get(at)); if (!seen.has(k)) { seen.add(k); add(total, k); } }
});
const show = (title, map, most) => { console.log(`-- ${title}`); for (const [k, v] of [...map].sort((a, b) => b[1] - a[1]).slice(0, most)) console.log(`${(v / each).toFixed(3).padStart(9)} ${k}`); };
show('place (self)', place, 25); show('self', self, Number(process.argv[4] ?? 30)); show('inclusive', total, Number(process.argv[5] ?? 70));
