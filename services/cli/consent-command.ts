import { CONSENT_REASONS, giveConsentAgain, isBasis, withdrawConsent } from '../../shared/delivery/consent.ts';
import { addressPrint } from '../../shared/delivery/suppression.ts';
import type { WithdrawalRecord } from '../../shared/ledger/consents.ts';
import { listWithdrawals } from '../../shared/ledger/consents.ts';
import { readNamedBases } from '../../shared/ledger/versions.ts';
import type { Command, Input } from './command.ts';
import { DESTINATION, DESTINATION_FILTER, destinationFilter, destinationOf, LISTED, moreThanListed, refuseUnknownTenant, short, without } from './destination-options.ts';
import { dateTime } from './entry-lines.ts';
import { nothingFound } from './nothing-found.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

/** The list has reasons of both ways: an objection is none to write to somebody again. */
const REASONS = {
  withdraw: without(CONSENT_REASONS, ['renewed']),
  restore: without(CONSENT_REASONS, ['objection', 'contract_ended', 'duty_ended', 'wrong_person']),
};

const what = (act: keyof typeof REASONS) => ({
  ...DESTINATION,
  basis: { value: 'B', help: 'consent, contract or whatever the policy calls it (default: every basis)' },
  reason: { value: 'R', help: `one of ${REASONS[act].join(', ')}` },
  actor: { value: 'A', help: 'who does it: a name or role, as the record will say (default: cli)' },
});

const requestOf = (input: Input, act: keyof typeof REASONS) => {
  const destination = destinationOf(input);
  const [reason, basis] = [input.required('reason'), input.text('basis') ?? null];
  if (!REASONS[act].includes(reason)) throw new UsageError(`--reason must be one of ${REASONS[act].join(', ')}`, '--reason');
  if (basis !== null && !isBasis(basis)) throw new UsageError('--basis must be written as in a policy: lower case with underscores, e.g. on_call_duty', '--basis');
  return { ...destination, basis, reason, actor: actorOf(input), audit: auditOf(input) };
};

const basisWords = (basis: string | null): string => (basis === null || basis === '' ? 'every basis' : basis);

export const consentWithdrawCommand: Command = {
  name: 'consent withdraw',
  summary: 'take a consent back: nothing that rests on it alone is submitted any more',
  args: [],
  options: what('withdraw'),
  examples: [
    ['consent withdraw --channel sms --address +12025550101 --basis consent --reason requested', 'what rests on a contract goes on'],
    ['consent withdraw --channel email --address ada@example.com --reason objection --json', 'every basis; for programs'],
  ],
  run: async (input, io) => {
    const request = requestOf(input, 'withdraw');
    const { withdrawn, print, named } = await withEngine(io, async (engine) => {
      await refuseUnknownTenant(engine, request.tenant);
      return { withdrawn: await withdrawConsent(engine, request), print: short(addressPrint(engine.ring, request.channel, request.address)), named: request.basis === null ? [] : await readNamedBases(engine.db) };
    });
    const isNamed = request.basis === null || named.includes(request.basis);
    // Whoever accepts a notice may state a basis that no policy names: taking it back is recorded, and may yet be a slip.
    if (!isNamed) io.err.write(`Note: no published policy names the basis ${request.basis} (they name ${named.join(', ') || 'none'}), so this bars only what rests on it by its request. If it is a slip, withdraw the right one.\n`);
    if (input.json) io.out.write(`${JSON.stringify({ channel: request.channel, destination: print, tenant: request.tenant, basis: request.basis, withdrawn: true, replayed: !withdrawn, named_by_policies: isNamed })}\n`);
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
  options: { ...what('restore'), basis: { value: 'B', help: 'the one that was given again (default: all that were taken back)' } },
  examples: [['consent restore --channel sms --address +12025550101 --basis consent --reason renewed --actor lead', 'it may be used again']],
  run: async (input, io) => {
    const request = requestOf(input, 'restore');
    const { restored, print } = await withEngine(io, async (engine) => {
      return { restored: await giveConsentAgain(engine, request), print: short(addressPrint(engine.ring, request.channel, request.address)) };
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
  options: { ...DESTINATION_FILTER, restored: { help: 'those that were given again too' } },
  examples: [['consent list', 'the newest first'], ['consent list --channel sms --address +12025550101 --restored', 'all that was ever said of one number']],
  run: async (input, io) => {
    const filter = destinationFilter(input);
    const rows = await withEngine(io, async (engine) => {
      const narrowed = filter(engine);
      const found = await listWithdrawals(engine.db, { ...narrowed, restored: input.flag('restored') });
      if (found.length === 0 && narrowed.tenant !== undefined) await refuseUnknownTenant(engine, narrowed.tenant);
      return found;
    });
    const listed = rows.slice(0, LISTED);
    if (input.json) io.out.write(`${JSON.stringify({ withdrawals: listed.map(shown), more: rows.length > LISTED })}\n`);
    else if (rows.length === 0) io.out.write(nothingFound(input, Object.keys(DESTINATION_FILTER), { none: 'No consent was taken back.', found: 'consent that was taken back' }));
    else {
      const head = ['tenant', 'channel', 'destination', 'basis', 'reason', 'since', 'actor', ...(input.flag('restored') ? ['given again'] : [])];
      io.out.write(`${table(head, listed.map((row) => lineOf(row, input.flag('restored'))))}\n${moreThanListed(rows.length)}`);
    }
    return 0;
  },
};
