/** Names that are shortened or told apart. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { distinctParts } from "../../shared/paths";
import { shortSource } from "../../shared/sources";

test("names: of a long source line, the number remains", () => {
  assert.equal(shortSource("/home/me/big_programs.py:31", 15), "big_prog….py:31");
  assert.equal(shortSource("/home/me/train.py:1203", 15), "train.py:1203");
  assert.equal(shortSource("C:\\work\\transformer.py:120345", 12), "tran….py:120345");
  assert.equal(shortSource("(no source: 8 constants)", 15), "(no source: 8 constants)");
});

test("names: what tells paths apart keeps its dots", () => {
  const paths = ["dumps/tpu-v5p-jaxlib0.6.2/mlp/a.txt", "dumps/tpu-v5p-jaxlib0.7.1/mlp/a.txt"];
  assert.deepEqual(distinctParts(paths), ["tpu-v5p-jaxlib0.6.2", "tpu-v5p-jaxlib0.7.1"]);
  assert.deepEqual(distinctParts(["x/one.two/a.txt", "x/three/b.txt"]), ["one.two/a", "three/b"]);
  assert.deepEqual(distinctParts(["x/m_0001.jit_f.txt", "x/m_0002.jit_f.txt"]), ["m_0001", "m_0002"]);
  assert.deepEqual(distinctParts(["x/a.txt", "x/a.txt"]), ["", ""]);
  assert.deepEqual(distinctParts(["x/a.txt"]), [""]);
});
