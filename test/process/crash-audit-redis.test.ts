import { testOnRedis } from '../audit/redis-tests.ts';
import { LIMIT_MS, killedOnceAtEveryPoint } from './crash-support.ts';

testOnRedis('killed with -9 at every point, on Redis, it loses no ticket and sends none twice', () => killedOnceAtEveryPoint('redis', 12), LIMIT_MS);
