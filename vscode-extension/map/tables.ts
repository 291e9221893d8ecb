/** The plots as tables: the steps at which live bytes change, and the values, largest first. */

import { bisectRight } from "d3-array";
import { counted, grouped, human } from "../shared/numbers";
import type { Actions } from "./actions";
import { make, onPress, pressable, write } from "./dom";
import { allocationText } from "./facts";
import { memoizeLast } from "./memoize";
import { instructionAt, ownStep, sourceText, valueString } from "./model";
import { HIDDEN, SHOWN } from "./raster";
import type { Scene } from "./scene";

/** The name of each column, and the text of a row in it. */
type Columns = Record<string, (row: number) => string>;

interface Content {
  rows: number[];
  columns: Columns;
}

const ROWS_AT_ONCE = 100;

/** Create the table of the upper plot. Its rows are indices of the curve. */
export function createCurveTable(actions: Actions, scene: () => Scene) {
  const content = memoizeLast(
    (model: Scene["model"], { curve_step: curveStep, curve_bytes: curveBytes }: Scene["space"]): Content => {
      const change = (row: number) => curveBytes[row]! - (curveBytes[row - 1] ?? 0);
      return {
        rows: [...curveStep.keys()],
        columns: {
          Step: (row) => grouped(ownStep(model, curveStep[row]!)),
          Instruction: (row) => instructionAt(model, curveStep[row]!),
          Live: (row) => human(curveBytes[row]!),
          Change: (row) => (change(row) > 0 ? "+" : "") + human(change(row)),
        },
      };
    },
  );
  const table = createTable("curve", "Steps at which the live bytes change", (row, isOpen) => {
    (isOpen ? actions.goToStep : actions.setStep)(scene().space.curve_step[row]!);
  });
  const draw = ({ model, space, step }: Scene) =>
    table.draw(content(model, space), Math.max(0, bisectRight(space.curve_step, step) - 1));
  return { element: table.element, draw };
}

/** Create the table of the lower plot. Its rows are the values that the plot shows. */
export function createValueTable(actions: Actions) {
  const content = memoizeLast(
    (model: Scene["model"], { boxes }: Scene["layout"], emphasis: Uint8Array, search: Scene["search"]): Content => {
      const isShown = (row: number) =>
        emphasis[row] === SHOWN || (emphasis[row] !== HIDDEN && (!search.isOn || search.isMatch[row]));
      const known = (column: ArrayLike<number>, text: (number: number) => string) => (row: number) =>
        (column[row] ?? -1) < 0 ? "" : text(column[row]!);
      return {
        rows: [...boxes.value].filter(isShown).sort((a, b) => model.size[b]! - model.size[a]! || a - b),
        columns: {
          Value: (row) => valueString(model, "label", row),
          Size: (row) => human(model.size[row]!),
          Allocation: known(model.allocation, (row) => allocationText(model, row)[0]),
          Offset: (row) => grouped(model.offset[row]!),
          "First step": known(model.start, grouped),
          "Last step": known(model.end, grouped),
          Kind: (row) => valueString(model, "kind", row),
          Shape: (row) => valueString(model, "shape", row),
          Padding: known(model.map.values.padding_bytes, human),
          op_name: (row) => sourceText(model, "op_name", row),
          Source: (row) => sourceText(model, "source", row),
        },
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
  let content: Content = { rows: [], columns: {} };
  let [limit, current] = [ROWS_AT_ONCE, NaN];

  onPress(body, "row", (row, isDouble) => press(Number(row), isDouble));

  function fill(): void {
    const { rows, columns } = content;
    limit = Math.max(limit, rows.indexOf(current) + 1);
    head.replaceChildren(...Object.keys(columns).map((name) => make("th", { scope: "col" }, name)));
    body.replaceChildren(...rows.slice(0, limit).map(rowOf));
    more.hidden = rows.length <= limit;
    write(more, counted(rows.length - limit, "more row"));
  }

  function rowOf(row: number): HTMLElement {
    const texts = Object.values(content.columns).map((text) => text(row));
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
