import { startProviderStub } from './provider-stub.ts';

/** The provider of a measurement as a process of its own. Told what to do by its parent. */
const stub = await startProviderStub();
process.on('message', (asked: { id: number; ask: 'receipts' | 'clear' }) => {
  process.send?.({ id: asked.id, receipts: stub.takeReceipts(), duplicates: stub.duplicates() });
  stub.forget();
});
process.once('disconnect', () => stub.close());
process.send?.({ ready: true, http: stub.http, smtp: stub.smtp });
