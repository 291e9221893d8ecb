/** The strip below the plots: the whole schedule, with a window around the steps in view that can be dragged. */

import { scaleLinear } from "d3-scale";
import { columnsOf } from "./columns";
import { make } from "./dom";
import { MARGIN } from "./plot";
import { type Range, within } from "./range";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

const HEIGHT = 34;
const MIN_WINDOW = 6;

export interface Overview {
  element: HTMLElement;
  /** `width`: the width of the plots. */
  draw(scene: Scene, theme: Theme, width: number): void;
}

export function createOverview(move: (steps: Range) => void): Overview {
  const canvas = make("canvas", { "data-picture": "overview", "aria-hidden": "true" });
  const window = make("div", { class: "window" });
  const strip = make("div", { class: "strip" }, canvas, window);
  const element = make("div", { class: "overview" }, strip);
  let scene: Scene | undefined;
  let drawn: { curve: unknown; theme: unknown; width: number } | undefined;
  const dragged = (event: PointerEvent) => {
    if (!scene || !(event.buttons & 1)) return;
    strip.setPointerCapture(event.pointerId);
    const { left, width } = strip.getBoundingClientRect();
    const [first, last] = scene.allSteps;
    const middle = first + ((event.clientX - left) / width) * (last - first);
    const half = (scene.steps[1] - scene.steps[0]) / 2;
    move(within([middle - half, middle + half], scene.allSteps));
  };
  strip.addEventListener("pointerdown", dragged);
  strip.addEventListener("pointermove", dragged);
  return {
    element,
    draw(newScene, theme, width) {
      scene = newScene;
      const { steps, allSteps, space } = scene;
      const x = scaleLinear(allSteps, [0, width]);
      const [left, right] = [x(steps[0]), x(steps[1])];
      window.style.left = `${Math.min(left, width - MIN_WINDOW)}px`;
      window.style.width = `${Math.max(MIN_WINDOW, right - left)}px`;
      if (drawn?.curve === space && drawn.theme === theme && drawn.width === width) return;
      drawn = { curve: space, theme, width };
      Object.assign(strip.style, { left: `${MARGIN.left}px`, width: `${width}px` });
      drawStrip(canvas, scene, theme, width);
    },
  };
}

function drawStrip(canvas: HTMLCanvasElement, { space, allSteps }: Scene, theme: Theme, width: number): void {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(ratio, ratio);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, HEIGHT);
  const y = scaleLinear([0, Math.max(1, space.peakLiveBytes)], [HEIGHT, 3]);
  context.fillStyle = theme.live;
  context.beginPath();
  context.moveTo(0, HEIGHT);
  let before = 0;
  for (const { x, max, last } of columnsOf(space.curveStep, space.curveBytes, ...allSteps, Math.round(width))) {
    for (const bytes of [before, max, last]) context.lineTo(x, y(bytes));
    before = last;
  }
  context.lineTo(width, HEIGHT);
  context.fill();
}
