import { Refusal } from './refusal.ts';

const ANSWER_WITHIN_MS = 15_000;

interface ProblemAnswer { code?: string; detail?: string; title?: string; field?: string; errors?: { field: string; problem: string; cure: string }[] }

/** The intake's refusal in its own words. */
const refusalOf = (status: number, problem: ProblemAnswer, retryAfter: string | null): Refusal => {
  const wait = retryAfter === null ? undefined : `try again in ${retryAfter} s`;
  const key = status === 401 || status === 403 ? 'give a live key with --api-key or TOCSIN_API_KEY; `npx tocsin key create --label …` makes one' : undefined;
  return new Refusal(`refused (${status}): ${problem.detail ?? problem.title ?? 'the intake gave no reason'}`, { code: problem.code ?? `http_${status}`, field: problem.field, cure: wait ?? key });
};

/** Posts to the intake. @throws Refusal where it refuses, cannot be reached, or is no intake. */
export const postToIntake = async (url: string, request: { body: unknown; idempotencyKey: string; apiKey: string | null }): Promise<Record<string, unknown>> => {
  const again = `the same command with --idempotency-key ${request.idempotencyKey} is safe to repeat`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      method: 'POST', redirect: 'error', signal: AbortSignal.timeout(ANSWER_WITHIN_MS), body: JSON.stringify(request.body),
      headers: {
        'content-type': 'application/json', accept: 'application/json', 'idempotency-key': request.idempotencyKey,
        ...(request.apiKey === null ? {} : { authorization: `Bearer ${request.apiKey}` }),
      },
    });
    text = await response.text();
  } catch {
    throw new Refusal(`the intake at ${new URL(url).origin} gave no answer, so it is not known whether it accepted`, { code: 'intake_away', cure: `start Tocsin (npm start) or correct --url; ${again}` });
  }
  let answer: Record<string, unknown>;
  try {
    answer = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw new Refusal(`what answers at ${new URL(url).origin} (${response.status}) is not the intake of Tocsin`, { code: 'not_an_intake', field: '--url', cure: 'correct --url or TOCSIN_URL' });
  }
  if (!response.ok) throw refusalOf(response.status, answer as ProblemAnswer, response.headers.get('retry-after'));
  return answer;
};
