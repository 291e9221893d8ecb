/** The upper plot: the live bytes of a memory space over the schedule by color, its reserved bytes, and both peaks. */

import { bisectRight } from "d3-array";
import { grouped, human } from "../shared/numbers";
import type { MapSpace } from "../shared/protocol";
import { liveBytesAt, NONE, ownStep } from "./model";
import { type GutterLabel, MARGIN, type Plot, type Scale } from "./plot";
import type { Scene } from "./scene";
import { cssColor, FAINT_SHARE, mixed, pixel, rgb, type Theme } from "./theme";

const LINE_HEIGHT = 15;
/** The y axis includes the reserved bytes and the capacity of the device unless they are above this multiple of the peak. */
const MOST = 2;

/** The text of a peak, in a row of its own above the plot. */
interface PeakLabel {
  name: "peak" | "printed";
  text: string;
  bytes: number;
  /** The positions of the peak and of its text. */
  x: number;
  left: number;
}

export function drawCurve(plot: Plot, scene: Scene, theme: Theme): void {
  const { space, steps } = scene;
  const columns = columnsOf(space.curve_step, space.curve_bytes, ...steps, Math.round(plot.width));
  const other = scene.other?.space.color === space.color ? scene.other.space : undefined;
  const others = other && columnsOf(other.curve_step, other.curve_bytes, ...steps, Math.round(plot.width));
  const mostInView = [...columns, ...(others ?? [])].reduce((most, { max }) => Math.max(most, max), 0);
  const peaks = Math.max(space.peak_live_bytes, other?.peak_live_bytes ?? 0);
  const isNear = (bytes: number) => bytes <= MOST * space.peak_live_bytes || space.peak_live_bytes === 0;
  const reserved = isNear(space.reserved_bytes) ? [space.reserved_bytes, peaks] : [];
  const limit = space.capacity && isNear(space.capacity.size_bytes) ? [space.capacity.size_bytes] : [];
  const most = Math.max(mostInView, ...reserved, ...limit);
  const x = plot.stepScale(steps);
  const labels = peakLabels(plot, scene, theme, x);
  const y = plot.byteScale([0, Math.max(1, most)], labels.length * LINE_HEIGHT + 4);
  plot.drawFrame(x, y, scene);
  drawStack(plot, scene, theme, y);
  drawCurveLine(plot, columns, theme.live, y);
  if (others) drawCurveLine(plot, others, theme.foreground, y, [5, 4]);
  drawMarks(plot, scene.space, y, labels);
}

/** The width of the stripes above the device's capacity, in CSS pixels. */
const STRIPE = 2;
/** Share of background in the area under the curve. */
const AREA_SHARE = 0.25;

function drawCurveLine({ context }: Plot, columns: Column[], color: string, y: Scale, dashes: number[] = []): void {
  const line = new Path2D();
  line.moveTo(0, y(columns[0]!.last));
  for (const [number, { x, min, max, last }] of columns.entries()) {
    if (number > 0) line.lineTo(x, y(columns[number - 1]!.last));
    if (min !== max) for (const bytes of [min, max]) line.lineTo(x, y(bytes));
    line.lineTo(x, y(last));
  }
  context.strokeStyle = color;
  context.lineWidth = 1;
  context.lineJoin = "bevel";
  context.setLineDash(dashes);
  context.stroke(line);
  context.setLineDash([]);
}

/** Draws the live bytes of each color above each other, pixel by pixel, each column at its highest step. */
function drawStack(plot: Plot, scene: Scene, theme: Theme, y: Scale): void {
  const { stack, coloring, state, steps, space } = scene;
  const { ratio } = plot;
  const { width, height } = plot.canvas;
  const background = rgb(theme.background);
  const isPicked = (name: string) => state.picked?.by !== coloring.by || state.picked.name === name;
  const shown = coloring.categories.flatMap(({ name, color }, category) => {
    if (state.isSolo && !isPicked(name)) return [];
    const share = isPicked(name) ? AREA_SHARE : FAINT_SHARE;
    const painted = pixel(mixed(rgb(cssColor(theme, color)), background, share));
    return { bytes: stack.bytes[category]!, color: painted, isPicked: isPicked(name) };
  });
  // The picked color lies at the bottom, where its shape can be read.
  shown.sort((a, b) => Number(b.isPicked) - Number(a.isPicked));
  const pixels = new Uint32Array(width * height).fill(pixel(background));
  // Stripes, since color alone does not tell everyone what exceeds the device.
  const limit = space.capacity ? Math.round(y(space.capacity.size_bytes) * ratio) : -1;
  const [over, stripe] = [pixel(rgb(theme.over)), Math.max(2, Math.round(STRIPE * ratio))];
  const perByte = (y(0) - y(1)) * ratio || 0;
  const bottom = Math.round(y(0) * ratio);
  const fill = (at: number, from: number, to: number) => {
    let [sum, low] = [0, bottom];
    for (const { bytes, color } of shown) {
      sum += bytes[at] ?? 0;
      const high = Math.max(0, bottom - Math.round(sum * perByte));
      for (let row = high * width; row < low * width; row += width) {
        for (let column = from; column < to; column++) pixels[row + column] = color;
      }
      low = Math.min(low, high);
    }
    for (let row = low; row < limit; row++) {
      for (let column = from; column < to; column++) {
        if ((row + column) % (4 * stripe) < stripe) pixels[row * width + column] = over;
      }
    }
  };
  const columns = columnsOf(stack.steps, stack.totals, ...steps, width);
  for (const [index, { x, maxAt, lastAt }] of columns.entries()) {
    const next = columns[index + 1]?.x ?? width;
    fill(maxAt, x, Math.min(x + 1, width));
    fill(lastAt, x + 1, next);
  }
  plot.drawPixels(pixels);
}

