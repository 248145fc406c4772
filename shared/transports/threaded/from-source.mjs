// Where TypeScript is run as it stands: a thread does not inherit what loads it.
import { register } from 'tsx/esm/api';

register();
await import('./call-thread.ts');
