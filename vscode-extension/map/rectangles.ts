/** The lower plot: values as rectangles, live range by offset. */

import { human } from "../shared/numbers";
import type { Coloring } from "./coloring";
import { allocationText } from "./facts";
import type { Layout } from "./layout";
import { memoizeLast } from "./memoize";
import { NONE, valueString } from "./model";
import type { GutterLabel, Plot, Scale } from "./plot";
import { FAINT, HIDDEN, paint, type Raster, rasterize } from "./raster";
import type { Scene } from "./scene";
import { cssColor, FAINT_SHARE, isLight, mixed, pixel, type Rgb, rgb, type Theme } from "./theme";

/** The last frame, used to find the value under the pointer. */
export interface Drawn {
  raster: Raster;
  x: Scale;
  y: Scale;
}

const LINE_HEIGHT = 14;
const MIN_NAMED_WIDTH = 40;
const MIN_BAND = 3;
const EDGE_SHARE = 0.4;
/** Shares of background mixed into the color of a category, so that neighbors in one category can be distinguished. */
const SHADES = [0, 0.07, 0.14, 0.21];
/** Knuth's multiplicative hash, which scatters rows over the shades. */
const SCATTER = 2654435761;

export function drawRectangles(plot: Plot, scene: Scene, theme: Theme): Drawn {
  const { canvas } = plot;
  const [x, y] = [plot.stepScale(scene.steps), plot.byteScale(scene.bytes)];
  plot.drawFrame(x, y, scene);
  const [left, right] = scene.steps;
  const [bottom, top] = scene.bytes;
  const frame = { left, right, bottom, top, width: canvas.width, height: canvas.height };
  const raster = rasterize(scene.layout.boxes, frame, scene.emphasis);
  const { fills, edges } = boxColors(scene.layout, scene.coloring, scene.emphasis, shadingOf(scene, theme), theme);
  plot.drawPixels(paint(raster, fills, edges, pixel(rgb(theme.background))));
  const drawn = { raster, x, y };
  drawNames(plot, scene, theme, drawn);
  drawMarks(plot, scene, drawn);
  return drawn;
}

/** How values of one category are distinguished: by shade, not at all, or matches of the search by their edge. */
type Shading = "shades" | "plain" | "matches";

function shadingOf({ search, coloring }: Scene, theme: Theme): Shading {
  if (search.isOn) return "matches";
  return theme.isHighContrast || coloring.by === "padding" ? "plain" : "shades";
}

/** The value at a point of the plot, NONE if there is none. */
export function valueAt(plot: Plot, layout: Layout, { raster }: Drawn, [x, y]: [number, number]): number {
  const [column, row] = [Math.floor(x * plot.ratio), Math.floor(y * plot.ratio)];
  if (column < 0 || row < 0 || column >= raster.width || row >= raster.height) return NONE;
  return layout.boxes.value[raster.boxes[row * raster.width + column]!] ?? NONE;
}

/** The number of values that overlap the pixel at a point. */
export function countAt(scene: Scene, { x, y }: Drawn, [px, py]: [number, number]): number {
  const { left, right, low, high, value } = scene.layout.boxes;
  const [first, last] = [x.invert(Math.floor(px)), x.invert(Math.floor(px) + 1)];
  const [top, bottom] = [y.invert(Math.floor(py)), y.invert(Math.floor(py) + 1)];
  let count = 0;
  for (let box = 0; box < left.length; box++) {
    if (left[box]! < last && right[box]! > first && low[box]! < top && high[box]! > bottom) {
      count += Number(scene.emphasis[value[box]!] !== HIDDEN);
    }
  }
  return count;
}

type Bounds = Record<"left" | "top" | "width" | "height", number>;

/** The bounds of a value in the plot, null if the plot does not contain it. */
export function boundsOf({ layout }: Scene, { x, y }: Drawn, value: number): Bounds | null {
  const box = layout.boxOf[value] ?? NONE;
  if (box === NONE) return null;
  const { left, right, low, high } = layout.boxes;
  const [x0, x1, y0, y1] = [x(left[box]!), x(right[box]!), y(high[box]!), y(low[box]!)];
  return { left: x0, top: y0, width: x1 - x0, height: y1 - y0 };
}

/** The color of each box, and that of its edge. */
const boxColors = memoizeLast((layout: Layout, coloring: Coloring, emphasis: Uint8Array, by: Shading, theme: Theme) => {
  const [background, match, ink] = [theme.background, theme.match, theme.foreground].map(rgb) as [Rgb, Rgb, Rgb];
  const shades = coloring.categories.flatMap((category) =>
    SHADES.flatMap((share) => {
      const full = mixed(rgb(cssColor(theme, category.color)), background, by === "shades" ? share : 0);
      const edge = theme.isHighContrast ? ink : mixed(full, background, EDGE_SHARE);
      const pale = [mixed(full, background, FAINT_SHARE), mixed(edge, background, FAINT_SHARE / 2)] as const;
      return [...pale, full, by === "matches" ? match : edge].map(pixel);
    }),
  );
  const { value } = layout.boxes;
  const [fills, edges] = [new Uint32Array(value.length), new Uint32Array(value.length)];
  for (let box = 0; box < value.length; box++) {
    const row = value[box]!;
    const shade = coloring.of[row]! * SHADES.length + (Math.imul(row, SCATTER) >>> 30);
    const index = 4 * shade + (emphasis[row] === FAINT ? 0 : 2);
    fills[box] = shades[index]!;
    edges[box] = shades[index + 1]!;
  }
  return { fills, edges };
});

