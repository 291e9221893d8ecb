/** Reduces a step curve to columns of one pixel, each with the minimum, the maximum and the last value in it. */

import { bisectRight } from "d3-array";

export interface Column {
  x: number;
  min: number;
  max: number;
  last: number;
}

/**
 * The columns of the bytes between the steps `left` and `right`, where step s begins at s - 1/2. Omits columns in which
 * nothing changes, except the first and the last.
 */
export function columnsOf(steps: number[], bytes: number[], left: number, right: number, width: number): Column[] {
  const scale = width / (right - left);
  let index = bisectRight(steps, left + 0.5);
  let current = bytes[index - 1] ?? 0;
  const columns: Column[] = [{ x: 0, min: current, max: current, last: current }];
  for (; index < steps.length && steps[index]! - 0.5 < right; index++) {
    const x = Math.floor((steps[index]! - 0.5 - left) * scale);
    let column = columns.at(-1)!;
    if (column.x !== x) {
      column = { x, min: current, max: current, last: current };
      columns.push(column);
    }
    current = bytes[index]!;
    column.min = Math.min(column.min, current);
    column.max = Math.max(column.max, current);
    column.last = current;
  }
  columns.push({ x: width, min: current, max: current, last: current });
  return columns;
}
