/** Something that needs its place: an instant, in a lane or (null) across all. */
export interface Anchor { at: number; lane: number | null }
export interface Scale {
  /** One per anchor, in the order given; never decreasing. */
  xs: number[];
  /** Stretches in which nothing happens, cut to one width. */
  breaks: { fromX: number; toX: number; ms: number }[];
  /** Null inside a break. */
  xOf: (at: number) => number | null;
}
export interface ScaleSettings { start: number; width: number; quietMs: number }

const SIGN = 17;
const LINE = 11;
const BREAK = 46;

/** Places anchors at a pace in units per ms; no two signs of a lane over another. */
const place = (anchors: readonly Anchor[], { start, quietMs }: ScaleSettings, pace: number): number[] => {
  const reached = new Map<number | null, number>();
  let at = start;
  let x = 0;
  return anchors.map((anchor) => {
    const ms = anchor.at - at;
    const line = reached.get(null);
    const free = [x + (ms >= quietMs ? BREAK : ms * pace), ...(line === undefined ? [] : [line + LINE])];
    const own = anchor.lane === null ? (reached.size === 0 ? undefined : Math.max(...reached.values()) + LINE) : reached.get(anchor.lane);
    if (own !== undefined) free.push(anchor.lane === null ? own : own + SIGN);
    x = Math.max(...free);
    reached.set(anchor.lane, x);
    at = anchor.at;
    return x;
  });
};

/** The widest pace at which everything fits; squeezed where even the closest does not. */
const fit = (anchors: readonly Anchor[], settings: ScaleSettings): number[] => {
  let low = 0;
  let high = settings.width;
  for (let turn = 0; turn < 50; turn += 1) {
    const pace = (low + high) / 2;
    if ((place(anchors, settings, pace).at(-1) ?? 0) > settings.width) high = pace;
    else low = pace;
  }
  const xs = place(anchors, settings, low);
  const squeeze = Math.min(1, settings.width / Math.max(1, xs.at(-1) ?? 1));
  return xs.map((x) => x * squeeze);
};

/**
 * Lays instants out on a line of `width` units: time runs evenly where it can, signs keep their distance, and what is as long as
 * `quietMs` without anything is cut to a break. `anchors` ascending by instant.
 */
export const scaleOf = (anchors: readonly Anchor[], settings: ScaleSettings): Scale => {
  const xs = fit(anchors, settings);
  const points = [{ at: settings.start, x: 0 }, ...anchors.map(({ at }, index) => ({ at, x: xs[index] as number }))];
  const pairs = points.slice(1).map((to, index) => ({ from: points[index] as { at: number; x: number }, to }));
  return {
    xs,
    breaks: pairs.filter(({ from, to }) => to.at - from.at >= settings.quietMs).map(({ from, to }) => ({ fromX: from.x, toX: to.x, ms: to.at - from.at })),
    xOf: (at) => {
      const exact = points.slice(1).find((point) => point.at === at);
      if (exact) return exact.x;
      const pair = pairs.find(({ from, to }) => from.at <= at && at < to.at);
      if (!pair) return null;
      if (at !== pair.from.at && pair.to.at - pair.from.at >= settings.quietMs) return null;
      return pair.from.x + ((at - pair.from.at) / (pair.to.at - pair.from.at)) * (pair.to.x - pair.from.x);
    },
  };
};

const STEPS_MS = [86_400_000, 21_600_000, 3_600_000, 600_000, 300_000, 60_000, 30_000, 10_000, 5_000, 1_000];

/** Round distances from the start that have room for their label, the rounder ones first. */
export const ticksOf = (scale: Scale, { start, end, room }: { start: number; end: number; room: number }): { ms: number; x: number }[] => {
  const ticks: { ms: number; x: number }[] = [];
  for (const step of STEPS_MS.filter((one) => (end - start) / one < 400)) {
    for (let ms = 0; start + ms <= end; ms += step) {
      const x = scale.xOf(start + ms);
      if (x !== null && ticks.every((other) => Math.abs(other.x - x) >= room)) ticks.push({ ms, x });
    }
  }
  return ticks.sort((one, other) => one.x - other.x);
};
