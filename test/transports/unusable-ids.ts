/** What a provider may call the id of a message, and what must not be kept as one: an address, a text, what Postgres cannot store, or nothing. */
export const UNUSABLE_IDS: readonly unknown[] = ['', 42, '+12025550101', 'a@example.com', 'SM 1', 'SM\u0000', 'Nr\u00fcn', '\ud800', 'x'.repeat(129)];
