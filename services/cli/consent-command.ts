import { CONSENT_REASONS, isBasis, withdrawConsent } from '../../shared/delivery/consent.ts';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import type { WithdrawalRecord } from '../../shared/ledger/consents.ts';
import { listWithdrawals, restoreConsents } from '../../shared/ledger/consents.ts';
import type { Command, Input } from './command.ts';
import { dateTime } from './entry-lines.ts';
import { actorOf, withEngine } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { addressOf, channelOf, refuseUnknownTenant, short } from './suppress-command.ts';
import { table } from './table.ts';

const LISTED = 200;

const where = {
  channel: { value: 'C', help: 'sms or email' },
  address: { value: 'A', help: 'phone number with + and country code, or email address; kept as a keyed fingerprint only' },
  tenant: { value: 'T', help: 'whose notifications it is about (default: default)' },
};
const what = {
  ...where,
  basis: { value: 'B', help: 'consent, contract or whatever the policy calls it (default: every basis)' },
  reason: { value: 'R', help: `one of ${CONSENT_REASONS.join(', ')}` },
  actor: { value: 'A', help: 'who does it: a name or role, as the record will say (default: cli)' },
};

const requestOf = (input: Input) => {
  const channel = channelOf(input.required('channel'));
  const address = addressOf(channel, input.required('address'));
  const [reason, basis] = [input.required('reason'), input.text('basis') ?? null];
  if (!CONSENT_REASONS.includes(reason)) throw new UsageError(`--reason must be one of ${CONSENT_REASONS.join(', ')}`, '--reason');
  if (basis !== null && !isBasis(basis)) throw new UsageError('--basis must be written as in a policy: lower case with underscores, e.g. on_call_duty', '--basis');
  return { tenant: input.text('tenant') ?? 'default', channel, address, basis, reason, actor: actorOf(input) };
};

const basisWords = (basis: string | null): string => (basis === null || basis === '' ? 'every basis' : basis);

export const consentWithdrawCommand: Command = {
  name: 'consent withdraw',
  summary: 'take a consent back: nothing that rests on it alone is submitted any more',
  args: [],
  options: what,
  examples: [
    ['consent withdraw --channel sms --address +12025550101 --basis consent --reason requested', 'what rests on a contract goes on'],
    ['consent withdraw --channel email --address ada@example.com --reason objection --json', 'every basis; for programs'],
  ],
  run: async (input, io) => {
    const request = requestOf(input);
    const { withdrawn, print } = await withEngine(io, async (engine) => {
      await refuseUnknownTenant(engine, request.tenant);
      return { withdrawn: await withdrawConsent(engine, request), print: short(addressPrint(engine.ring, request.channel, request.address)) };
    });
    if (input.json) io.out.write(`${JSON.stringify({ channel: request.channel, destination: print, tenant: request.tenant, basis: request.basis, withdrawn: true, replayed: !withdrawn })}\n`);
    else if (!withdrawn) io.out.write(`${basisWords(request.basis)} of ${request.channel} ${print} was taken back already.\n`);
    else {
      io.out.write(`Taken back: ${basisWords(request.basis)} of ${request.channel} ${print}. From now on no submission that has no other basis is started.\n`
        + 'A call that was under way already may still arrive.\n');
    }
    return 0;
  },
};

export const consentRestoreCommand: Command = {
  name: 'consent restore',
  summary: 'record that a consent was given again; what was skipped meanwhile stays skipped',
  args: [],
  options: { ...what, basis: { value: 'B', help: 'the one that was given again (default: all that were taken back)' } },
  examples: [['consent restore --channel sms --address +12025550101 --basis consent --reason renewed --actor lead', 'it may be used again']],
  run: async (input, io) => {
    const request = requestOf(input);
    const { restored, print } = await withEngine(io, async (engine) => {
      const address = addressPrint(engine.ring, request.channel, request.address);
      const { tenant, channel, basis, actor, reason } = request;
      return { restored: await restoreConsents(engine.db, { tenant, channel, addressPrint: address, basis: basis ?? undefined }, { at: engine.now(), actor, reason }), print: short(address) };
    });
    if (restored === 0) throw new Refusal('no such consent of that destination was taken back', { code: 'not_found', field: '--address', cure: 'see `npx tocsin consent list`; channel, basis and tenant count too' });
    io.out.write(input.json ? `${JSON.stringify({ channel: request.channel, destination: print, tenant: request.tenant, basis: request.basis, restored })}\n`
      : `Given again: ${request.basis ?? 'all that was taken back'} of ${request.channel} ${print}. What is planned from now on may rest on it.\n`);
    return 0;
  },
};

const shown = (row: WithdrawalRecord) => ({
  tenant: row.tenant, channel: row.channel, destination: short(row.addressPrint), basis: row.basis === '' ? null : row.basis, reason: row.reason, at: row.at.toISOString(), actor: row.actor,
  restored_at: row.restoredAt?.toISOString() ?? null, restored_by: row.restoredBy, restored_reason: row.restoredReason,
});

const lineOf = (row: WithdrawalRecord, withRestored: boolean): string[] => [
  row.tenant, row.channel, short(row.addressPrint), basisWords(row.basis), row.reason, dateTime(row.at.getTime()), row.actor,
  ...(withRestored ? [row.restoredAt ? `${dateTime(row.restoredAt.getTime())} ${row.restoredBy} (${row.restoredReason})` : '-'] : []),
];

export const consentListCommand: Command = {
  name: 'consent list',
  summary: 'list the consents that were taken back, by fingerprint; no address is kept in clear',
  args: [],
  options: { ...where, tenant: { value: 'T', help: 'only those of that tenant (default: of all)' }, restored: { help: 'those that were given again too' } },
  examples: [['consent list', 'the newest first'], ['consent list --channel sms --address +12025550101 --restored', 'all that was ever said of one number']],
  run: async (input, io) => {
    const asked = input.text('channel');
    const channel = asked === undefined ? undefined : channelOf(asked);
    const text = input.text('address');
    if (text !== undefined && channel === undefined) throw new UsageError('--address needs --channel', '--channel');
    const address = text === undefined || channel === undefined ? undefined : addressOf(channel, text);
    const rows = await withEngine(io, (engine) => listWithdrawals(engine.db, {
      tenant: input.text('tenant'), channel, restored: input.flag('restored'), limit: LISTED + 1,
      addressPrint: address === undefined || channel === undefined ? undefined : addressPrint(engine.ring, channel, address),
    }));
    const listed = rows.slice(0, LISTED);
    if (input.json) io.out.write(`${JSON.stringify({ withdrawals: listed.map(shown), more: rows.length > LISTED })}\n`);
    else if (rows.length === 0) io.out.write('No consent was taken back.\n');
    else {
      const head = ['tenant', 'channel', 'destination', 'basis', 'reason', 'since', 'actor', ...(input.flag('restored') ? ['given again'] : [])];
      io.out.write(`${table(head, listed.map((row) => lineOf(row, input.flag('restored'))))}\n${rows.length > LISTED ? `Only the newest ${LISTED}; narrow it down with --channel and --address.\n` : ''}`);
    }
    return 0;
  },
};
