import { addressPrint, allowDestination, SUPPRESSION_REASONS, suppressDestination } from '../../shared/delivery/suppression.ts';
import type { SuppressionRecord } from '../../shared/ledger/suppressions.ts';
import { listSuppressions } from '../../shared/ledger/suppressions.ts';
import type { Command, Input } from './command.ts';
import { DESTINATION, DESTINATION_FILTER, destinationFilter, destinationOf, LISTED, moreThanListed, refuseUnknownTenant, short, without } from './destination-options.ts';
import { dateTime } from './entry-lines.ts';
import { nothingFound } from './nothing-found.ts';
import { actorOf, auditOf, withEngine } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { table } from './table.ts';

/** The list has reasons of both ways: a complaint is none to write to somebody again. */
const REASONS = {
  add: without(SUPPRESSION_REASONS, ['resubscribed']),
  remove: without(SUPPRESSION_REASONS, ['complaint', 'wrong_person', 'not_in_use']),
};

const why = (act: keyof typeof REASONS) => ({
  reason: { value: 'R', help: `one of ${REASONS[act].join(', ')}` },
  actor: { value: 'A', help: 'who does it: a name or role, as the list will say (default: cli)' },
});

const requestOf = (input: Input, act: keyof typeof REASONS) => {
  const destination = destinationOf(input);
  const reason = input.required('reason');
  if (!REASONS[act].includes(reason)) throw new UsageError(`--reason must be one of ${REASONS[act].join(', ')}`, '--reason');
  return { ...destination, reason, actor: actorOf(input), audit: auditOf(input) };
};

export const suppressAddCommand: Command = {
  name: 'suppress add',
  summary: 'suppress a destination: nothing is submitted to it any more',
  args: [],
  options: { ...DESTINATION, ...why('add') },
  examples: [
    ['suppress add --channel sms --address +12025550101 --reason requested --actor oncall-03', 'the person asked for it'],
    ['suppress add --channel email --address ada@example.com --reason wrong_person --json', 'for programs'],
  ],
  run: async (input, io) => {
    const request = requestOf(input, 'add');
    const { added, print } = await withEngine(io, async (engine) => {
      await refuseUnknownTenant(engine, request.tenant);
      return { added: await suppressDestination(engine, request), print: short(addressPrint(engine.ring, request.channel, request.address)) };
    });
    if (input.json) io.out.write(`${JSON.stringify({ channel: request.channel, destination: print, tenant: request.tenant, suppressed: true, replayed: !added })}\n`);
    else if (!added) io.out.write(`${request.channel} ${print} was suppressed already; what stands in the list stands.\n`);
    else {
      io.out.write(`Suppressed: ${request.channel} ${print}, for every sender. From now on no submission to it is started and no step to it is claimed.\n`
        + 'A call that was under way already may still arrive.\n');
    }
    return 0;
  },
};

export const suppressRemoveCommand: Command = {
  name: 'suppress remove',
  summary: 'take a suppression back; the list keeps who did it, and why',
  args: [],
  options: { ...DESTINATION, ...why('remove') },
  examples: [['suppress remove --channel sms --address +12025550101 --reason mistake --actor lead', 'it may be used again, by whatever sender']],
  run: async (input, io) => {
    const request = requestOf(input, 'remove');
    const { removed, print } = await withEngine(io, async (engine) => {
      return { removed: await allowDestination(engine, request), print: short(addressPrint(engine.ring, request.channel, request.address)) };
    });
    if (removed === 0) throw new Refusal('that destination is not suppressed', { code: 'not_found', field: '--address', cure: 'see `npx tocsin suppress list`; channel and tenant count too' });
    io.out.write(input.json ? `${JSON.stringify({ channel: request.channel, destination: print, tenant: request.tenant, removed })}\n`
      : `Taken back: ${request.channel} ${print} (${removed} in the list). What is planned from now on may use it; a provider may still refuse it.\n`);
    return 0;
  },
};

const shown = (row: SuppressionRecord) => ({
  tenant: row.tenant, channel: row.channel, destination: short(row.addressPrint), sender: row.senderPrint.length === 0 ? null : short(row.senderPrint),
  reason: row.reason, source: row.source, at: row.at.toISOString(), actor: row.actor, attempt: row.attemptKey,
  removed_at: row.removedAt?.toISOString() ?? null, removed_by: row.removedBy, removed_reason: row.removedReason,
});

const lineOf = (row: SuppressionRecord, withRemoved: boolean): string[] => {
  const view = shown(row);
  return [
    view.tenant, view.channel, view.destination, view.sender ?? 'every', view.reason, view.source, dateTime(row.at.getTime()), view.actor, view.attempt ?? '-',
    ...(withRemoved ? [row.removedAt ? `${dateTime(row.removedAt.getTime())} ${view.removed_by} (${view.removed_reason})` : '-'] : []),
  ];
};

export const suppressListCommand: Command = {
  name: 'suppress list',
  summary: 'list what is suppressed, by fingerprint; no address is kept in clear',
  args: [],
  options: { ...DESTINATION_FILTER, removed: { help: 'those that were taken back too' } },
  examples: [
    ['suppress list', 'the newest first'],
    ['suppress list --channel sms --address +12025550101 --removed', 'all that was ever said of one number'],
  ],
  run: async (input, io) => {
    const filter = destinationFilter(input);
    const rows = await withEngine(io, async (engine) => {
      const narrowed = filter(engine);
      const found = await listSuppressions(engine.db, { ...narrowed, removed: input.flag('removed') });
      if (found.length === 0 && narrowed.tenant !== undefined) await refuseUnknownTenant(engine, narrowed.tenant);
      return found;
    });
    const listed = rows.slice(0, LISTED);
    if (input.json) io.out.write(`${JSON.stringify({ suppressions: listed.map(shown), more: rows.length > LISTED })}\n`);
    else if (rows.length === 0) io.out.write(nothingFound(input, Object.keys(DESTINATION_FILTER), { none: 'Nothing is suppressed.', found: 'suppression' }));
    else {
      const head = ['tenant', 'channel', 'destination', 'sender', 'reason', 'source', 'since', 'actor', 'evidence', ...(input.flag('removed') ? ['taken back'] : [])];
      io.out.write(`${table(head, listed.map((row) => lineOf(row, input.flag('removed'))))}\n${moreThanListed(rows.length)}`);
    }
    return 0;
  },
};
