/**
 * The frame of a plot: a canvas for the many shapes, and above it an SVG for axes, lines and labels. Both plots have the same
 * margins, so that their steps align.
 */

import { axisBottom, axisLeft } from "d3-axis";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { type Selection, select } from "d3-selection";
import { grouped, sizeTicks } from "../shared/numbers";
import { make } from "./dom";
import type { Range } from "./range";
import type { Scene } from "./scene";

export interface Plot {
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  svg: Selection<SVGSVGElement, unknown, null, undefined>;
  /** The group of lines and labels above the canvas. */
  marks: Selection<SVGGElement, unknown, null, undefined>;
  /** The size without margins, in CSS pixels, and the device pixels in each. */
  width: number;
  height: number;
  ratio: number;
}

export const MARGIN = { left: 78, right: 108, top: 8, bottom: 20 };

export type Scale = ScaleLinear<number, number>;

/** Create a plot with an accessible label and a role. */
export function createPlot(hook: string, label: string, role: string): Plot {
  const canvas = make("canvas", { tabindex: 0, role, "aria-label": label, "data-picture": hook });
  const element = make("div", { class: `plot plot-${hook}` }, canvas);
  const svg = select(element).append("svg").attr("aria-hidden", "true");
  const inner = svg.append("g").attr("transform", `translate(${MARGIN.left},${MARGIN.top})`);
  for (const name of ["grid", "x", "y", "marks"]) inner.append("g").attr("class", name);
  return {
    element,
    canvas,
    context: canvas.getContext("2d", { alpha: false })!,
    svg,
    marks: inner.select<SVGGElement>(".marks"),
    width: 20,
    height: 20,
    ratio: 1,
  };
}

/** Fits a plot to its element, now and whenever the element is resized. */
export function keepFitting(plot: Plot, changed: () => void): void {
  new ResizeObserver(() => {
    // A hidden element has no width; the plot keeps its size then.
    if (plot.element.clientWidth && fit(plot)) changed();
  }).observe(plot.element);
}

/** Fit a plot, and return whether its size changed. Not called in each frame, since reading sizes triggers a layout. */
function fit(plot: Plot): boolean {
  const { clientWidth, clientHeight } = plot.element;
  const ratio = devicePixelRatio || 1;
  const width = Math.max(20, clientWidth - MARGIN.left - MARGIN.right);
  const height = Math.max(20, clientHeight - MARGIN.top - MARGIN.bottom);
  if (width === plot.width && height === plot.height && ratio === plot.ratio) return false;
  Object.assign(plot, { width, height, ratio });
  plot.canvas.width = Math.round(width * ratio);
  plot.canvas.height = Math.round(height * ratio);
  Object.assign(plot.canvas.style, {
    left: `${MARGIN.left}px`,
    top: `${MARGIN.top}px`,
    width: `${width}px`,
    height: `${height}px`,
  });
  plot.svg.attr("width", clientWidth).attr("height", clientHeight);
  return true;
}

export function stepScale(plot: Plot, steps: Range): Scale {
  return scaleLinear(steps, [0, plot.width]);
}

/** The scale of bytes. `top` is the room above the plot for labels. */
export function byteScale(plot: Plot, bytes: Range, top = 0): Scale {
  return scaleLinear(bytes, [plot.height, top]);
}

/** Draw the axes, the range that the reader asks about and the cursor, in place of all marks of the frame before. */
export function drawFrame(plot: Plot, x: Scale, y: Scale, { step, state: { range } }: Scene): void {
  plot.marks.selectAll("*").remove();
  const inner = plot.svg.select<SVGGElement>("g");
  const steps = axisBottom<number>(x as never)
    .tickSize(4)
    .tickFormat(grouped)
    .offset(0);
  steps.tickValues(x.ticks(Math.max(2, plot.width / 90)).filter(Number.isInteger));
  inner.select<SVGGElement>(".x").attr("transform", `translate(0,${plot.height})`).call(steps);
  draw(plot, "text", "gutter", { x: plot.width + 30, y: plot.height + 14 }, "steps");
  const [bottom, top] = y.domain() as Range;
  const ticks = sizeTicks(bottom, top, Math.max(2, plot.height / 44));
  const text = new Map(ticks.map((tick) => [tick.sizeBytes, tick.text]));
  const sizes = axisLeft<number>(y as never)
    .tickSize(4)
    .offset(0);
  sizes.tickValues([...text.keys()]).tickFormat((sizeBytes) => text.get(sizeBytes) ?? "");
  inner.select<SVGGElement>(".y").call(sizes);
  const [from, to] = [y.range()[1]!, plot.height];
  if (range) {
    const [left, right] = [x(range[0] - 0.5), x(range[1] + 0.5)];
    draw(plot, "rect", "frame", { x: left, width: right - left, y: from, height: Math.max(0, to - from) });
  }
  const at = x(step);
  if (at >= 0 && at <= plot.width) drawLine(plot, "cursor", at, from, at, to);
}

/** Draw the pixels of a plot: all of its canvas, row by row. */
export function drawPixels({ context, canvas, ratio }: Plot, pixels: Uint32Array<ArrayBuffer>): void {
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), canvas.width, canvas.height), 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

/** Draw a shape or a text above a plot. `name` is its class in the style sheet. */
export function draw({ marks }: Plot, shape: string, name: string, places: Record<string, number>, text = ""): void {
  const element = marks.append(shape).attr("class", name).text(text);
  for (const [key, value] of Object.entries(places)) element.attr(key, value);
}

/** Draw a line above a plot. */
export function drawLine(plot: Plot, name: string, x1: number, y1: number, x2: number, y2: number): void {
  draw(plot, "line", name, { x1, y1, x2, y2 });
}

/** A text right of a plot: at a height, but within a range. */
export interface GutterLabel {
  lines: [string, string];
  at: number;
  within: Range;
}

const GUTTER_LINE = 13;

/** Write labels right of a plot: where there is no room for both lines, only the first one, or none. */
export function drawGutter(plot: Plot, labels: GutterLabel[]): void {
  const taken: Range[] = [];
  for (const { lines, at, within } of labels) {
    for (const shown of [lines, lines.slice(0, 1)]) {
      const length = shown.length * GUTTER_LINE;
      const clamped = (top: number) => Math.max(within[0], Math.min(top, within[1] - length));
      const isFree = (top: number) => taken.every(([low, high]) => top >= high || top + length <= low);
      const edges = taken
        .flatMap(([low, high]) => [high, low - length])
        .sort((a, b) => Math.abs(a - at) - Math.abs(b - at));
      const top = within[1] - within[0] < length ? undefined : [at - length / 2, ...edges].map(clamped).find(isFree);
      if (top === undefined) continue;
      taken.push([top, top + length]);
      for (const [row, text] of shown.entries()) {
        draw(plot, "text", "gutter", { x: plot.width + 6, y: top + row * GUTTER_LINE + 10 }, text);
      }
      break;
    }
  }
}

/** The position of a pointer event in a plot. */
export function pointIn(plot: Plot, event: { clientX: number; clientY: number }): [x: number, y: number] {
  const { left, top } = plot.canvas.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}
