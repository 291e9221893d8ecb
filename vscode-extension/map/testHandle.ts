/**
 * `window.xlaLensMap`: a read-only view of the page for tests.
 *
 * - `isReady`: whether a map has been drawn.
 * - `state`: see `state.ts`; `step`, `liveBytes` and `color` are the values in effect.
 * - `selected`: the row of the selected value, or -1; `label(row)`: the label of any value.
 * - `drawnCount`: the number of rectangles at least partly in the lower plot.
 * - `colorsAtPeak`: the distinct colors of the upper plot's pixels in the column of the peak.
 * - `frameMilliseconds`: the drawing time of the last frames, up to 1000.
 * - `boxOf(value)`: the visible part of a rectangle in window coordinates, null if it is out of view.
 * - `pointOfStep(step)`: a point at a step of the upper plot.
 */

import { valueString } from "./model";
import { stepScale } from "./plot";
import { boundsOf } from "./rectangles";
import type { Scene } from "./scene";
import type { State } from "./state";
import type { View } from "./view";

interface Page {
  scene: () => Scene | null;
  state: () => State;
  view: View;
  frameMilliseconds: number[];
}

export function exposeTestHandle({ scene, state, view, frameMilliseconds }: Page): void {
  const handle = {
    get isReady() {
      return frameMilliseconds.length > 0;
    },
    get state() {
      return { ...state(), colorBy: scene()?.coloring.by };
    },
    get step() {
      return scene()?.step ?? -1;
    },
    get color() {
      return scene()?.space.color ?? -1;
    },
    get liveBytes() {
      return scene()?.liveBytes ?? -1;
    },
    get selected() {
      return state().selected;
    },
    get drawnCount() {
      return view.drawn()?.raster.drawnCount ?? 0;
    },
    get colorsAtPeak() {
      const now = scene();
      if (!now) return [];
      const { canvas, ratio } = view.curve;
      const x = Math.floor(stepScale(view.curve, now.steps)(now.space.peakStep) * ratio);
      const copy = new OffscreenCanvas(1, canvas.height).getContext("2d")!;
      copy.drawImage(canvas, -x, 0);
      const pixels = new Uint32Array(copy.getImageData(0, 0, 1, canvas.height).data.buffer);
      const counts = new Map<number, number>();
      for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
      // A single pixel is a blend at the edge of the line.
      return [...counts].filter(([, count]) => count > 1).map(([pixel]) => pixel);
    },
    get frameMilliseconds() {
      return [...frameMilliseconds];
    },
    label(value: number) {
      const now = scene();
      return now ? valueString(now.model, "label", value) : "";
    },
    boxOf(value: number) {
      const [now, drawn] = [scene(), view.drawn()];
      const bounds = now && drawn && boundsOf(now, drawn, value);
      if (!bounds) return null;
      const { width, height, canvas } = view.values;
      const [left, top] = [Math.max(0, bounds.left), Math.max(0, bounds.top)];
      const right = Math.min(width, bounds.left + bounds.width);
      const bottom = Math.min(height, bounds.top + bounds.height);
      if (right < left || bottom < top) return null;
      const corner = canvas.getBoundingClientRect();
      return { x: corner.left + left, y: corner.top + top, width: right - left, height: bottom - top };
    },
    pointOfStep(step: number) {
      const now = scene();
      if (!now) return null;
      const corner = view.curve.canvas.getBoundingClientRect();
      return { x: corner.left + stepScale(view.curve, now.steps)(step), y: corner.top + corner.height / 2 };
    },
  };
  Object.defineProperty(window, "xlaLensMap", { value: Object.freeze(handle) });
}
