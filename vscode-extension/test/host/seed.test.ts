/** All language features on a dump with an unknown name, which is recognized by its content. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

import * as ask from "./ask";
import { at, find, open, type Place } from "./places";
import { eventually, test } from "./suite";

const NAME = "001_491faa5ce21a17c6.txt";

async function document(): Promise<vscode.TextDocument> {
  const opened = await open("seed", NAME);
  return await eventually(
    () => vscode.workspace.openTextDocument(opened.uri),
    (found) => found.languageId === "xla-dump",
  );
}

const place = async (): Promise<Place> => at(await document(), "    cublas-gemm.1{}:4-5", "gemm");

test("odd name: the file is recognized by its content", async () => {
  assert.equal((await document()).languageId, "xla-dump");
  const other = await vscode.workspace.openTextDocument(await find("other", "notes.txt"));
  await vscode.window.showTextDocument(other);
  // Gives the recognition of the other file as much time as that of the dump.
  await document();
  assert.equal(other.languageId, "plaintext");
});

test("odd name: hover", async () => {
  const lines = (await ask.hover(await place())).map(ask.withoutLinks);
  assert.equal(lines[0], "**`cublas-gemm.1`** · 4.0 KiB · 0.7 % of the HBM peak · `test_auto_sharding_basic.py:52`");
  assert.ok(lines.includes("- value 4, defined by `custom-call`"));
});

test("odd name: definition, declaration, type definition, implementation", async () => {
  const from = await place();
  assert.deepEqual(await ask.jump("Definition", from), [`${NAME}:43: <4 cublas-gemm.1 @0>`]);
  assert.deepEqual(await ask.jump("Declaration", from), [`${NAME}:8: <4 cublas-gemm.1 @0>`]);
  assert.deepEqual(await ask.jump("TypeDefinition", from), [
    `${NAME}:6: allocation 2: 0x399bf70, size 4096, maybe-live-out:`,
  ]);
  assert.deepEqual(await ask.jump("Implementation", from), [`${NAME}:63: cublas-gemm.1`]);
});

test("odd name: references and highlights", async () => {
  const from = await place();
  const lines = [8, 37, 43, 45, 47, 63, 71, 77];
  const line = (found: string): number => Number(/(\d+): /.exec(found)?.[1]);
  assert.deepEqual((await ask.jump("Reference", from)).map(line), lines);
  assert.deepEqual(
    (await ask.highlights(from)).map(line).sort((a, b) => a - b),
    lines,
  );
});

test("odd name: outline and folding", async () => {
  const outline = await ask.outline(await document());
  assert.deepEqual(outline.slice(-2), ["  66: BufferLiveRange", "  73: Live ranges at 5 (peak)"]);
  assert.deepEqual((await ask.folds(await document())).slice(-3), ["58-65", "66-72", "73-77"]);
});

test("odd name: symbols of the workspace", async () => {
  const query = (): Promise<string[]> => ask.workspaceSymbols("cublas");
  assert.deepEqual(await eventually(query, (found) => found.length > 0), [`${NAME}:8: cublas-gemm.1`]);
});

test("odd name: selection", async () => {
  const selected = await ask.selections(await place());
  const expected = ["cublas-gemm.1", "cublas-gemm.1{}:4-5"];
  assert.deepEqual(
    expected.filter((text) => selected.includes(text)),
    expected,
    selected.join("\n"),
  );
});

test("odd name: semantic tokens", async () => {
  assert.deepEqual(await ask.tokens(await place()), ["cublas-gemm.1{} variable liveAtPeak", "4 number", "5 number"]);
});

test("odd name: inlay hints", async () => {
  const hints = await ask.hints(await document());
  assert.deepEqual(
    [hints[0], hints.at(-1)],
    ["2: 256.0 KiB · 44.1 % of the HBM peak", "73: real HBM peak: 580.0 KiB at step 4 (324.0 KiB here)"],
  );
});

test("odd name: code lenses", async () => {
  assert.deepEqual((await ask.lenses(await document())).slice(0, 2), [
    "1: HBM: needs 580.0 KiB, peak 580.0 KiB (xla-lens.showSummary)",
    "11: 100.0 % live at once, 1 value (xla-lens.showAllocationHistory)",
  ]);
});

test("odd name: links", async () => {
  assert.equal(
    (await ask.links(await document()))[0],
    '37: test_auto_sharding_basic.py" source_line=53 -> xla-lens.goTo',
  );
});

test("odd name: code actions", async () => {
  assert.ok((await ask.actions(await place())).includes("Go to the real HBM peak: 580.0 KiB at step 4"));
});

test("odd name: call hierarchy", async () => {
  assert.deepEqual(await ask.calls(await place()), {
    item: [`${NAME}:43: cublas-gemm.1`],
    incoming: [`${NAME}:49: fusion`, `${NAME}:23: param.1`],
    outgoing: [`${NAME}:31: negate.0`],
  });
});

test("odd name: problems", async () => {
  const { uri } = await document();
  const found = await eventually(
    () => ask.problems(uri),
    (problems) => problems.length > 0,
  );
  assert.deepEqual(
    found.map((problem) => problem.slice(0, 34)),
    ["73: Information peak-understated: "],
  );
});
