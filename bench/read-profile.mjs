// node bench/read-profile.mjs FOLDER WORKFLOWS [SELF] [INCLUSIVE]: what the processes of a profiled run spent their time on.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const [folder, workflows = '1', most = '40', inclusive = '110', only = ''] = process.argv.slice(2);
const self = new Map(); const total = new Map(); const place = new Map(); const processes = new Map();
const shorten = (url) => url.replace(/^file:\/\//, '').replace(/.*node_modules\//, 'nm/').replace(/.*\/(shared|services|bench)\//, '$1/');
const nameOf = ({ callFrame: f }) => `${f.functionName || '(anonymous)'} ${shorten(f.url)}:${f.lineNumber + 1}`;
const placeOf = ({ callFrame: f }) => { const url = shorten(f.url); return url.startsWith('nm/') ? /^nm\/((@[^/]+\/)?[^/]+)/.exec(url)[0] : url.startsWith('node:') ? 'node' : url === '' ? f.functionName : url.split('/').slice(0, 2).join('/'); };
const add = (map, key, ms) => map.set(key, (map.get(key) ?? 0) + ms / Number(workflows));
for (const file of readdirSync(folder).filter((name) => name.endsWith('.cpuprofile') && name.includes(only))) {
  const { nodes, samples, timeDeltas } = JSON.parse(readFileSync(join(folder, file), 'utf8'));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parent = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id])));
  samples.forEach((id, index) => {
    const node = byId.get(id);
    if (node.callFrame.functionName === '(idle)') return;
    const ms = timeDeltas[index] / 1000;
    add(processes, file, ms); add(self, nameOf(node), ms); add(place, placeOf(node), ms);
    const seen = new Set();
    for (let at = id; at !== undefined; at = parent.get(at)) seen.add(nameOf(byId.get(at)));
    for (const name of seen) add(total, name, ms);
  });
}
const show = (title, map, count) => { process.stdout.write(`-- ${title}\n`); for (const [key, ms] of [...map].sort((a, b) => b[1] - a[1]).slice(0, count)) process.stdout.write(`${ms.toFixed(3).padStart(9)} ${key}\n`); };
show('process', processes, 9); show('place', place, 30); show('self', self, Number(most)); show('inclusive', total, Number(inclusive));
