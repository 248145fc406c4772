#!/usr/bin/env node
// Runs the TypeScript sources directly, as `npm start` does, so that one checkout has one behaviour.
import { register } from 'tsx/esm/api';

register();
await import('../services/cli/main.ts');
