/** All language features on the live ranges of a split dump. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

import * as ask from "./ask";
import { at, open, type Place } from "./places";
import { eventually, test } from "./suite";

const document = (): Promise<vscode.TextDocument> => open("split", "-live-range.txt");
const place = async (): Promise<Place> => at(await document(), "    dot{}:35-37", "dot");

test("three files: all have the language of dumps, and the module has that of HLO", async () => {
  for (const end of [
    "-buffer-assignment.txt",
    "-buffer-assignment-values.txt",
    "-live-range.txt",
    "-memory-usage-report.txt",
  ]) {
    assert.equal((await open("split", end)).languageId, "xla-dump", end);
  }
  assert.equal((await open("split", "_optimizations.txt")).languageId, "hlo");
});

test("three files: hover", async () => {
  // The stack frames are in the HLO module, which is read after the first answers.
  const from = await place();
  const lines = await eventually(
    () => ask.hover(from),
    (found) => found[0]!.includes("programs.py"),
  );
  assert.match(
    lines[0]!,
    /^\*\*`dot`\*\* · 1\.53 MiB · 36\.3 % of the host memory peak · \[`programs\.py:50`\]\(command:xla-lens\.goTo\?[^)]+\)$/,
  );
  assert.deepEqual(lines.slice(1, 3), ["", "- op_name `jit(train_step)/transpose(jvp())/transpose`"]);
  const peak = await ask.hover(at(await document(), "  Live ranges at 37 (peak):", "37"));
  assert.equal(peak[0], "**Printed peak** · 5.50 MiB at step 37");
});

test("three files: definition, declaration, type definition, implementation", async () => {
  const from = await place();
  assert.deepEqual(await ask.jump("Definition", from), ["buffer-assignment-values.txt:280: <244 dot @0>"]);
  assert.deepEqual(await ask.jump("Declaration", from), ["buffer-assignment.txt:84: <244 dot @0>"]);
  assert.deepEqual(await ask.jump("TypeDefinition", from), [
    "buffer-assignment.txt:70: allocation 29: size 1869824, page 0, preallocated-temp:",
  ]);
  assert.deepEqual(await ask.jump("Implementation", from), [".txt:393: dot"]);
});

test("three files: references and highlights", async () => {
  const from = await place();
  assert.deepEqual(await ask.jump("Reference", from), [
    "buffer-assignment-values.txt:280: <244 dot @0>",
    "buffer-assignment-values.txt:282: dot",
    "buffer-assignment-values.txt:284: multiply_subtract_fusion.5, operand 1",
    "buffer-assignment-values.txt:292: %dot",
    "buffer-assignment.txt:84: <244 dot @0>",
    "live-range.txt:38: dot",
    "live-range.txt:67: dot{}",
    "live-range.txt:85: dot{}: 1605632 bytes (cumulative: 1605632 bytes)",
    ".txt:393: dot",
    ".txt:395: %dot",
  ]);
  assert.deepEqual((await ask.highlights(from)).sort(), ["38: dot", "67: dot{}", "85: dot{}"]);
});

test("three files: outline and folding", async () => {
  const outline = await ask.outline(await document());
  assert.deepEqual(outline.slice(0, 4), [
    "1: HloLiveRange (max 40)",
    "  2: InstructionSequence",
    "  43: BufferLiveRange",
    "  84: Live ranges at 37 (peak)",
  ]);
  assert.deepEqual(await ask.folds(await document()), ["1-106", "2-42", "43-83", "84-96", "97-106", "98-106"]);
});

test("three files: symbols of the workspace", async () => {
  const find = (): Promise<string[]> => ask.workspaceSymbols("multiply_tanh");
  assert.deepEqual((await eventually(find, (found) => found.length > 0)).sort(), [
    "buffer-assignment.txt:72: multiply_tanh_fusion.1",
    "buffer-assignment.txt:75: multiply_tanh_fusion",
  ]);
});

test("three files: selection", async () => {
  const selected = await ask.selections(await place());
  const expected = ["dot", "dot{}:35-37", "    dot{}:35-37", "43-83", "1-106"];
  assert.deepEqual(
    expected.filter((text) => selected.includes(text)),
    expected,
    selected.join("\n"),
  );
});

test("three files: semantic tokens", async () => {
  assert.deepEqual(await ask.tokens(await place()), ["dot{} variable liveAtPeak", "35 number", "37 number"]);
});

test("three files: inlay hints", async () => {
  const hints = await ask.hints(await document());
  assert.equal(hints.length, 40 + 40 + 1);
  assert.deepEqual(
    [0, 36, 63, 80].map((row) => hints[row]),
    [
      "3: 2.43 MiB live",
      "39: 4.21 MiB live ◀ peak",
      "67: 1.53 MiB",
      "84: real host memory peak: 4.21 MiB at step 36 (3.96 MiB here)",
    ],
  );
});

test("three files: code lenses", async () => {
  assert.deepEqual(await ask.lenses(await document()), [
    "1: host memory: needs 4.21 MiB, peak 4.21 MiB (xla-lens.showSummary)",
    "39: show values live at the peak: 4.21 MiB of host memory (xla-lens.showLiveSet)",
    "84: show values live here: 3.96 MiB of host memory (xla-lens.showLiveSet)",
  ]);
});

test("three files: links", async () => {
  const links = await ask.links(await document());
  assert.deepEqual(links.slice(0, 1), ["99: jit(train_step)/sub -> xla-lens.goTo"]);
});

test("three files: code actions", async () => {
  assert.deepEqual(
    (await ask.actions(await place())).filter((title) => !title.includes("programs") && !title.includes("progs")),
    [
      "Go to the real host memory peak: 4.21 MiB at step 36",
      "Show the history of allocation 29",
      "Show what would lower the peak",
      "Show the report as Markdown",
      "Select this dump for comparison",
    ],
  );
});

test("three files: call hierarchy", async () => {
  assert.deepEqual(await ask.calls(await place()), {
    item: ["buffer-assignment-values.txt:280: dot"],
    incoming: ["buffer-assignment-values.txt:120: x.1", "buffer-assignment-values.txt:273: multiply_add_fusion"],
    outgoing: ["buffer-assignment-values.txt:286: multiply_subtract_fusion.5"],
  });
});

test("three files: problems", async () => {
  const { uri } = await document();
  const [found, ...others] = await eventually(
    () => ask.problems(uri),
    (problems) => problems.length > 0,
  );
  assert.match(
    found ?? "",
    /^84: Information peak-understated: The printed peak is not the real one: 3\.96 MiB of host memory/,
  );
  assert.deepEqual(others, []);
});

test("three files: edits are checked", async () => {
  const edited = await document();
  const before = await eventually(
    () => ask.problems(edited.uri),
    (problems) => problems.length > 0,
  );
  const { position } = at(edited, "    dot{}:35-37", "37");
  // Dumps are read-only until the user allows edits.
  await vscode.window.showTextDocument(edited);
  const isTyped = async () => {
    const version = edited.version;
    await vscode.commands.executeCommand("type", { text: "x" });
    return edited.version > version;
  };
  assert.ok(!(await isTyped()));
  await vscode.commands.executeCommand("workbench.action.files.setActiveEditorWriteableInSession");
  const edit = new vscode.WorkspaceEdit();
  edit.replace(edited.uri, new vscode.Range(position, position.translate(0, 2)), "47");
  assert.ok(await vscode.workspace.applyEdit(edit));
  const found = await eventually(
    () => ask.problems(edited.uri),
    ([first]) => first !== before[0],
  );
  await vscode.commands.executeCommand("workbench.action.files.revert");
  await eventually(
    () => ask.problems(edited.uri),
    ([first]) => first === before[0],
  );
  assert.deepEqual(found, [
    "67: Error invalid-live-range: `dot{}` is live from step 35 to step 47. A live range starts before it ends, and the schedule ends at step 40.",
  ]);
});
