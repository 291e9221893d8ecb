/** `window.xlaLensMap`: what the page shows, for tests. `isReady`: whether a map has been drawn. */

import { valueString } from "./model";
import { stepScale } from "./plot";
import { boundsOf } from "./rectangles";
import type { Scene } from "./scene";
import type { View } from "./view";

export function exposeTestHandle(scene: () => Scene | null, view: View, frameMilliseconds: readonly number[]): void {
  Object.defineProperty(window, "xlaLensMap", {
    get() {
      const now = scene();
      return now && frameMilliseconds.length ? handleOf(now, view, frameMilliseconds) : { isReady: false };
    },
  });
}

function handleOf(scene: Scene, { curve, values, drawn }: View, frameMilliseconds: readonly number[]) {
  const { state, step, liveBytes, space, model } = scene;
  return {
    isReady: true,
    state: { ...state, colorBy: scene.coloring.by },
    step,
    liveBytes,
    color: space.color,
    selected: state.selected,
    /** The number of rectangles at least partly in the lower plot. */
    drawnCount: drawn()?.raster.drawnCount ?? 0,
    /** The drawing time of the last frames. */
    frameMilliseconds,
    label: (value: number) => valueString(model, "label", value),
    /** The distinct colors of the upper plot's pixels in the column of the peak. */
    colorsAtPeak() {
      const { canvas, ratio } = curve;
      const copy = new OffscreenCanvas(1, canvas.height).getContext("2d")!;
      copy.drawImage(canvas, -Math.floor(stepScale(curve, scene.steps)(space.peakStep) * ratio), 0);
      const pixels = [...new Uint32Array(copy.getImageData(0, 0, 1, canvas.height).data.buffer)];
      // A single pixel is a blend at the edge of the line.
      return [...new Set(pixels)].filter((pixel) => pixels.indexOf(pixel) !== pixels.lastIndexOf(pixel));
    },
    /** The visible part of a rectangle in window coordinates, null if it is out of view. */
    boxOf(value: number) {
      const now = drawn();
      const bounds = now && boundsOf(scene, now, value);
      if (!bounds) return null;
      const [left, top] = [Math.max(0, bounds.left), Math.max(0, bounds.top)];
      const right = Math.min(values.width, bounds.left + bounds.width);
      const bottom = Math.min(values.height, bounds.top + bounds.height);
      const corner = values.canvas.getBoundingClientRect();
      const box = { x: corner.left + left, y: corner.top + top, width: right - left, height: bottom - top };
      return right < left || bottom < top ? null : box;
    },
    pointOfStep(at: number) {
      const corner = curve.canvas.getBoundingClientRect();
      return { x: corner.left + stepScale(curve, scene.steps)(at), y: corner.top + corner.height / 2 };
    },
  };
}
