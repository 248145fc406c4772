import { readCliConfig, readSender } from '../../shared/config/cli-config.ts';
import { isWithinVersion } from '../../shared/content/lint.ts';
import { readTemplates } from '../../shared/content/template-file.ts';
import type { TemplateVersion } from '../../shared/content/template.ts';
import { textOf } from '../../shared/content/yaml-file.ts';
import type { Engine } from '../../shared/delivery/engine.ts';
import { sealReason } from '../../shared/delivery/operator-reason.ts';
import { publishedTarget, replayRender } from '../../shared/delivery/replay-render.ts';
import type { Replayed } from '../../shared/delivery/replay-message.ts';
import type { Replay, ReplayRequest } from '../../shared/delivery/replay-render.ts';
import { listPolicyVersions } from '../../shared/ledger/activations.ts';
import { recordPayloadShown } from '../../shared/ledger/payload-shown.ts';
import type { Command, Input } from './command.ts';
import { instantOption } from './instant-option.ts';
import type { Io } from './io.ts';
import { createProgress } from './ledger-progress.ts';
import { actorOf, withEngine } from './operator-engine.ts';
import { Refusal, UsageError } from './refusal.ts';
import { addReplays, isEmpty, isFaulty, openSum, sumJson, sumText } from './replay-render-sum.ts';
import { wholeNumber } from './whole-number.ts';

/** So many messages are told one by one; all of them are with --json. */
const TOLD = 20;

/** The versions of a folder that is still being written; the highest of each name, or the one that is asked for. One that cannot be read is refused, never passed over for a lower one. */
const candidates = (dir: string, asked: number | null): ReplayRequest['target'] => {
  const { read, problems, present } = readTemplates(dir);
  return (name) => {
    const version = asked ?? Math.max(0, ...present.filter((one) => one.name === name).map((one) => one.version));
    const found = read.find(({ template }) => template.name === name && template.version === version);
    const broken = found ? undefined : problems.find((one) => isWithinVersion(one, name, version));
    if (broken) throw new Refusal(`${name} ${version} cannot be read: ${textOf(broken)}`, { code: 'not_readable', field: '--candidate', cure: 'see `npx tocsin template lint`' });
    return Promise.resolve(found?.template ?? null);
  };
};

const targetOf = (input: Input, engine: Engine): ReplayRequest['target'] => {
  const to = wholeNumber(input, 'to');
  const dir = input.text('candidate');
  if (dir !== undefined) return candidates(dir, to);
  if (to === null) throw new UsageError('give --to with a published version, or --candidate with a folder of templates', '--to');
  return publishedTarget(engine, to);
};

/** A purpose nobody knows, or a version that no template of it has, would end in a sum of nothing. */
const refuseNothing = async (engine: Engine, { purpose, from, target }: ReplayRequest): Promise<void> => {
  const versions = (await listPolicyVersions(engine.db)).filter((one) => one.purpose === purpose);
  if (versions.length === 0) throw new Refusal(`there is no purpose ${purpose}`, { code: 'unknown_purpose', field: '--purpose', cure: 'see `npx tocsin policy list`' });
  const names = [...new Set(versions.flatMap(({ definition }) => definition.steps.filter((step) => (from ?? step.templateVersion) === step.templateVersion).map((step) => step.template)))];
  const found = await Promise.all(names.map(target));
  if (found.every((one: TemplateVersion | null) => one === null)) {
    throw new Refusal(names.length === 0 ? `no policy of ${purpose} uses version ${from} of a template` : `of ${names.join(' and ')} there is no such version to compare with`, {
      code: 'unknown_version', field: names.length === 0 ? '--from' : '--to', cure: 'see `npx tocsin template list`; --candidate DIR takes a folder of templates',
    });
  }
};

const lineOf = ({ eventId, channel, verdict, fails, changes, recorded, segments, missing }: Replayed): string => [
  `${eventId}  ${channel}  ${verdict}`,
  ...(segments && segments.from !== segments.to ? [`  segments: ${segments.from} -> ${segments.to}`] : []),
  ...changes.map(({ part, characters, line, changed }) => `  ${part}: ${characters.from} -> ${characters.to} characters, from line ${line}: "${changed.from}" -> "${changed.to}"`),
  ...fails.map(({ version, problem }) => `  cannot be rendered ${version === 'from' ? 'in the old version' : 'in the new version'}: ${problem}`),
  ...(missing.length > 0 ? [`  missing: ${missing.join(', ')}`] : []),
  ...(recorded === 'drifted' ? ['  drifted: the old version no longer gives the hash in the ledger'] : []),
].join('\n');

const textsOf = (message: Replayed): string => {
  const { from, to } = message.texts();
  const side = (name: string, texts: typeof from): string => Object.entries(texts ?? {}).map(([part, text]) => `--- ${name} ${part}\n${text.replaceAll('\r\n', '\n')}`).join('\n');
  return `${side('old', from)}\n${side('new', to)}`;
};

