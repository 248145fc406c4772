import { test } from '@jest/globals';
import { LIMIT_MS, killedOnceAtEveryPoint } from './crash-support.ts';

test('killed with -9 at every point, on Postgres alone, it loses no ticket and sends none twice', () => killedOnceAtEveryPoint('postgres', 11), LIMIT_MS);
