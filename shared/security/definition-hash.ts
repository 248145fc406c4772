import { canonicalText } from './canonical.ts';
import { contentHash } from './chain-hash.ts';

/** The hash under which a policy or template version is published: sha-256, hex, over its RFC 8785 text. */
export const definitionHash = (definition: unknown): string => contentHash(canonicalText(JSON.parse(JSON.stringify(definition)))).toString('hex');
