/** The frame of the plots. */

import { axisBottom, axisLeft } from "d3-axis";
import { type ScaleLinear, scaleLinear } from "d3-scale";
import { type Selection, select } from "d3-selection";
import { grouped, UNITS } from "../shared/numbers";
import { make } from "./dom";
import type { Range } from "./range";
import type { Scene } from "./scene";

export const MARGIN = { left: 78, right: 108, top: 8, bottom: 20 };

export type Scale = ScaleLinear<number, number>;

/** A text right of a plot: at a height, but within a range. */
export interface GutterLabel {
  lines: [string, string];
  at: number;
  within: Range;
}

const GUTTER_LINE = 13;

/**
 * A canvas for the many shapes, and above it an SVG for axes, lines and labels. All plots have the same margins, so that their
 * steps align.
 */
export class Plot {
  readonly canvas: HTMLCanvasElement;
  readonly context: CanvasRenderingContext2D;
  readonly element: HTMLElement;
  /** The size without margins, in CSS pixels, and the device pixels in each. */
  width = 20;
  height = 20;
  ratio = 1;
  private readonly svg: Selection<SVGSVGElement, unknown, null, undefined>;

  /** Creates a plot with an accessible label and a role. */
  constructor(hook: string, label: string, role: string) {
    this.canvas = make("canvas", { tabindex: 0, role, "aria-label": label, "data-picture": hook });
    this.context = this.canvas.getContext("2d", { alpha: false })!;
    this.element = make("div", { class: `plot plot-${hook}` }, this.canvas);
    this.svg = select(this.element).append("svg").attr("aria-hidden", "true");
    const inner = this.svg.append("g").attr("transform", `translate(${MARGIN.left},${MARGIN.top})`);
    for (const name of ["x", "y", "marks"]) inner.append("g").attr("class", name);
  }

  /** Fits the plot to its element, now and whenever the element is resized. */
  keepFitting(changed: () => void): void {
    new ResizeObserver(() => {
      // A hidden element has no width; the plot keeps its size then.
      if (this.element.clientWidth && this.fit()) changed();
    }).observe(this.element);
  }

  /** Fits the plot, and returns whether its size changed. Not called in each frame, since reading sizes triggers a layout. */
  private fit(): boolean {
    const { clientWidth, clientHeight } = this.element;
    const ratio = devicePixelRatio || 1;
    const width = Math.max(20, clientWidth - MARGIN.left - MARGIN.right);
    const height = Math.max(20, clientHeight - MARGIN.top - MARGIN.bottom);
    if (width === this.width && height === this.height && ratio === this.ratio) return false;
    Object.assign(this, { width, height, ratio });
    [this.canvas.width, this.canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const place = { left: MARGIN.left, top: MARGIN.top, width, height };
    for (const [name, pixels] of Object.entries(place)) this.canvas.style.setProperty(name, `${pixels}px`);
    this.svg.attr("width", clientWidth).attr("height", clientHeight);
    return true;
  }

  stepScale(steps: Range): Scale {
    return scaleLinear(steps, [0, this.width]);
  }

  /** The scale of bytes. `top` is the room above the plot for labels. */
  byteScale(bytes: Range, top = 0): Scale {
    return scaleLinear(bytes, [this.height, top]);
  }

  /** Draws the axes, the range that the reader asks about and the cursor, in place of all marks of the frame before. */
  drawFrame(x: Scale, y: Scale, { step, state: { range } }: Scene): void {
    this.svg.select(".marks").selectAll("*").remove();
    const steps = axisBottom<number>(x as never)
      .tickSize(4)
      .offset(0)
      .tickFormat(grouped)
      .tickValues(x.ticks(Math.max(2, this.width / 90)).filter(Number.isInteger));
    this.svg.select<SVGGElement>(".x").attr("transform", `translate(0,${this.height})`).call(steps);
    this.drawShape("text", "gutter", { x: this.width + 30, y: this.height + 14 }, "steps");
    const ticks = sizeTicks(y.domain() as Range, Math.max(2, this.height / 60));
    const sizes = axisLeft<number>(y as never)
      .tickSize(4)
      .offset(0)
      .tickFormat((sizeBytes) => ticks.get(sizeBytes) ?? "")
      .tickValues([...ticks.keys()]);
    this.svg.select<SVGGElement>(".y").call(sizes);
    const [from, to] = [y.range()[1]!, this.height];
    if (range) {
      const [left, right] = [x(range[0] - 0.5), x(range[1] + 0.5)];
      this.drawShape("rect", "frame", { x: left, width: right - left, y: from, height: Math.max(0, to - from) });
    }
    const at = x(step);
    if (at >= 0 && at <= this.width) this.drawLine("cursor", at, from, at, to);
  }

  /** Draws all pixels of the canvas, row by row. */
  drawPixels(pixels: Uint32Array<ArrayBuffer>): void {
    const { context, canvas, ratio } = this;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.putImageData(new ImageData(new Uint8ClampedArray(pixels.buffer), canvas.width, canvas.height), 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }

  /** Draws a shape or a text above the canvas. `name` is its class in the style sheet. */
  drawShape(shape: string, name: string, places: Record<string, number>, text = ""): void {
    const element = this.svg.select(".marks").append(shape).attr("class", name).text(text);
    for (const [key, value] of Object.entries(places)) element.attr(key, value);
  }

  drawLine(name: string, x1: number, y1: number, x2: number, y2: number): void {
    this.drawShape("line", name, { x1, y1, x2, y2 });
  }

  /** Writes labels right of the plot: where there is no room for both lines, only the first one, or none. */
  drawGutter(labels: GutterLabel[]): void {
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
          this.drawShape("text", "gutter", { x: this.width + 6, y: top + row * GUTTER_LINE + 10 }, text);
        }
        break;
      }
    }
  }

  /** The position of a pointer event in the plot. */
  pointIn(event: { clientX: number; clientY: number }): [x: number, y: number] {
    const { left, top } = this.canvas.getBoundingClientRect();
    return [event.clientX - left, event.clientY - top];
  }
}

/** Ticks closer than this, in a unit, use the next smaller unit. */
const MIN_STEP = 0.005;

/** About `count` round sizes in a range with their labels, all in one unit and with enough decimals to differ. */
export function sizeTicks([low, high]: Range, count: number): Map<number, string> {
  let power = Math.max(0, Math.min(UNITS.length, Math.floor(Math.log(high) / Math.log(1024))));
  while (power > 0 && (high - low) / count / 1024 ** power < MIN_STEP) power--;
  const scale = scaleLinear([low / 1024 ** power, high / 1024 ** power], []);
  const most = power ? count : Math.min(count, high - low);
  const format = scale.tickFormat(most);
  const label = (number: number) => (number ? `${format(number)} ${power ? UNITS[power - 1] : "B"}` : "0");
  return new Map(scale.ticks(most).map((number) => [number * 1024 ** power, label(number)]));
}
