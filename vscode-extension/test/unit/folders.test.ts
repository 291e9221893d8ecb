/** The folders that tell files of the same name apart. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { tellingFolders } from "../../shared/folders";

const FILE = "module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt";

test("folders: the shortest run that no other path has, nearest to the file", () => {
  const paths = ["dumps/cpu/0.4.30/donation", "dumps/cpu/0.6.2/donation", "dumps/gpu/0.6.2/matmul"];
  assert.deepEqual(tellingFolders(paths.map((path) => `${path}/${FILE}`)), ["0.4.30", "0.6.2/donation", "matmul"]);
});

test("folders: files in one folder are told apart by the start of their names", () => {
  const paths = [`a/b/${FILE}`, "a/b/module_0002.jit_f.cpu_after_optimizations-buffer-assignment.txt", `a/c/${FILE}`];
  assert.deepEqual(tellingFolders(paths), ["b/module_0001", "b/module_0002", "c"]);
});

test("folders: a path inside another is named by all its folders", () => {
  assert.deepEqual(tellingFolders([`run/${FILE}`, `run/again/${FILE}`]), ["run", "again"]);
});

test("folders: no two of them are equal", () => {
  const parts = ["a", "b", "c"];
  const paths = parts.flatMap((one) => parts.flatMap((two) => [`${one}/${two}/${FILE}`, `${one}/${FILE}`, FILE]));
  const unique = [...new Set(paths)];
  const found = tellingFolders(unique);
  assert.equal(new Set(found).size, unique.length, found.join(" "));
});
