/**
 * Rasterizes rectangles. Each pixel belongs to one value, so the pixels also locate the value under the pointer. A rectangle
 * smaller than a pixel still gets one, above larger rectangles; among several in one pixel, the largest wins. There is no
 * spatial index: skipping 40,000 rectangles out of view takes less than a millisecond.
 */

import type { Boxes } from "./layout";
import { NONE } from "./model";

/** The steps and bytes in view, and the pixels to draw them on. `top` is the number of bytes at the upper edge. */
export interface Frame {
  left: number;
  right: number;
  bottom: number;
  top: number;
  width: number;
  height: number;
}

/** The emphasis of a value. */
export const HIDDEN = 0;
export const FAINT = 1;
export const SHOWN = 2;

export interface Raster {
  width: number;
  height: number;
  /** The box that owns each pixel, NONE for background. */
  boxes: Int32Array;
  /** Whether a box is large enough for an edge. */
  isEdged: Uint8Array;
}

const MIN_EDGED_PIXELS = 4;

/** Rasterize boxes. `emphasis` is HIDDEN, FAINT or SHOWN for each value; SHOWN boxes lie above FAINT ones. */
export function rasterize(boxes: Boxes, frame: Frame, emphasis: Uint8Array): Raster {
  const { width, height } = frame;
  const pixels = new Int32Array(width * height).fill(NONE);
  const isEdged = new Uint8Array(boxes.value.length);
  const [scaleX, scaleY] = [width / (frame.right - frame.left), height / (frame.top - frame.bottom)];
  const { left, right, low, high, value } = boxes;
  const isSmall = new Uint8Array(boxes.value.length);
  const fill = (box: number, x0: number, x1: number, y0: number, y1: number) => {
    for (let row = y0 * width; row < y1 * width; row += width) {
      // Calling `fill` takes as long as setting dozens of pixels one by one.
      if (x1 - x0 > 24) pixels.fill(box, row + x0, row + x1);
      else for (let pixel = row + x0; pixel < row + x1; pixel++) pixels[pixel] = box;
    }
  };
  for (const level of [FAINT, SHOWN]) {
    for (let box = 0; box < value.length; box++) {
      if (right[box]! <= frame.left || left[box]! >= frame.right) continue;
      if (high[box]! <= frame.bottom || low[box]! >= frame.top || emphasis[value[box]!] !== level) continue;
      const x0 = nearest((left[box]! - frame.left) * scaleX, width);
      const x1 = nearest((right[box]! - frame.left) * scaleX, width);
      const y0 = nearest((frame.top - high[box]!) * scaleY, height);
      const y1 = nearest((frame.top - low[box]!) * scaleY, height);
      if (x0 >= x1 || y0 >= y1) {
        isSmall[box] = 1;
        continue;
      }
      fill(box, x0, x1, y0, y1);
      isEdged[box] = Number(x1 - x0 >= MIN_EDGED_PIXELS && y1 - y0 >= MIN_EDGED_PIXELS);
    }
    for (const box of boxes.bySize) {
      if (!isSmall[box]) continue;
      isSmall[box] = 0;
      const x0 = Math.min(Math.max(0, Math.floor((left[box]! - frame.left) * scaleX)), width - 1);
      const x1 = nearest((right[box]! - frame.left) * scaleX, width);
      const y0 = Math.min(Math.max(0, Math.floor((frame.top - high[box]!) * scaleY)), height - 1);
      const y1 = nearest((frame.top - low[box]!) * scaleY, height);
      fill(box, x0, Math.max(x1, x0 + 1), y0, Math.max(y1, y0 + 1));
    }
  }
  return { width, height, boxes: pixels, isEdged };
}

/**
 * The colors of the pixels: the color of a box, or that of its edge where it meets another box on its left or above. Colors
 * are 32-bit canvas pixels, alpha first.
 */
export function paint(
  raster: Raster,
  colors: Uint32Array,
  edges: Uint32Array,
  background: number,
): Uint32Array<ArrayBuffer> {
  const { width, boxes, isEdged } = raster;
  const painted = new Uint32Array(boxes.length).fill(background);
  let before = NONE;
  for (let pixel = 0; pixel < boxes.length; pixel++) {
    const box = boxes[pixel]!;
    if (box >= 0) {
      const isEdge = isEdged[box] && (before !== box || boxes[pixel - width] !== box);
      painted[pixel] = isEdge ? edges[box]! : colors[box]!;
    }
    before = box;
  }
  return painted;
}

/** The nearest edge between pixels, from 0 to `last`. */
function nearest(position: number, last: number): number {
  return position <= 0 ? 0 : position >= last ? last : (position + 0.5) | 0;
}
