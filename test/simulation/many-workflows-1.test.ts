import { describePart } from './many-workflows.ts';

describePart(1);
