/** All language features on a dump in one file, made by jaxlib 0.4.38, with its HLO module. */

import assert from "node:assert/strict";
import type * as vscode from "vscode";

import * as ask from "./ask";
import { at, open, type Place } from "./places";
import { eventually, test } from "./suite";

const document = (): Promise<vscode.TextDocument> => open("single", "-buffer-assignment.txt");
const place = async (): Promise<Place> => at(await document(), "    Arg_1.2.0{}:0-6", "Arg");

test("one file: hover", async () => {
  const lines = (await ask.hover(await place())).map(ask.withoutLinks);
  assert.deepEqual(lines.slice(0, 4), [
    "**`Arg_1.2.0`** · 1.00 MiB · 20.0 % of the HBM peak",
    "",
    "- op_name `b`",
    "- live from step 0 (`Arg_2.3.0`) to step 6, the end (a parameter: its bytes belong to the caller)",
  ]);
});

test("one file: definition, declaration, type definition, implementation", async () => {
  const from = await place();
  assert.deepEqual(await ask.jump("Definition", from), ["buffer-assignment.txt:24: <8 Arg_1.2.0 @0>"]);
  assert.deepEqual(await ask.jump("Declaration", from), ["buffer-assignment.txt:6: <8 Arg_1.2.0 @0>"]);
  assert.deepEqual(await ask.jump("TypeDefinition", from), [
    "buffer-assignment.txt:5: allocation 1: size 1048576, parameter 1, shape |f32[256,1024",
  ]);
  assert.deepEqual(await ask.jump("Implementation", from), [".txt:15: Arg_1.2.0"]);
});

test("one file: references and highlights", async () => {
  const from = await place();
  const lines = [6, 24, 26, 28, 35, 42, 47, 64, 71, 79];
  const line = (found: string): number => Number(/(\d+): /.exec(found)?.[1]);
  // The last two are in the HLO module.
  assert.deepEqual((await ask.jump("Reference", from)).map(line), [...lines, 15, 17]);
  assert.deepEqual(
    (await ask.highlights(from)).map(line).sort((a, b) => a - b),
    lines,
  );
});

test("one file: outline and folding", async () => {
  const outline = await ask.outline(await document());
  assert.deepEqual(outline.slice(0, 3), ["1: BufferAssignment", "  2: allocation 0", "    3: custom-call.1.0{0}"]);
  const folds = await ask.folds(await document());
  assert.deepEqual(folds.slice(0, 6), ["1-13", "2-4", "5-6", "7-8", "9-10", "11-13"]);
});

test("one file: symbols of the workspace", async () => {
  const find = (): Promise<string[]> => ask.workspaceSymbols("loop_maximum");
  assert.deepEqual(await eventually(find, (found) => found.length > 0), [
    "buffer-assignment.txt:4: loop_maximum_fusion",
  ]);
});

test("one file: selection", async () => {
  const selected = await ask.selections(await place());
  const expected = ["Arg_1.2.0", "Arg_1.2.0{}:0-6", "    Arg_1.2.0{}:0-6"];
  assert.deepEqual(
    expected.filter((text) => selected.includes(text)),
    expected,
    selected.join("\n"),
  );
});

test("one file: semantic tokens", async () => {
  assert.deepEqual(await ask.tokens(await place()), ["Arg_1.2.0{} variable liveAtPeak", "0 number", "6 number"]);
});

test("one file: inlay hints", async () => {
  const hints = await ask.hints(await document());
  assert.deepEqual(
    hints
      .filter((hint) => /^(2|3|66|77): /.test(hint))
      .toSorted((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10)),
    [
      "2: 2.00 MiB · 40.0 % of the HBM peak",
      "3: 2.00 MiB · 40.0 % of the peak · live 3–5",
      "66: +3.50 MiB → 5.00 MiB live ◀ peak",
      "77: real HBM peak: 5.00 MiB at step 3 (3.50 MiB here)",
    ],
  );
});

test("one file: code lenses", async () => {
  const lenses = await ask.lenses(await document());
  assert.deepEqual(lenses.slice(0, 3), [
    "1: HBM: needs 5.00 MiB, peak 5.00 MiB (xla-lens.showSummary)",
    "11: 100.0 % live at once, 2 values (xla-lens.showAllocationHistory)",
    "18: 1 use in 1 instruction (xla-lens.showReferences)",
  ]);
});

test("one file: links", async () => {
  assert.deepEqual((await ask.links(await document())).slice(0, 1), [
    '35: /home/user/programs/programs.py" source_line=41 -> xla-lens.goTo',
  ]);
});

test("one file: code actions", async () => {
  // A test before this one may have selected a dump to compare with.
  const titles = (await ask.actions(await place())).filter((title) => !title.startsWith("Compare with"));
  assert.deepEqual(titles, [
    "Go to the real HBM peak: 5.00 MiB at step 3",
    "Show the history of allocation 1",
    "Show what would lower the peak",
    "Show the report as Markdown",
    "Select this dump for comparison",
  ]);
});

test("one file: call hierarchy", async () => {
  assert.deepEqual(await ask.calls(await place()), {
    item: ["buffer-assignment.txt:24: Arg_1.2.0"],
    incoming: [],
    outgoing: ["buffer-assignment.txt:30: custom-call.1.0"],
  });
});

test("one file: problems", async () => {
  const { uri } = await document();
  const found = await eventually(
    () => ask.problems(uri),
    (problems) => problems.length > 0,
  );
  assert.deepEqual(
    found.map((problem) => problem.slice(0, 34)),
    ["77: Information peak-understated: "],
  );
});
