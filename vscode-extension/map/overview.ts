/** The strip below the pictures: all steps, what of them is in view, and a window to move. */

import { columnsOf } from "./columns";
import { scaleLinear } from "d3-scale";
import { make } from "./dom";
import { MARGIN } from "./plot";
import { type Range, within } from "./range";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

const HEIGHT = 34;

export interface Overview {
  element: HTMLElement;
  draw(scene: Scene, theme: Theme): void;
}

export function createOverview(move: (steps: Range) => void): Overview {
  const canvas = make("canvas", { "data-picture": "overview", "aria-hidden": "true" });
  const element = make("div", { class: "overview" }, canvas);
  let last: Scene | undefined;
  const dragged = (event: PointerEvent) => {
    if (!last || !(event.buttons & 1)) return;
    canvas.setPointerCapture(event.pointerId);
    const { left, width } = canvas.getBoundingClientRect();
    const [first, end] = last.allSteps;
    const middle = first + ((event.clientX - left) / width) * (end - first);
    const half = (last.steps[1] - last.steps[0]) / 2;
    move(within([middle - half, middle + half], last.allSteps));
  };
  canvas.addEventListener("pointerdown", dragged);
  canvas.addEventListener("pointermove", dragged);
  return {
    element,
    draw(scene, theme) {
      last = scene;
      const isWhole = scene.steps[0] <= scene.allSteps[0] && scene.steps[1] >= scene.allSteps[1];
      element.hidden = isWhole;
      if (!isWhole) drawStrip(canvas, element.clientWidth - MARGIN.left - MARGIN.right, scene, theme);
    },
  };
}

function drawStrip(canvas: HTMLCanvasElement, width: number, scene: Scene, theme: Theme): void {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = HEIGHT * ratio;
  Object.assign(canvas.style, { left: `${MARGIN.left}px`, width: `${width}px`, height: `${HEIGHT}px` });
  const context = canvas.getContext("2d", { alpha: false })!;
  context.scale(ratio, ratio);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, HEIGHT);
  const x = scaleLinear(scene.allSteps, [0, width]);
  const y = scaleLinear([0, Math.max(1, scene.space.peakLiveBytes)], [HEIGHT, 3]);
  context.fillStyle = theme.live;
  context.beginPath();
  context.moveTo(0, HEIGHT);
  const columns = columnsOf(scene.space.curveStep, scene.space.curveBytes, ...scene.allSteps, Math.round(width));
  columns.forEach(({ x, greatest, last }, place) => {
    context.lineTo(x, y(place ? columns[place - 1]!.last : 0));
    context.lineTo(x, y(greatest));
    context.lineTo(x, y(last));
  });
  context.lineTo(width, HEIGHT);
  context.fill();
  const [left, right] = [x(scene.steps[0]), x(scene.steps[1])];
  context.globalAlpha = 0.72;
  context.fillStyle = theme.background;
  context.fillRect(0, 0, left, HEIGHT);
  context.fillRect(right, 0, width - right, HEIGHT);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 2;
  context.strokeRect(left + 1, 1, Math.max(4, right - left) - 2, HEIGHT - 2);
}