const jsonOf = (message: Replayed, show: boolean) => ({
  kind: 'message', event_id: message.eventId, attempt_key: message.attemptKey, channel: message.channel, template: message.template, from: message.from, to: message.to, verdict: message.verdict,
  fails: message.fails, missing: message.missing, stood_in: message.stoodIn, recorded: message.recorded, hashes: message.hashes, segments: message.segments, changes: message.changes, ...(show ? { texts: message.texts() } : {}),
});

interface Shown { actor: string; reason: string }

const shownOf = (input: Input, engine: Engine): Shown | null => {
  if (!input.flag('show')) return null;
  const reason = input.required('reason');
  const { code, sealed } = sealReason(engine, 'none', reason);
  if (sealed !== null) throw new UsageError('--reason must be a code, such as checked, wrong_text or maintenance', '--reason');
  return { actor: actorOf(input), reason: code };
};

const isNews = ({ verdict, recorded }: Replayed): boolean => verdict !== 'same' || recorded === 'drifted';

const messagesOf = (found: readonly Replay[]): Replayed[] => found.flatMap((one) => (one.kind === 'message' ? [one.message] : []));

const replay = async (input: Input, io: Io, engine: Engine): Promise<number> => {
  const limit = wholeNumber(input, 'limit') ?? Number.POSITIVE_INFINITY;
  const sender = readSender(io.env, readCliConfig(io.env));
  const request: ReplayRequest = {
    purpose: input.required('purpose'), from: wholeNumber(input, 'from'), target: targetOf(input, engine), sinceAt: instantOption(input, 'since', engine.now()), untilAt: instantOption(input, 'until', engine.now()),
    senders: sender.sms !== null && sender.email !== null ? [{ sms: sender.sms, email: sender.email }] : [],
  };
  const show = shownOf(input, engine);
  await refuseNothing(engine, request);
  const [sum, progress] = [openSum(), createProgress(io)];
  let [told, hasMore] = [0, false];
  for await (const { eventId, found } of replayRender(engine, request)) {
    addReplays(sum, found);
    const all = messagesOf(found).filter((one) => input.json || isNews(one));
    const news = input.json ? all : all.slice(0, TOLD - told);
    hasMore ||= news.length < all.length;
    // Before anything is shown, so that nobody can see and leave no trace.
    if (show && news.some(isNews)) await recordPayloadShown(engine.db, [eventId], { at: engine.now(), means: 'replay-render', ...show });
    if (news.length > 0) progress.clear();
    for (const message of news) io.out.write(input.json ? `${JSON.stringify(jsonOf(message, show !== null && isNews(message)))}\n` : `${lineOf(message)}\n${show ? `${textsOf(message)}\n` : ''}`);
    told += news.length;
    progress.show(`${sum.notifications.toLocaleString('en')} notifications`, Number.isFinite(limit) ? sum.notifications / limit : null);
    if (sum.notifications >= limit || io.signal.aborted) break;
  }
  progress.clear();
  if (input.json) io.out.write(`${JSON.stringify(sumJson(sum))}\n`);
  else io.out.write(`${told > 0 ? '\n' : ''}${hasMore ? `Only the first ${TOLD} are told one by one; --json tells all.\n\n` : ''}${sumText(sum)}\n`);
  if (isEmpty(sum) && !io.signal.aborted) {
    io.err.write('Nothing was compared: no message fits the purpose, the span and the versions given; widen --since, --until or --limit, or leave out --from\n');
    return 1;
  }
  return isFaulty(sum) ? 1 : 0;
};

export const replayRenderCommand: Command = {
  name: 'replay-render',
  summary: 'render captured notifications in two template versions, and compare; nothing is sent',
  args: [],
  options: {
    purpose: { value: 'P', help: 'whose notifications' },
    from: { value: 'N', help: 'compare only those that are bound to version N of a template (default: each with the version that it is bound to)' },
    to: { value: 'N', help: 'version to compare with, published; in --candidate the highest where it is left out' },
    candidate: { value: 'DIR', help: 'a folder of templates to take the new version from, before anything is published' },
    since: { value: 'T', help: 'accepted since then: 30m, 2h, 7d, or a date such as 2026-11-29T08:00Z' },
    until: { value: 'T', help: 'accepted before then' },
    limit: { value: 'N', help: 'look at the newest N notifications only' },
    show: { help: 'print both texts of what differs, secret values left out; recorded, so --reason is needed' },
    reason: { value: 'R', help: 'why it is shown: a code, such as checked or wrong_text' },
    actor: { value: 'A', help: 'who looks: a name or role (default: cli)' },
  },
  examples: [
    ['replay-render --purpose password-reset --from 1 --to 2 --since 7d', 'what version 2 would have said; exit code 1 where a message fails, has drifted from its hash, or none was compared'],
    ['replay-render --purpose password-reset --candidate ./templates --limit 500', 'the same with a version that is still being written'],
    ['replay-render --purpose password-reset --to 2 --json', 'JSON lines: a message each, and the sum at the end'],
  ],
  run: (input, io) => withEngine(io, (engine) => replay(input, io, engine)),
};
