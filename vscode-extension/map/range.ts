/** Ranges of steps or bytes in view. */

export type Range = [low: number, high: number];

/** Zoom by a factor around `at`, which keeps its position. The result is at least `min` long and lies within `whole`. */
export function zoomed(range: Range, at: number, factor: number, whole: Range, min: number): Range {
  const length = Math.max(Math.min((range[1] - range[0]) / factor, whole[1] - whole[0]), min);
  const share = (at - range[0]) / (range[1] - range[0]);
  return within([at - share * length, at + (1 - share) * length], whole);
}

/** Move a range, within the whole. */
export function panned(range: Range, by: number, whole: Range): Range {
  return within([range[0] + by, range[1] + by], whole);
}

/** Return the same range if it covers `low` to `high`, else the nearest range of equal length that does, with a margin. */
export function revealing(range: Range, low: number, high: number, whole: Range): Range {
  if (low >= range[0] && high <= range[1]) return range;
  const length = range[1] - range[0];
  if (high - low > length) {
    // Do not move for an interval that is wider than the view and already partly visible. Else show the near part of it.
    if (low < range[1] && high > range[0]) return range;
    const near: Range = low >= range[1] ? [low, low + 0.8 * length] : [high - 0.8 * length, high];
    return revealing(range, ...near, whole);
  }
  const margin = Math.min(0.1 * length, (length - (high - low)) / 2);
  const start = low < range[0] ? low - margin : high + margin - length;
  return within([start, start + length], whole);
}

/** Move a range into the whole. A range that is longer than the whole becomes the whole. */
export function within(range: Range, whole: Range): Range {
  const length = range[1] - range[0];
  if (length >= whole[1] - whole[0]) return [...whole];
  const low = Math.max(whole[0], Math.min(range[0], whole[1] - length));
  return [low, low + length];
}

/** Return the range, or null if it is the whole, so that a view of everything stays one when the whole changes. */
export function unlessWhole(range: Range, whole: Range): Range | null {
  const slack = 1e-9 * (whole[1] - whole[0]);
  return range[0] <= whole[0] + slack && range[1] >= whole[1] - slack ? null : range;
}
