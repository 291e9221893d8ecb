/** Places labels in rows above a plot, so that they cover neither each other nor what the plot shows. */

export interface Label {
  text: string;
  width: number;
  /** The position of what it names. */
  x: number;
}

export interface Placed {
  /** The left edge. */
  x: number;
  row: number;
}

const GAP = 10;

/** Place each label at its position, moved between `low` and `high`, in the first row in which it has room. */
export function placeLabels(labels: readonly Label[], low: number, high: number): Placed[] {
  const placed: (Placed & { end: number })[] = [];
  for (const { x, width } of labels) {
    const left = Math.max(low, Math.min(x, high - width));
    const isFree = (row: number) =>
      placed.every((other) => other.row !== row || left > other.end + GAP || left + width + GAP < other.x);
    let row = 0;
    while (!isFree(row)) row++;
    placed.push({ x: left, row, end: left + width });
  }
  return placed.map(({ x, row }) => ({ x, row }));
}
