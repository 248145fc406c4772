/** What an API key may be good for; a call of the API needs one of them. */
export const SCOPES = ['notifications:write', 'notifications:read', 'notifications:act', 'artifacts:write', 'feed:read'] as const;
export type Scope = (typeof SCOPES)[number];

/** In words, for lists and refusals. */
export const SCOPE_WORDS: Readonly<Record<Scope, string>> = {
  'notifications:write': 'hand notifications over', 'notifications:read': 'read them, their history and explanation',
  'notifications:act': 'close, pause and resume them', 'artifacts:write': 'store reports', 'feed:read': 'read the change feed',
};

export const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);
