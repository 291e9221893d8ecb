/** A line of many steps on few pixels: of each its least, its greatest and its last, so that it looks as all would. */

import { bisectRight } from "d3-array";

export interface Column {
  x: number;
  least: number;
  greatest: number;
  last: number;
}

/**
 * The bytes between `left` and `right` (steps, where step s begins at s - 1/2) in columns of a pixel. A column in which
 * nothing changes is left out, but for the first and the last.
 */
export function columnsOf(steps: number[], bytes: number[], left: number, right: number, width: number): Column[] {
  const scale = width / (right - left);
  let place = bisectRight(steps, left + 0.5);
  let current = bytes[place - 1] ?? 0;
  const columns: Column[] = [{ x: 0, least: current, greatest: current, last: current }];
  for (; place < steps.length && steps[place]! - 0.5 < right; place++) {
    const x = Math.floor((steps[place]! - 0.5 - left) * scale);
    let column = columns.at(-1)!;
    if (column.x !== x) {
      column = { x, least: current, greatest: current, last: current };
      columns.push(column);
    }
    current = bytes[place]!;
    column.least = Math.min(column.least, current);
    column.greatest = Math.max(column.greatest, current);
    column.last = current;
  }
  columns.push({ x: width, least: current, greatest: current, last: current });
  return columns;
}
