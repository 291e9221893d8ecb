/** The plots as tables: the steps at which live bytes change, and the values. */

import { bisectRight } from "d3-array";
import { grouped, human } from "../shared/numbers";
import type { Actions } from "./actions";
import { allocationText } from "./facts";
import { instructionAt, type Model, NONE, ownStep, sourceText, valueString } from "./model";
import { HIDDEN, SHOWN } from "./raster";
import type { Scene } from "./scene";
import { createTable, type TableColumn } from "./table";

export interface SceneTable {
  element: HTMLElement;
  draw(scene: Scene): void;
}

/** The table of the upper plot. Its rows are indices of the curve. */
export function createCurveTable(actions: Actions, scene: () => Scene): SceneTable {
  const table = createTable("curve", "Steps at which the live bytes change", (row, isOpen) => {
    const step = scene().space.curveStep[row]!;
    if (isOpen) actions.goToStep(step);
    else actions.setStep(step);
  });
  let cached: { space: unknown; rows: number[] } = { space: undefined, rows: [] };
  return {
    element: table.element,
    draw({ model, space, step }) {
      const { curveStep, curveBytes } = space;
      if (cached.space !== space) cached = { space, rows: curveStep.map((_, row) => row) };
      const change = (row: number) => curveBytes[row]! - (curveBytes[row - 1] ?? 0);
      const columns: TableColumn[] = [
        { name: "Step", value: (row) => curveStep[row]!, text: (row) => grouped(ownStep(model, curveStep[row]!)) },
        { name: "Instruction", value: (row) => instructionAt(model, curveStep[row]!) },
        { name: "Live", value: (row) => curveBytes[row]!, text: (row) => human(curveBytes[row]!) },
        { name: "Change", value: change, text: (row) => (change(row) > 0 ? "+" : "") + human(change(row)) },
      ];
      table.draw(cached.rows, columns, Math.max(0, bisectRight(curveStep, step) - 1));
    },
  };
}

/** The table of the lower plot. Its rows are the values that the plot shows. */
export function createValueTable(actions: Actions): SceneTable {
  const table = createTable("values", "Values in the plot", (row, isOpen) =>
    isOpen ? actions.goToValue(row) : actions.select(row),
  );
  let cached: { layout: unknown; emphasis: unknown; rows: number[] } = { layout: 0, emphasis: 0, rows: [] };
  return {
    element: table.element,
    draw({ model, layout, emphasis, search, state }) {
      if (cached.layout !== layout || cached.emphasis !== emphasis) {
        const rows = Array.from(layout.boxes.value).filter((value) => {
          return emphasis[value] === SHOWN || (emphasis[value] !== HIDDEN && (!search.isOn || search.isMatch[value]));
        });
        rows.sort((a, b) => model.size[b]! - model.size[a]! || a - b);
        cached = { layout, emphasis, rows };
      }
      table.draw(cached.rows, columnsOf(model), state.selected);
    },
  };
}

function columnsOf(model: Model): TableColumn[] {
  const number = (name: string, column: ArrayLike<number>, text = grouped): TableColumn => ({
    name,
    value: (row) => column[row] ?? NONE,
    text: (row) => ((column[row] ?? NONE) < 0 ? "" : text(column[row]!)),
  });
  const string = (name: string, column: Parameters<typeof valueString>[1]): TableColumn => ({
    name,
    value: (row) => valueString(model, column, row),
  });
  return [
    string("Value", "label"),
    number("Size", model.size, human),
    number("Allocation", model.allocation, (row) => allocationText(model, row)[0]),
    number("Offset", model.offset),
    number("First step", model.start),
    number("Last step", model.end),
    string("Kind", "kind"),
    string("Shape", "shape"),
    number("Padding", model.map.values.paddingBytes, human),
    { name: "op_name", value: (row) => sourceText(model, "opName", row) },
    { name: "Source", value: (row) => sourceText(model, "source", row) },
  ];
}