/** The texts of both peaks, if they are in view. */
function peakLabels({ context, width }: Plot, { model, space, steps }: Scene, theme: Theme, x: Scale): PeakLabel[] {
  const printed = model.map.printed_peak;
  const isBoth = printed?.step === space.peak_step && printed.bytes === null;
  const labels: PeakLabel[] = [];
  // The widest font that a label has.
  context.font = `600 11px ${theme.font}`;
  const add = (name: PeakLabel["name"], text: string, step: number, bytes: number) => {
    if (step < 0 || step < steps[0] || step > steps[1]) return;
    const whole = `${text}, step ${grouped(ownStep(model, step))}`;
    const length = context.measureText(whole).width;
    const left = Math.max(-MARGIN.left, Math.min(x(step), width + MARGIN.right - 4 - length));
    labels.push({ name, bytes, text: whole, x: x(step), left });
  };
  const name = isBoth ? "real and printed peak" : "real peak";
  add("peak", `${name} ${space.peak}`, space.peak_step ?? NONE, space.peak_live_bytes);
  if (printed && !isBoth) {
    // XLA's number is not on the curve.
    const live = liveBytesAt(space, printed.step);
    const size = printed.bytes === null ? "" : ` ${human(printed.bytes)}`;
    const isOff = printed.bytes !== null && human(printed.bytes) !== human(live);
    add("printed", `printed peak${size}${isOff ? ` (${human(live)} live)` : ""}`, printed.step, live);
  }
  return labels;
}

function drawMarks(plot: Plot, space: MapSpace, y: Scale, labels: PeakLabel[]): void {
  const { width, height } = plot;
  const top = y.range()[1]!;
  const gutter: GutterLabel[] = [];
  const level = (name: string, text: string, size: string, sizeBytes: number) => {
    const at = y(sizeBytes);
    if (at >= top) plot.drawLine(name, 0, at, width, at);
    gutter.push({ lines: [at >= top ? text : `↑ ${text}`, size], at: Math.max(top, at), within: [top - 6, height] });
  };
  level("reserve", "reserved", space.reserved, space.reserved_bytes);
  const { capacity } = space;
  if (capacity) level(space.is_over ? "limit over" : "limit", "limit", human(capacity.size_bytes), capacity.size_bytes);
  plot.drawGutter(gutter);
  for (const [row, { name, text, bytes, x: at, left }] of labels.entries()) {
    plot.drawLine(name, at, top, at, height);
    plot.drawShape("circle", name, { cx: at, cy: y(bytes), r: 3.5 });
    plot.drawShape("text", name, { x: left, y: row * LINE_HEIGHT + 10 }, text);
  }
}

/** The bytes in a column of one pixel of a step curve. */
interface Column {
  x: number;
  min: number;
  max: number;
  last: number;
  /** The indices of the maximum and of the last value. */
  maxAt: number;
  lastAt: number;
}

/**
 * The columns of the bytes between the steps `left` and `right`, where step s begins at s - 1/2. Omits columns in which
 * nothing changes, except the first and the last.
 */
export function columnsOf(steps: number[], bytes: number[], left: number, right: number, width: number): Column[] {
  const scale = width / (right - left);
  let index = bisectRight(steps, left + 0.5);
  let current = bytes[index - 1] ?? 0;
  const at = () => ({ min: current, max: current, last: current, maxAt: index - 1, lastAt: index - 1 });
  const columns: Column[] = [{ x: 0, ...at() }];
  for (; index < steps.length && steps[index]! - 0.5 < right; index++) {
    const x = Math.floor((steps[index]! - 0.5 - left) * scale);
    let column = columns.at(-1)!;
    if (column.x !== x) {
      column = { x, ...at() };
      columns.push(column);
    }
    current = bytes[index]!;
    column.min = Math.min(column.min, current);
    if (current > column.max) [column.max, column.maxAt] = [current, index];
    [column.last, column.lastAt] = [current, index];
  }
  columns.push({ x: width, ...at() });
  return columns;
}