/** Draws names in the rectangles that have room for them. */
function drawNames(plot: Plot, scene: Scene, theme: Theme, { raster, x, y }: Drawn): void {
  const { context, width, height } = plot;
  const { boxes } = scene.layout;
  context.font = `11px ${theme.font}`;
  context.textBaseline = "middle";
  const inks = scene.coloring.categories.map((category) =>
    isLight(rgb(cssColor(theme, category.color))) ? "#000" : "#fff",
  );
  for (let box = 0; box < boxes.value.length; box++) {
    if (!raster.isEdged[box]) continue;
    const left = Math.max(0, x(boxes.left[box]!));
    const right = Math.min(width, x(boxes.right[box]!));
    const top = Math.max(0, y(boxes.high[box]!));
    const rows = Math.min(height, y(boxes.low[box]!)) - top;
    if (right - left < MIN_NAMED_WIDTH || rows < LINE_HEIGHT) continue;
    const value = boxes.value[box]!;
    context.fillStyle = scene.emphasis[value] === FAINT ? theme.muted : inks[scene.coloring.of[value]!]!;
    const write = (text: string, middle: number) => {
      const room = roomFor(raster, box, left * plot.ratio, right * plot.ratio, middle * plot.ratio) / plot.ratio;
      context.fillText(shortened(context, text, room - 8), left + 4, middle);
    };
    const middle = rows < 2 * LINE_HEIGHT ? top + rows / 2 : top + LINE_HEIGHT / 2 + 3;
    write(valueString(scene.model, "label", value), middle);
    if (rows >= 2.4 * LINE_HEIGHT) write(human(scene.model.size[value]!), middle + LINE_HEIGHT);
  }
}

/** The number of pixels in a row, from the left edge of a box, that no other box covers. */
function roomFor(raster: Raster, box: number, left: number, right: number, row: number): number {
  const [first, start] = [Math.ceil(left) + 1, Math.floor(row) * raster.width];
  let pixel = first;
  while (pixel < right && raster.boxes[start + pixel] === box) pixel++;
  return pixel - first;
}

/** Draws the edges and the names of allocations, the selection and the cursor. */
function drawMarks(plot: Plot, scene: Scene, drawn: Drawn): void {
  const { width, height } = plot;
  const { y } = drawn;
  const outline = (name: string, box: Bounds | null) => {
    if (!box) return;
    const [x0, x1] = [Math.max(-2, box.left), Math.min(width + 2, box.left + box.width)];
    const [y0, y1] = [Math.max(-2, box.top), Math.min(height + 2, box.top + box.height)];
    if (x1 < 0 || x0 > width || y1 < 0 || y0 > height) return;
    plot.drawShape("rect", name, { x: x0, y: y0, width: Math.max(3, x1 - x0), height: Math.max(3, y1 - y0) });
  };
  const { capacity } = scene.space;
  const limit = capacity && scene.state.allocation < 0 ? y(capacity.size_bytes) : -1;
  const hasLimit = limit >= 0 && limit <= height;
  if (hasLimit) plot.drawLine(scene.space.is_over ? "limit over" : "limit", 0, limit, width, limit);
  const labels: GutterLabel[] = [];
  if (hasLimit) labels.push({ lines: ["limit", human(capacity!.size_bytes)], at: limit, within: [0, height] });
  for (const { allocation, low, high } of scene.layout.bands) {
    // The bands above are even smaller.
    if (y(low) - y(high) < MIN_BAND) break;
    const [bottom, top] = [Math.min(height, y(low)), Math.max(0, y(high))];
    if (bottom - top < MIN_BAND) continue;
    if (y(high) > 0) plot.drawLine("band", 0, y(high), width, y(high));
    labels.push({ lines: allocationText(scene.model, allocation), at: (bottom + top) / 2, within: [top, bottom] });
  }
  plot.drawGutter(labels);
  const marked = scene.layout.bands.find(({ allocation }) => allocation === scene.state.marked);
  if (marked) outline("marked", { left: 0, top: y(marked.high), width, height: y(marked.low) - y(marked.high) });
  outline("selected", boundsOf(scene, drawn, scene.state.selected));
}

function shortened(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let length = text.length;
  const isTooLong = () => context.measureText(`${text.slice(0, length)}…`).width > room;
  while (length > 0 && isTooLong()) length = Math.floor(length * 0.85);
  return length > 2 ? `${text.slice(0, length)}…` : "";
}
