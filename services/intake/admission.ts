import type { RequestHandler } from 'express';

/** So many are taken in for every turn of the event loop. */
const PER_TURN = 8;

/** Lets callers in by turns of the event loop, in the order in which they came; `enter` calls back at once where there is room. */
export const createAdmission = (perTurn = PER_TURN): { enter: (goOn: () => void) => void } => {
  const waiting: (() => void)[] = [];
  let room = perTurn;
  let turning = false;
  const letIn = (): void => {
    room = perTurn;
    const going = waiting.splice(0, room);
    room -= going.length;
    turning = room < perTurn;
    if (turning) setImmediate(letIn);
    for (const goOn of going) goOn();
  };
  return {
    enter: (goOn) => {
      if (!turning) {
        turning = true;
        setImmediate(letIn);
      }
      if (room === 0 || waiting.length > 0) {
        waiting.push(goOn);
        return;
      }
      room -= 1;
      goOn();
    },
  };
};

/**
 * What is under way goes before what is new: of requests that come at the same time so many begin in each turn of the event loop, and the others wait for
 * theirs. Where there is time a turn takes less than a millisecond and nobody waits; where the process is behind, its turns are long,
 * and what it has accepted still meets its deadlines, instead of all of it being late together.
 */
export const admitByTurns = ({ enter }: ReturnType<typeof createAdmission>): RequestHandler => (_request, _response, next) => enter(next);
