/** A table with pages, which can be sorted by any column. */

import { grouped } from "../shared/numbers";
import { button, make, write } from "./dom";

export interface TableColumn {
  name: string;
  /** The value of a row, by which the column is sorted. */
  value(row: number): number | string;
  /** The text of a row; the value itself by default. */
  text?(row: number): string;
}

export interface Table {
  element: HTMLElement;
  /** `rows` are numbers that mean something to the caller. `current` is marked, and brought into view when it changes. */
  draw(rows: readonly number[], columns: TableColumn[], current: number): void;
}

const ROWS_A_PAGE = 100;

/** Create a table. `press` is called for a row that is selected or opened. */
export function createTable(hook: string, caption: string, press: (row: number, isOpen: boolean) => void): Table {
  const head = make("tr", {});
  const body = make("tbody", {});
  const table = make("table", {}, make("caption", {}, caption), make("thead", {}, head), body);
  const status = make("span", { role: "status" });
  const turn = (by: number) => () => {
    page += by;
    fill();
  };
  const [previous, next] = [
    button("‹", "Previous page", "previous-page", turn(-1)),
    button("›", "Next page", "next-page", turn(1)),
  ];
  const scroller = make("div", { class: "scroller", tabindex: 0, role: "region", "aria-label": caption }, table);
  const pages = make("div", { class: "pages" }, previous, status, next);
  const element = make("div", { class: "table", "data-table": hook }, scroller, pages);

  let given: readonly number[] = [];
  let sorted: readonly number[] = [];
  let columns: TableColumn[] = [];
  let current = NaN;
  let page = 0;
  let order: { column: number; direction: 1 | -1 } | undefined;

  // A click selects a row; a double click or Enter opens it.
  const listen = (type: "click" | "dblclick" | "keydown", isOpen: boolean) =>
    body.addEventListener(type, (event) => {
      if (event instanceof KeyboardEvent && event.key !== "Enter") return;
      const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
      if (!row) return;
      if (type === "keydown") event.preventDefault();
      press(Number(row.dataset.row), isOpen);
    });
  listen("click", false);
  listen("dblclick", true);
  listen("keydown", true);

  function sort(): void {
    const by = order && columns[order.column];
    sorted = given;
    if (!by) return;
    const keys = new Map(given.map((row) => [row, by.value(row)]));
    const { direction } = order!;
    sorted = [...given].sort((a, b) => direction * compare(keys.get(a)!, keys.get(b)!) || a - b);
  }

  function fillHead(): void {
    const cells = columns.map(({ name }, column) => {
      const isBy = order?.column === column;
      const text = name + (isBy ? (order!.direction > 0 ? " ▲" : " ▼") : "");
      const press = make("button", { type: "button", "data-sort": name }, text);
      press.addEventListener("click", () => {
        const isText = given.length > 0 && typeof columns[column]!.value(given[0]!) === "string";
        order = { column, direction: isBy ? (order!.direction > 0 ? -1 : 1) : isText ? 1 : -1 };
        page = 0;
        sort();
        fillHead();
        fill();
        head.querySelectorAll("button")[column]?.focus();
      });
      const direction = isBy ? (order!.direction > 0 ? "ascending" : "descending") : "none";
      const isNumber = given.length > 0 && typeof columns[column]!.value(given[0]!) === "number";
      return make("th", { scope: "col", "aria-sort": direction, class: isNumber ? "number" : "" }, press);
    });
    head.replaceChildren(...cells);
  }

  function fill(): void {
    const last = Math.max(0, Math.ceil(sorted.length / ROWS_A_PAGE) - 1);
    page = Math.max(0, Math.min(page, last));
    const rows = sorted.slice(page * ROWS_A_PAGE, (page + 1) * ROWS_A_PAGE);
    body.replaceChildren(...rows.map(rowOf));
    previous.disabled = page === 0;
    next.disabled = page === last;
    const first = page * ROWS_A_PAGE + 1;
    const range = `${grouped(first)}–${grouped(first + rows.length - 1)} of ${grouped(sorted.length)}`;
    write(status, rows.length ? range : "no rows");
  }

  function rowOf(row: number): HTMLElement {
    const cells = columns.map(({ value, text }, column) => {
      const shown = text ? text(row) : String(value(row));
      const content = column === 0 ? make("button", { type: "button" }, shown) : shown;
      const isNumber = typeof value(row) === "number";
      return make(column === 0 ? "th" : "td", isNumber ? { class: "number" } : { title: shown }, content);
    });
    cells[0]?.setAttribute("scope", "row");
    return make("tr", { "data-row": row, "aria-current": String(row === current) }, ...cells);
  }

  return {
    element,
    draw(rows, newColumns, newCurrent) {
      const isNew = rows !== given;
      if (isNew) {
        [given, columns] = [rows, newColumns];
        sort();
        fillHead();
      }
      if (newCurrent !== current) {
        const index = sorted.indexOf(newCurrent);
        if (index >= 0) page = Math.floor(index / ROWS_A_PAGE);
      } else if (!isNew) return;
      current = newCurrent;
      fill();
      body.querySelector("[aria-current=true]")?.scrollIntoView({ block: "nearest" });
    },
  };
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
