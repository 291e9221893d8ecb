/** Where lines are after edits. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { type Change, MovedLines } from "../../src/movedLines";

const TEXT = ["import jax", "", "def f(x):", "    y = x", "    return y"];

function change(start: [number, number], end: [number, number], text: string): Change {
  const place = ([line, character]: [number, number]) => ({ line, character });
  return { range: { start: place(start), end: place(end) }, text };
}

const at = (lines: MovedLines, dumpTime = 0) => TEXT.map((_, line) => lines.at(line, dumpTime));

test("moved lines: lines move with what is inserted and removed before them", () => {
  const cases: [string, Change[], number[]][] = [
    ["nothing", [], [0, 1, 2, 3, 4]],
    ["two lines at the start", [change([0, 0], [0, 0], "a\nb\n")], [2, 3, 4, 5, 6]],
    ["a line break before the code of a line", [change([3, 4], [3, 4], "\n    ")], [0, 1, 2, 4, 5]],
    ["a line break behind a line", [change([3, 9], [3, 9], "\n    z = 1")], [0, 1, 2, 3, 5]],
    ["typing within a line", [change([3, 8], [3, 9], "x + 1")], [0, 1, 2, 3, 4]],
    ["a removed line", [change([1, 0], [2, 0], "")], [0, 1, 1, 2, 3]],
    ["a line that is replaced by two", [change([3, 0], [3, 9], "    a\n    b")], [0, 1, 2, 3, 5]],
    [
      "two changes at once, the last one first",
      [change([4, 0], [4, 0], "\n"), change([1, 0], [1, 0], "\n")],
      [0, 2, 3, 4, 6],
    ],
  ];
  for (const [name, changes, wanted] of cases) {
    const lines = new MovedLines(TEXT, 0);
    lines.change(changes);
    assert.deepEqual(at(lines), wanted, name);
  }
});

test("moved lines: what is removed and typed again goes back", () => {
  const lines = new MovedLines(TEXT, 0);
  lines.change([change([0, 0], [0, 0], "a\n")]);
  lines.change([change([0, 0], [1, 0], "")]);
  assert.deepEqual(at(lines), [0, 1, 2, 3, 4]);
});

test("moved lines: a dump is of the text that was saved last before it", () => {
  const lines = new MovedLines(TEXT, 0);
  lines.change([change([0, 0], [0, 0], "\n")]);
  lines.save(["", ...TEXT], 100);
  lines.change([change([0, 0], [0, 0], "\n\n")]);
  assert.equal(lines.at(2, 99), 5);
  assert.equal(lines.at(2, 100), 4);
  assert.equal(lines.at(99, 100), 7);
});
