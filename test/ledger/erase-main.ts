/** Carries out a recorded erasure and kills itself after so many pages, like a machine that goes down. Arguments: database, keys, erasure, pages. */
import { carryOutErasures } from '../../shared/delivery/erase-person.ts';
import { listErasures } from '../../shared/ledger/erasures.ts';
import { createTestEngine } from '../support/test-engine.ts';

const [url = '', ring = '', erasureId = '', pages = '1'] = process.argv.slice(2);
const engine = await createTestEngine({ url, ring });
let left = Number(pages);
await carryOutErasures(engine, (await listErasures(engine.db)).filter((one) => one.erasureId === erasureId), {
  actor: 'child', pageSize: 2,
  onPage: () => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  },
});
await engine.close();
