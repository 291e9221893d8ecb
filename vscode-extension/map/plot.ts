/**
 * The frame of a picture: a canvas for what is many, and above it an SVG for axes, lines and words. Both pictures have
 * the same margins, so that their steps stand below each other.
 */

import { axisBottom, axisLeft } from "d3-axis";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { type Selection, select } from "d3-selection";
import { make } from "./dom";
import { grouped, sizeTicks } from "./numbers";
import type { Range } from "./range";

export interface Plot {
  element: HTMLElement;
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  svg: Selection<SVGSVGElement, unknown, null, undefined>;
  /** What lies below the axes, and what above. */
  marks: Selection<SVGGElement, unknown, null, undefined>;
  /** Pixels of the picture itself, without the margins; and how many of the screen's each has. */
  width: number;
  height: number;
  ratio: number;
}

export const MARGIN = { left: 78, right: 108, top: 4, bottom: 20 };

export type Scale = ScaleLinear<number, number>;

/** `words` tell what the picture is; `role` how it is used. */
export function createPlot(hook: string, words: string, role: string): Plot {
  const canvas = make("canvas", { tabindex: 0, role, "aria-label": words, "data-picture": hook });
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

/** Makes the picture as large as its place, now and whenever that changes. */
export function keepFitting(plot: Plot, changed: () => void): void {
  new ResizeObserver(() => {
    // Without a place, as while a table is shown instead, it stays as it was.
    if (plot.element.clientWidth && fit(plot)) changed();
  }).observe(plot.element);
}

/** Whether it has another size now. To ask the browser for sizes at each frame would cost a layout each. */
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

export function byteScale(plot: Plot, bytes: Range): Scale {
  return scaleLinear(bytes, [plot.height, 0]);
}

export function drawAxes(plot: Plot, x: Scale, y: Scale): void {
  const inner = plot.svg.select<SVGGElement>("g");
  const steps = x.ticks(Math.max(2, plot.width / 90)).filter(Number.isInteger);
  inner
    .select<SVGGElement>(".x")
    .attr("transform", `translate(0,${plot.height})`)
    .call(axisBottom<number>(x as never).tickValues(steps).tickSize(4).tickFormat(grouped).offset(0));
  const title = inner.selectAll(".x-title").data([0]).join("text").attr("class", "x-title gutter");
  title.attr("x", plot.width + 30).attr("y", plot.height + 14).text("steps");
  const [bottom, top] = y.domain() as Range;
  const ticks = sizeTicks(bottom, top, Math.max(2, plot.height / 44));
  const words = new Map(ticks.map((tick) => [tick.sizeBytes, tick.words]));
  const values = ticks.map((tick) => tick.sizeBytes);
  const axis = axisLeft<number>(y as never).tickValues(values).tickSize(4).offset(0);
  inner.select<SVGGElement>(".y").call(axis.tickFormat((sizeBytes) => words.get(sizeBytes) ?? ""));
}

/** A point of the screen in the pixels of a picture. */
export function pointIn(plot: Plot, event: { clientX: number; clientY: number }): [x: number, y: number] {
  const { left, top } = plot.canvas.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}
