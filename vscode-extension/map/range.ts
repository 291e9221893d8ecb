/** What part of the steps, or of the bytes, is in view. */

export type Range = [low: number, high: number];

/** Closer by a factor, or farther; what is at `at` stays there. Never closer than to `least`, never beyond `whole`. */
export function zoomed(range: Range, at: number, factor: number, whole: Range, least: number): Range {
  const length = Math.max(Math.min((range[1] - range[0]) / factor, whole[1] - whole[0]), least);
  const share = (at - range[0]) / (range[1] - range[0]);
  return within([at - share * length, at + (1 - share) * length], whole);
}

/** What of a range is in the whole; more, if it is less than the least. */
export function framed(range: Range, whole: Range, least: number): Range {
  const [low, high] = [Math.max(range[0], whole[0]), Math.min(range[1], whole[1])];
  const missing = Math.max(0, least - (high - low)) / 2;
  return within([low - missing, high + missing], whole);
}

export function panned(range: Range, by: number, whole: Range): Range {
  return within([range[0] + by, range[1] + by], whole);
}

/** The same if it shows all from `low` to `high`; else the nearest of the same length that does, with some margin. */
export function revealing(range: Range, low: number, high: number, whole: Range): Range {
  if (low >= range[0] && high <= range[1]) return range;
  const length = range[1] - range[0];
  const margin = Math.max(0, Math.min(0.1 * length, (length - (high - low)) / 2));
  if (high - low > length) {
    // What is wider than the view and partly in it can be seen as well as before.
    if (low < range[1] && high > range[0]) return range;
    const start = low >= range[1] ? low - 0.1 * length : high - 0.9 * length;
    return within([start, start + length], whole);
  }
  return low < range[0]
    ? within([low - margin, low - margin + length], whole)
    : within([high + margin - length, high + margin], whole);
}

/** A range of the same length, moved into the whole as far as it fits. */
export function within(range: Range, whole: Range): Range {
  const length = range[1] - range[0];
  if (length >= whole[1] - whole[0]) return [...whole];
  const low = Math.max(whole[0], Math.min(range[0], whole[1] - length));
  return [low, low + length];
}

/** The same range, or null if it is the whole one: then it stays so when the whole becomes another. */
export function unlessWhole(range: Range, whole: Range): Range | null {
  const slack = 1e-9 * (whole[1] - whole[0]);
  return range[0] <= whole[0] + slack && range[1] >= whole[1] - slack ? null : range;
}
