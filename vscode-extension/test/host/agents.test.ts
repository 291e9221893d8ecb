/** The tools for language models. */

import assert from "node:assert/strict";
import * as vscode from "vscode";

import { find } from "./places";
import { test } from "./suite";

/** The part of the API that the types of the oldest supported version lack. */
interface Tools {
  tools: readonly { name: string }[];
  invokeTool(name: string, options: object): Promise<{ content: { value: string }[] }>;
}

const lm = vscode.lm as unknown as Tools;

async function ask(question: string, input: object): Promise<string> {
  const options = { input, toolInvocationToken: undefined };
  const { content } = await lm.invokeTool(`xla-lens_${question}`, options);
  const text = content.map(({ value }) => value).join("");
  assert.ok(Buffer.byteLength(text) <= 4096, text);
  return text;
}

test("agents: all tools are declared and registered", () => {
  const names = lm.tools.map(({ name }) => name).filter((name) => name.startsWith("xla-lens_"));
  assert.deepEqual(
    names.sort(),
    ["comparison", "failure", "memory", "savings"].map((name) => `xla-lens_${name}`),
  );
  return Promise.resolve();
});

test("agents: memory and savings of a dump", async () => {
  const dump = (await find("split", "-live-range.txt")).fsPath;
  const memory = await ask("memory", { dump });
  assert.match(memory, /It needs 4\.21 MiB of host memory/);
  assert.match(memory, /programs\.py:50 in mlp_apply/);
  assert.equal(await ask("memory", { dump: "split" }), memory);
  assert.match(await ask("savings", { dump }), /What would lower the host memory peak/);
});

test("agents: two dumps are compared", async () => {
  assert.match(await ask("comparison", { old: "single", new: "split" }), /old {2,}.*\n {2}new {2,}/);
});

test("agents: an out-of-memory message is explained", async () => {
  const message = "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 12345678900 bytes.";
  assert.match(await ask("failure", { message }), /11\.50 GiB/);
});

test("agents: wrong input and files outside of the workspace are refused", async () => {
  await assert.rejects(ask("memory", { path: "split" }), /unknown property path/);
  await assert.rejects(ask("comparison", { new: "split" }), /old is missing/);
  await assert.rejects(ask("memory", { dump: "/etc" }), /not in the workspace/);
});
