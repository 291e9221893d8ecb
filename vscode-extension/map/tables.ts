/** The pictures as tables: the steps at which live bytes change, and the values. */

import { bisectRight } from "d3-array";
import type { Actions } from "./actions";
import { allocationWords } from "./facts";
import { instructionAt, type Model, NONE, valueText } from "./model";
import { grouped, human } from "./numbers";
import { HIDDEN, SHOWN } from "./raster";
import type { Scene } from "./scene";
import { createTable, type TableColumn } from "./table";

export interface SceneTable {
  element: HTMLElement;
  draw(scene: Scene): void;
}

/** Rows are places in the curve. */
export function createCurveTable(actions: Actions, scene: () => Scene): SceneTable {
  const table = createTable("curve", "Steps at which the live bytes change", (row) =>
    actions.goToStep(scene().space.curveStep[row]!),
  );
  let known: { space: unknown; rows: number[] } = { space: undefined, rows: [] };
  return {
    element: table.element,
    draw({ model, space, step }) {
      const { curveStep, curveBytes } = space;
      if (known.space !== space) known = { space, rows: curveStep.map((_, row) => row) };
      const change = (row: number) => curveBytes[row]! - (curveBytes[row - 1] ?? 0);
      const columns: TableColumn[] = [
        { name: "Step", value: (row) => curveStep[row]!, words: (row) => grouped(curveStep[row]!) },
        { name: "Instruction", value: (row) => instructionAt(model, curveStep[row]!) },
        { name: "Live", value: (row) => curveBytes[row]!, words: (row) => human(curveBytes[row]!) },
        { name: "Change", value: change, words: (row) => (change(row) > 0 ? "+" : "") + human(change(row)) },
      ];
      table.draw(known.rows, columns, Math.max(0, bisectRight(curveStep, step) - 1));
    },
  };
}

/** Rows are values: those that the lower picture shows. */
export function createValueTable(actions: Actions): SceneTable {
  const table = createTable("values", "Values of the picture", (row) => actions.goToValue(row));
  let known: { layout: unknown; emphasis: unknown; rows: number[] } = { layout: 0, emphasis: 0, rows: [] };
  return {
    element: table.element,
    draw({ model, layout, emphasis, search, state }) {
      if (known.layout !== layout || known.emphasis !== emphasis) {
        const rows = Array.from(layout.boxes.value).filter((value) => {
          return emphasis[value] === SHOWN || (emphasis[value] !== HIDDEN && (!search.isOn || search.isMatch[value]));
        });
        rows.sort((a, b) => model.size[b]! - model.size[a]! || a - b);
        known = { layout, emphasis, rows };
      }
      table.draw(known.rows, columnsOf(model), state.selected);
    },
  };
}

function columnsOf(model: Model): TableColumn[] {
  const number = (name: string, column: ArrayLike<number>, words = grouped): TableColumn => ({
    name,
    value: (row) => column[row] ?? NONE,
    words: (row) => ((column[row] ?? NONE) < 0 ? "" : words(column[row]!)),
  });
  const text = (name: string, column: Parameters<typeof valueText>[1]): TableColumn => ({
    name,
    value: (row) => valueText(model, column, row),
  });
  return [
    text("Value", "label"),
    number("Size", model.size, human),
    number("Allocation", model.allocation, (row) => allocationWords(model, row)[0]),
    number("Offset", model.offset),
    number("First step", model.start),
    number("Last step", model.end),
    text("Kind", "kind"),
    text("Shape", "shape"),
    number("Padding", model.map.values.paddingBytes, human),
    text("op_name", "opName"),
    text("Source", "source"),
  ];
}
