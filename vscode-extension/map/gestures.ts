/** Pointer gestures on a plot: the wheel zooms, and dragging pans. */

import type { Actions } from "./actions";
import type { Plot } from "./plot";
import type { Scene } from "./scene";

type Point = [x: number, y: number];

export interface Gestures {
  /** Whether the y axis can be zoomed, too. */
  hasBytes: boolean;
  /** A press without movement. */
  click(point: Point): void;
  doubleClick(point: Point): void;
  /** The pointer is dragged; by default, that pans. */
  drag?(from: Point, to: Point): void;
  /** The pointer is over a point, or has left the plot. */
  hover(point: Point | null, event: PointerEvent): void;
}

const MIN_DRAG = 4;
const ZOOM_A_PIXEL = 1.0022;
const LINE_PIXELS = 16;

/** Handles the gestures of a plot. */
export function listen(plot: Plot, scene: () => Scene, actions: Actions, gestures: Gestures): void {
  const { canvas } = plot;
  const { hasBytes } = gestures;
  const x = () => plot.stepScale(scene().steps);
  const y = () => plot.byteScale(scene().bytes);

  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode ? LINE_PIXELS : 1;
      const [px, py] = plot.pointIn(event);
      const isOther = event.shiftKey || event.ctrlKey || event.metaKey;
      // With Shift, some systems report the wheel as horizontal.
      const turned = unit * (event.deltaY || (isOther ? event.deltaX : 0));
      const factor = ZOOM_A_PIXEL ** -Math.max(-300, Math.min(300, turned));
      if (!isOther && Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        actions.pan(x().invert(unit * event.deltaX) - x().invert(0), 0);
      } else if (isOther && hasBytes) actions.zoomBytes(factor, y().invert(py));
      else actions.zoomSteps(factor, x().invert(px));
    },
    { passive: false },
  );

  let pressed: { at: Point; last: Point; hasMoved: boolean } | null = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    const at = plot.pointIn(event);
    pressed = { at, last: at, hasMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const point = plot.pointIn(event);
    if (!pressed) return gestures.hover(point, event);
    const { at, last } = pressed;
    pressed.hasMoved ||= Math.hypot(point[0] - at[0], point[1] - at[1]) >= MIN_DRAG;
    if (!pressed.hasMoved) return;
    gestures.hover(null, event);
    if (gestures.drag) return gestures.drag(at, point);
    const steps = x().invert(last[0]) - x().invert(point[0]);
    actions.pan(steps, hasBytes ? y().invert(last[1]) - y().invert(point[1]) : 0);
    pressed.last = point;
  });
  const release = () => {
    pressed = null;
  };
  canvas.addEventListener("pointerup", (event) => {
    const isClick = pressed && !pressed.hasMoved;
    release();
    if (isClick) gestures.click(plot.pointIn(event));
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", (event) => gestures.hover(null, event));
  canvas.addEventListener("dblclick", (event) => gestures.doubleClick(plot.pointIn(event)));
}
