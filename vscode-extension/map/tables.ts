/** The plots as tables, which can be sorted by any column: the steps at which live bytes change, and the values. */

import { bisectRight } from "d3-array";
import { counted, grouped, human } from "../shared/numbers";
import type { Actions } from "./actions";
import { make, onPress, pressable, write } from "./dom";
import { allocationText } from "./facts";
import { memoizeLast } from "./memoize";
import { instructionAt, NONE, ownStep, sourceText, valueString } from "./model";
import { HIDDEN, SHOWN } from "./raster";
import type { Scene } from "./scene";

/** A column: its name, the value by which rows are sorted, and the text of a row unless that is the value. */
type Column = [name: string, value: (row: number) => number | string, text?: (row: number) => string];

const ROWS_AT_ONCE = 100;

interface Content {
  rows: number[];
  columns: Column[];
}

/** Create the table of the upper plot. Its rows are indices of the curve. */
export function createCurveTable(actions: Actions, scene: () => Scene) {
  const content = memoizeLast((model: Scene["model"], { curveStep, curveBytes }: Scene["space"]): Content => {
    const change = (row: number) => curveBytes[row]! - (curveBytes[row - 1] ?? 0);
    return {
      rows: [...curveStep.keys()],
      columns: [
        ["Step", (row) => curveStep[row]!, (row) => grouped(ownStep(model, curveStep[row]!))],
        ["Instruction", (row) => instructionAt(model, curveStep[row]!)],
        ["Live", (row) => curveBytes[row]!, (row) => human(curveBytes[row]!)],
        ["Change", change, (row) => (change(row) > 0 ? "+" : "") + human(change(row))],
      ],
    };
  });
  const table = createTable("curve", "Steps at which the live bytes change", (row, isOpen) => {
    (isOpen ? actions.goToStep : actions.setStep)(scene().space.curveStep[row]!);
  });
  const draw = ({ model, space, step }: Scene) =>
    table.draw(content(model, space), Math.max(0, bisectRight(space.curveStep, step) - 1));
  return { element: table.element, draw };
}

/** Create the table of the lower plot. Its rows are the values that the plot shows. */
export function createValueTable(actions: Actions) {
  const content = memoizeLast(
    (model: Scene["model"], { boxes }: Scene["layout"], emphasis: Uint8Array, search: Scene["search"]): Content => {
      const isShown = (row: number) =>
        emphasis[row] === SHOWN || (emphasis[row] !== HIDDEN && (!search.isOn || search.isMatch[row]));
      const number = (name: string, column: ArrayLike<number>, text = grouped): Column => [
        name,
        (row) => column[row] ?? NONE,
        (row) => ((column[row] ?? NONE) < 0 ? "" : text(column[row]!)),
      ];
      return {
        rows: [...boxes.value].filter(isShown).sort((a, b) => model.size[b]! - model.size[a]! || a - b),
        columns: [
          ["Value", (row) => valueString(model, "label", row)],
          number("Size", model.size, human),
          number("Allocation", model.allocation, (row) => allocationText(model, row)[0]),
          number("Offset", model.offset),
          number("First step", model.start),
          number("Last step", model.end),
          ["Kind", (row) => valueString(model, "kind", row)],
          ["Shape", (row) => valueString(model, "shape", row)],
          number("Padding", model.map.values.paddingBytes, human),
          ["op_name", (row) => sourceText(model, "opName", row)],
          ["Source", (row) => sourceText(model, "source", row)],
        ],
      };
    },
  );
  const table = createTable("values", "Values in the plot", (row, isOpen) => {
    (isOpen ? actions.goToValue : actions.select)(row);
  });
  const draw = ({ model, layout, emphasis, search, state }: Scene) =>
    table.draw(content(model, layout, emphasis, search), state.selected);
  return { element: table.element, draw };
}

/** Create a table. `press` is called for a row that is selected, or opened by a double click. */
function createTable(hook: string, caption: string, press: (row: number, isOpen: boolean) => void) {
  const [head, body] = [make("tr"), make("tbody")];
  const table = make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
  const showMore = () => {
    limit += ROWS_AT_ONCE;
    fill();
  };
  const more = pressable(showMore, { class: "more" });
  const region = { tabindex: 0, role: "region", "aria-label": caption };
  const element = make("div", { class: "table", "data-table": hook, ...region }, table, more);
  let content: Content = { rows: [], columns: [] };
  let order: [column: number, direction: 1 | -1] | undefined;
  let [limit, current] = [ROWS_AT_ONCE, NaN];

  onPress(body, "row", (row, isDouble) => press(Number(row), isDouble));

  function sorted(): number[] {
    if (!order) return content.rows;
    const [direction, value] = [order[1], content.columns[order[0]]![1]];
    const keys = new Map(content.rows.map((row) => [row, value(row)]));
    const compare = (a: number, b: number) =>
      keys.get(a)! < keys.get(b)! ? -1 : keys.get(a)! > keys.get(b)! ? 1 : a - b;
    return [...content.rows].sort((a, b) => direction * compare(a, b));
  }

  function fill(): void {
    const rows = sorted();
    limit = Math.max(limit, rows.indexOf(current) + 1);
    head.replaceChildren(...content.columns.map(headOf));
    body.replaceChildren(...rows.slice(0, limit).map(rowOf));
    more.hidden = rows.length <= limit;
    write(more, counted(rows.length - limit, "more row"));
  }

  function headOf([name, value]: Column, column: number): HTMLElement {
    const direction = order?.[0] === column ? order[1] : undefined;
    const sort = () => {
      // Numbers are sorted in descending order first.
      const first = typeof value(content.rows[0] ?? 0) === "string" ? 1 : -1;
      order = [column, direction === undefined ? first : direction > 0 ? -1 : 1];
      fill();
      head.querySelectorAll("button")[column]?.focus();
    };
    const [sign, state] = direction ? (direction > 0 ? [" ▲", "ascending"] : [" ▼", "descending"]) : ["", "none"];
    return make("th", { scope: "col", "aria-sort": state }, pressable(sort, {}, name + sign));
  }

  function rowOf(row: number): HTMLElement {
    const texts = content.columns.map(([, value, text]) => (text ? text(row) : String(value(row))));
    const cells = texts.map((text, column) => make("td", { title: text }, column ? text : make("button", {}, text)));
    return make("tr", { "data-row": row, "aria-current": String(row === current) }, ...cells);
  }

  return {
    element,
    draw(now: Content, newCurrent: number): void {
      if (now === content && newCurrent === current) return;
      if (now !== content) limit = ROWS_AT_ONCE;
      [content, current] = [now, newCurrent];
      fill();
      body.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
    },
  };
}
