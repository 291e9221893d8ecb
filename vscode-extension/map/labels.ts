/** Places labels beside lines so that they do not overlap. */

export interface Label {
  text: string;
  width: number;
  /** Preferred positions, best first: the left edge and the vertical middle. */
  places: [x: number, y: number][];
}

/** The minimum distance of a line from the middle of a label. */
const MIN_DISTANCE = 7;

export interface Placed {
  text: string;
  x: number;
  y: number;
}

/**
 * Place each label at the first of its positions that is inside the plot and free. If there is none, use the first free row
 * from the top, and move the label into the plot. Labels without any free row are omitted. No label covers one of the
 * horizontal `lines`.
 */
export function placeLabels(
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
      lines.every((line) => Math.abs(y - line) >= MIN_DISTANCE) &&
      taken.every(([left, right, other]) => x + label.width <= left || x >= right || Math.abs(y - other) >= lineHeight);
    const inside = label.places.map(([x, y]): [number, number] => [Math.max(0, Math.min(x, width - label.width)), y]);
    const rows = Array.from({ length: Math.floor(height / lineHeight) }, (_, row) => (row + 0.5) * lineHeight);
    const on = (y: number) => [...label.places, ...inside].map(([x]): [number, number] => [x, y]);
    const found = [...label.places, ...rows.flatMap(on)].find(fits);
    if (!found) continue;
    const [x, y] = found;
    taken.push([x - 4, x + label.width + 4, y]);
    placed.push({ text: label.text, x, y });
  }
  return placed;
}
