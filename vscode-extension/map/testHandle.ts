/**
 * `window.xlaLensMap`: what tests, and the curious, may read of the page. Nothing in it changes anything.
 *
 * - `isReady`: whether a map has been drawn.
 * - `state`: what the reader has chosen, see `state.ts`; `step`, `liveBytes`, `color` are what is in use.
 * - `selected`: the row of the selected value, -1 for none, and `label` of any row.
 * - `drawnCount`: how many rectangles are at least partly in the lower picture.
 * - `matchCount`: how many values match the search.
 * - `frameMilliseconds`: how long the last frames took to draw, at most 1000.
 * - `boxOf(value)`: the edges of a rectangle in the window, cut to the picture; null if it is not in it.
 * - `pointOfStep(step)`: a point on the curve's picture.
 */

import type { State } from "./state";
import type { Scene } from "./scene";
import { boundsOf } from "./rectangles";
import { stepScale } from "./plot";
import type { View } from "./view";
import { valueText } from "./model";

interface Page {
  scene: () => Scene | null;
  state: () => State;
  view: View;
  frameMilliseconds: number[];
}

export function testHandle({ scene, state, view, frameMilliseconds }: Page): void {
  const handle = {
    get isReady() {
      return frameMilliseconds.length > 0;
    },
    get state() {
      return { ...state() };
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
    get matchCount() {
      return scene()?.search.matches.length ?? 0;
    },
    get frameMilliseconds() {
      return [...frameMilliseconds];
    },
    label(value: number) {
      const now = scene();
      return now ? valueText(now.model, "label", value) : "";
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
      const place = canvas.getBoundingClientRect();
      return { x: place.left + left, y: place.top + top, width: right - left, height: bottom - top };
    },
    pointOfStep(step: number) {
      const now = scene();
      if (!now) return null;
      const place = view.curve.canvas.getBoundingClientRect();
      return { x: place.left + stepScale(view.curve, now.steps)(step), y: place.top + place.height / 2 };
    },
  };
  Object.defineProperty(window, "xlaLensMap", { value: Object.freeze(handle) });
}
