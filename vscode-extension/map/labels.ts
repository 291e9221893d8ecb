/** Finds places for words beside lines, so that none lies on another. */

export interface Label {
  words: string;
  width: number;
  /** Where it would be, best first: its left edge and the middle of its line. */
  places: [x: number, y: number][];
}

/** Of a line from the middle of words. */
const LEAST_DISTANCE = 7;

export interface Placed {
  words: string;
  x: number;
  y: number;
}

/**
 * Each label at the first of its places that is within the picture and free; if none is, in the first row from the top
 * where it is, moved to be within. What finds no place at all is left out. None of the `lines`, which are as wide as
 * the picture, goes through words.
 */
export function place(
  labels: Label[],
  width: number,
  height: number,
  lineHeight: number,
  lines: number[] = [],
): Placed[] {
  const taken: [left: number, right: number, y: number][] = [];
  const placed: Placed[] = [];
  for (const label of labels) {
    const fits = ([x, y]: [number, number]) =>
      x >= 0 &&
      x + label.width <= width &&
      y >= lineHeight / 2 &&
      y <= height - lineHeight / 2 &&
      lines.every((line) => Math.abs(y - line) >= LEAST_DISTANCE) &&
      taken.every(([left, right, other]) => x + label.width <= left || x >= right || Math.abs(y - other) >= lineHeight);
    const inside = label.places.map(([x, y]): [number, number] => [Math.max(0, Math.min(x, width - label.width)), y]);
    const rows = Array.from({ length: Math.floor(height / lineHeight) }, (_, row) => (row + 0.5) * lineHeight);
    const on = (y: number) => [...label.places, ...inside].map(([x]): [number, number] => [x, y]);
    const found = [...label.places, ...rows.flatMap(on)].find(fits);
    if (!found) continue;
    const [x, y] = found;
    taken.push([x - 4, x + label.width + 4, y]);
    placed.push({ words: label.words, x, y });
  }
  return placed;
}
