/** The upper plot: the live bytes of a memory space over the schedule, its reserved bytes, and both peaks. */

import { grouped, human } from "../shared/numbers";
import { peakText, reservedText } from "../shared/spaces";
import { type Column, columnsOf } from "./columns";
import { type Label, placeLabels } from "./labels";
import { liveBytesAt } from "./model";
import { byteScale, drawAxes, type Plot, type Scale, stepScale } from "./plot";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

const LINE_HEIGHT = 15;
/** The reserved bytes are included by default if they are at most this multiple of the peak. */
const MAX_RESERVED = 2;
/** Room for labels above the highest point. */
const HEADROOM = 1.12;

/** Whether the y axis includes the reserved bytes, by choice or because they are close to the peak. */
export function includesReserved({ state, space }: Scene): boolean {
  const isNear = space.reservedBytes <= MAX_RESERVED * space.peakLiveBytes;
  return state.curveTop ? state.curveTop === "reserved" : isNear || space.peakLiveBytes === 0;
}

export function drawCurve(plot: Plot, scene: Scene, theme: Theme): void {
  const { space, steps } = scene;
  const columns = columnsOf(space.curveStep, space.curveBytes, ...steps, Math.round(plot.width));
  const mostInView = columns.reduce((most, { max }) => Math.max(most, max), 0);
  const most = includesReserved(scene) ? Math.max(space.reservedBytes, space.peakLiveBytes) : mostInView;
  const x = stepScale(plot, steps);
  const y = byteScale(plot, [0, Math.max(1, most) * HEADROOM]);
  drawAxes(plot, x, y);
  drawArea(plot, columns, theme, y);
  drawMarks(plot, scene, theme, x, y);
}

function drawArea(plot: Plot, columns: Column[], theme: Theme, y: Scale): void {
  const { context, width, height, ratio } = plot;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = theme.background;
  context.fillRect(0, 0, width, height);
  const line = new Path2D();
  line.moveTo(0, y(columns[0]!.last));
  for (const [number, { x, min, max, last }] of columns.entries()) {
    if (number > 0) line.lineTo(x, y(columns[number - 1]!.last));
    if (min !== max) for (const bytes of [min, max]) line.lineTo(x, y(bytes));
    line.lineTo(x, y(last));
  }
  const area = new Path2D(line);
  area.lineTo(width, height);
  area.lineTo(0, height);
  context.fillStyle = theme.liveArea;
  context.fill(area);
  context.strokeStyle = theme.live;
  context.lineWidth = 1.5;
  context.lineJoin = "bevel";
  context.stroke(line);
}

function drawMarks(plot: Plot, scene: Scene, theme: Theme, x: Scale, y: Scale): void {
  const { space, model, step } = scene;
  const { width, height, marks } = plot;
  marks.selectAll("*").remove();
  const line = (name: string, x1: number, y1: number, x2: number, y2: number) =>
    marks.append("line").attr("class", name).attr("x1", x1).attr("y1", y1).attr("x2", x2).attr("y2", y2);
  const isIn = (step: number) => step >= scene.steps[0] && step <= scene.steps[1];
  const labels: (Label & { name: string })[] = [];
  // The widest font that a label has.
  plot.context.font = `600 11px ${theme.font}`;
  const label = (name: string, text: string, at: number, bytes: number) => {
    const length = plot.context.measureText(text).width;
    const [px, py] = [x(at), y(bytes)];
    const above = Math.max(LINE_HEIGHT / 2 + 1, py - 9);
    labels.push({
      name,
      text,
      width: length,
      places: [
        [px + 6, above],
        [px - 6 - length, above],
      ],
    });
  };
  const reserve = y(space.reservedBytes);
  const reserved = `reserved ${reservedText(space)}`;
  if (reserve >= 0) {
    line("reserve", 0, reserve, width, reserve);
    gutter(plot, Math.max(6, reserve), reserved);
  } else gutter(plot, 6, `↑ ${reserved}`);
  const printed = model.map.printedPeak;
  const isBoth = printed?.step === space.peakStep && printed.bytes === null;
  if (space.peakStep >= 0 && isIn(space.peakStep)) {
    line("peak", x(space.peakStep), y(space.peakLiveBytes), x(space.peakStep), height);
    const name = isBoth ? "real and printed peak" : "real peak";
    const text = `${name} ${peakText(space)}, step ${grouped(space.peakStep)}`;
    label("peak", text, space.peakStep, space.peakLiveBytes);
  }
  if (printed && !isBoth && isIn(printed.step)) {
    const bytes = liveBytesAt(space, printed.step);
    line("printed", x(printed.step), y(bytes), x(printed.step), height);
    const size = printed.bytes === null ? "" : ` ${human(printed.bytes)}`;
    label("printed", `printed peak${size}, step ${grouped(printed.step)}`, printed.step, bytes);
    marks.append("circle").attr("class", "printed").attr("cx", x(printed.step)).attr("cy", y(bytes)).attr("r", 3.5);
  }
  if (space.peakStep >= 0 && isIn(space.peakStep)) {
    const circle = marks.append("circle").attr("class", "peak").attr("r", 3.5);
    circle.attr("cx", x(space.peakStep)).attr("cy", y(space.peakLiveBytes));
  }
  if (isIn(step)) line("cursor", x(step), 0, x(step), height);
  for (const placed of placeLabels(labels, width, height, LINE_HEIGHT, [reserve])) {
    const name = labels.find(({ text }) => text === placed.text)!.name;
    marks
      .append("text")
      .attr("class", `mark-label ${name}`)
      .attr("x", placed.x)
      .attr("y", placed.y)
      .attr("dy", "0.35em")
      .text(placed.text);
  }
}

function gutter(plot: Plot, y: number, text: string): void {
  const label = plot.marks
    .append("text")
    .attr("class", "gutter")
    .attr("x", plot.width + 6);
  const [first, ...rest] = text.split(/ (?=[\d])/);
  label.attr("y", y).attr("dy", "0.35em").text(first!);
  if (rest.length) {
    label
      .append("tspan")
      .attr("x", plot.width + 6)
      .attr("dy", "1.15em")
      .text(rest.join(" "));
  }
}
