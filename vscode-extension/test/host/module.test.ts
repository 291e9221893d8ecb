/** All language features on the HLO module of a split dump. */

import assert from "node:assert/strict";
import type * as vscode from "vscode";

import * as ask from "./ask";
import { open, type Place } from "./places";
import { test } from "./suite";

const document = (): Promise<vscode.TextDocument> => open("split", "_optimizations.txt");

/** The name `dot` where it is defined. */
async function place(): Promise<Place> {
  const found = await document();
  const position = found.positionAt(found.getText().indexOf("  %dot = ") + 3);
  return { document: found, position };
}

test("HLO: hover", async () => {
  const [head, ...lines] = (await ask.hover(await place())).map(ask.withoutLinks);
  assert.equal(head, "**`dot`** · 1.53 MiB · 36.3 % of the host memory peak · `programs.py:50`");
  assert.ok(lines.includes("- live from step 35 to step 37 (last read by `multiply_subtract_fusion.5`)"));
});

test("HLO: definition, declaration, type definition, implementation", async () => {
  const from = await place();
  assert.deepEqual(await ask.jump("Definition", from), [".txt:393: dot"]);
  assert.deepEqual(await ask.jump("Declaration", from), [".txt:393: dot"]);
  assert.deepEqual(await ask.jump("TypeDefinition", from), ["buffer-assignment.txt:84: <244 dot @0>"]);
  assert.deepEqual(await ask.jump("Implementation", from), ["live-range.txt:38: dot"]);
});

test("HLO: references and highlights", async () => {
  const from = await place();
  const found = await ask.jump("Reference", from);
  assert.equal(found.length, 12);
  assert.deepEqual(found.slice(-2), [".txt:393: dot", ".txt:395: %dot"]);
  assert.deepEqual(await ask.highlights(from), ["393: dot", "395: %dot"]);
});

test("HLO: outline and folding", async () => {
  const outline = await ask.outline(await document());
  assert.deepEqual(outline.slice(0, 3), ["1: HloModule jit_train_step", "  357: main.8", "    358: params_0__0_.1"]);
  assert.ok((await ask.folds(await document())).includes("357-398"));
});

test("HLO: selection", async () => {
  const selected = await ask.selections(await place());
  assert.ok(selected.includes("%dot"), selected.join(", "));
  assert.deepEqual(selected.slice(-2), ["357-398", "1-400"]);
});

test("HLO: semantic tokens", async () => {
  assert.deepEqual((await ask.tokens(await place())).slice(0, 4), [
    "%dot variable definition liveAtPeak",
    "f32[784,512]{1,0} type",
    "dot macro",
    "%x.1 variable liveAtPeak",
  ]);
});

test("HLO: inlay hints", async () => {
  const hints = await ask.hints(await document());
  assert.deepEqual(
    hints.filter((hint) => hint.startsWith("394: ")),
    ["394: 2.0 KiB", "394: 4.21 MiB live ◀ peak"],
  );
});

test("HLO: links", async () => {
  const links = await ask.links(await document());
  assert.equal(links[1], "6: /home/user/programs/programs.py -> xla-lens.goTo");
  assert.ok(links.includes("49: stack_frame_id=6 -> xla-lens.goTo"));
});

test("HLO: code actions", async () => {
  assert.ok((await ask.actions(await place())).includes("Go to Python source: programs.py:50 in mlp_apply"));
});

test("HLO: call hierarchy", async () => {
  assert.deepEqual(await ask.calls(await place()), {
    item: [".txt:393: dot"],
    incoming: [".txt:364: x.1", ".txt:390: multiply_add_fusion"],
    outgoing: [".txt:395: multiply_subtract_fusion.5"],
  });
});
