/** `window.xlaLensMap`: what the page shows, for tests. `isReady`: whether there is a map. */

import { valueString } from "./model";
import { boundsOf } from "./rectangles";
import type { Scene } from "./scene";
import type { View } from "./view";

export function exposeTestHandle(scene: () => Scene | null, view: View): void {
  const get = () => handleOf(scene(), view);
  Object.defineProperty(window, "xlaLensMap", { get });
}

function handleOf(scene: Scene | null, { curve, values, drawn }: View) {
  if (!scene) return { isReady: false };
  const { state, step, liveBytes, space, model } = scene;
  return {
    isReady: true,
    state: { ...state, colorBy: scene.coloring.by },
    step,
    liveBytes,
    selected: state.selected,
    /** The number of rectangles with a pixel in the lower plot. */
    drawnCount: new Set(drawn()?.raster.boxes.filter((box) => box >= 0)).size,
    label: (value: number) => valueString(model, "label", value),
    /** The distinct colors of the upper plot's pixels in the column of the peak. */
    colorsAtPeak() {
      const { context, canvas, ratio } = curve;
      const column = Math.floor(curve.stepScale(scene.steps)(space.peak_step ?? 0) * ratio);
      const pixels = [...new Uint32Array(context.getImageData(column, 0, 1, canvas.height).data.buffer)];
      // A single pixel is a blend at the edge of the line.
      return [...new Set(pixels)].filter((pixel) => pixels.indexOf(pixel) !== pixels.lastIndexOf(pixel));
    },
    /** The visible part of a rectangle in window coordinates. */
    boxOf(value: number) {
      const bounds = boundsOf(scene, drawn()!, value)!;
      const [left, top] = [Math.max(0, bounds.left), Math.max(0, bounds.top)];
      const right = Math.min(values.width, bounds.left + bounds.width);
      const bottom = Math.min(values.height, bounds.top + bounds.height);
      const corner = values.canvas.getBoundingClientRect();
      return { x: corner.left + left, y: corner.top + top, width: right - left, height: bottom - top };
    },
    pointOfStep(at: number) {
      const corner = curve.canvas.getBoundingClientRect();
      return { x: corner.left + curve.stepScale(scene.steps)(at), y: corner.top + corner.height / 2 };
    },
  };
}
