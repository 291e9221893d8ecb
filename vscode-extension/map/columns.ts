/** Reduces a step curve to columns of one pixel, each with the minimum, the maximum and the last value in it. */

import { bisectRight } from "d3-array";

export interface Column {
  x: number;
  min: number;
  max: number;
  last: number;
  /** The indices of the maximum and of the last value. */
  maxAt: number;
  lastAt: number;
}

/**
 * The columns of the bytes between the steps `left` and `right`, where step s begins at s - 1/2. Omits columns in which
 * nothing changes, except the first and the last.
 */
export function columnsOf(steps: number[], bytes: number[], left: number, right: number, width: number): Column[] {
  const scale = width / (right - left);
  let index = bisectRight(steps, left + 0.5);
  let current = bytes[index - 1] ?? 0;
  const at = () => ({ min: current, max: current, last: current, maxAt: index - 1, lastAt: index - 1 });
  const columns: Column[] = [{ x: 0, ...at() }];
  for (; index < steps.length && steps[index]! - 0.5 < right; index++) {
    const x = Math.floor((steps[index]! - 0.5 - left) * scale);
    let column = columns.at(-1)!;
    if (column.x !== x) {
      column = { x, ...at() };
      columns.push(column);
    }
    current = bytes[index]!;
    column.min = Math.min(column.min, current);
    if (current > column.max) [column.max, column.maxAt] = [current, index];
    [column.last, column.lastAt] = [current, index];
  }
  columns.push({ x: width, ...at() });
  return columns;
}
