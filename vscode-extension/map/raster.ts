/**
 * Rectangles to pixels. Each pixel is given to one value, and so tells what is under the pointer, too. What is smaller
 * than a pixel still takes one, over what is bigger; of several such ones the biggest has it. All rectangles are looked
 * at each time: to leave those that are out of view takes less than a millisecond for 40,000.
 */

import type { Boxes } from "./layout";
import { NONE } from "./model";

/** What is shown: steps and bytes, on so many pixels. `top` are the bytes at the upper edge. */
export interface Frame {
  left: number;
  right: number;
  bottom: number;
  top: number;
  width: number;
  height: number;
}

/** How much of a value is shown. */
export const HIDDEN = 0;
export const FAINT = 1;
export const SHOWN = 2;

export interface Raster {
  width: number;
  height: number;
  /** The place in the boxes that has a pixel, NONE for nothing. */
  boxes: Int32Array;
  /** Whether a box is big enough for an edge. */
  isEdged: Uint8Array;
  /** How many boxes are at least partly in the frame. */
  drawnCount: number;
}

const LEAST_EDGED_PIXELS = 4;

/** `emphasis` has HIDDEN, FAINT or SHOWN for each value; what is SHOWN lies above what is FAINT. */
export function rasterise(boxes: Boxes, frame: Frame, emphasis: Uint8Array): Raster {
  const { width, height } = frame;
  const pixels = new Int32Array(width * height).fill(NONE);
  const isEdged = new Uint8Array(boxes.value.length);
  const [scaleX, scaleY] = [width / (frame.right - frame.left), height / (frame.top - frame.bottom)];
  const { left, right, low, high, value } = boxes;
  const isSmall = new Uint8Array(boxes.value.length);
  let drawnCount = 0;
  const fill = (box: number, x0: number, x1: number, y0: number, y1: number) => {
    for (let row = y0 * width; row < y1 * width; row += width) {
      // A call of `fill` costs as much as some tens of pixels.
      if (x1 - x0 > 24) pixels.fill(box, row + x0, row + x1);
      else for (let pixel = row + x0; pixel < row + x1; pixel++) pixels[pixel] = box;
    }
  };
  for (const level of [FAINT, SHOWN]) {
    let smallCount = 0;
    for (let box = 0; box < value.length; box++) {
      if (right[box]! <= frame.left || left[box]! >= frame.right) continue;
      if (high[box]! <= frame.bottom || low[box]! >= frame.top || emphasis[value[box]!] !== level) continue;
      drawnCount++;
      const x0 = nearest((left[box]! - frame.left) * scaleX, width);
      const x1 = nearest((right[box]! - frame.left) * scaleX, width);
      const y0 = nearest((frame.top - high[box]!) * scaleY, height);
      const y1 = nearest((frame.top - low[box]!) * scaleY, height);
      if (x0 >= x1 || y0 >= y1) {
        isSmall[box] = 1;
        smallCount++;
        continue;
      }
      fill(box, x0, x1, y0, y1);
      isEdged[box] = Number(x1 - x0 >= LEAST_EDGED_PIXELS && y1 - y0 >= LEAST_EDGED_PIXELS);
    }
    if (!smallCount) continue;
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
  return { width, height, boxes: pixels, isEdged, drawnCount };
}

/**
 * The colours of the pixels: of each box its own, or that of its edge where it meets another on its left or above.
 * Colours are as those of a canvas, alpha first.
 */
export function paint(raster: Raster, colours: Uint32Array, edges: Uint32Array, background: number): Uint32Array {
  const { width, boxes, isEdged } = raster;
  const painted = new Uint32Array(boxes.length).fill(background);
  let before = NONE;
  for (let pixel = 0; pixel < boxes.length; pixel++) {
    const box = boxes[pixel]!;
    if (box >= 0) {
      const isEdge = isEdged[box] && (before !== box || boxes[pixel - width] !== box);
      painted[pixel] = isEdge ? edges[box]! : colours[box]!;
    }
    before = box;
  }
  return painted;
}

/** The edge between pixels that is nearest, of those from 0 to the last. */
function nearest(place: number, last: number): number {
  return place <= 0 ? 0 : place >= last ? last : (place + 0.5) | 0;
}
