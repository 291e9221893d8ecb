/** Where the sources are on this machine, from one located file. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { mappingFor, nameOf } from "../../src/pathMapping";

test("mapping: the common ending of both paths is left out", () => {
  const cases: [string, string, string, string][] = [
    ["/home/ci/src/models/train.py", "/me/work/models/train.py", "/home/ci/src", "/me/work"],
    ["/home/ci/src/train.py", "/me/work/src/train.py", "/home/ci", "/me/work"],
    ["/train.py", "/me/train.py", "/", "/me"],
    ["/build/train.py", "/train.py", "/build", "/"],
    ["train.py", "/me/train.py", "train.py", "/me/train.py"],
    ["src/train.py", "/me/src/train.py", "src", "/me/src"],
    ["C:\\ci\\src\\train.py", "/me/src/train.py", "C:\\ci", "/me"],
    ["/home/ci/src/train.py", "D:\\me\\src\\train.py", "/home/ci", "D:\\me"],
    // The user chose a file with another name: only that file is mapped.
    ["/home/ci/train.py", "/me/train_old.py", "/home/ci/train.py", "/me/train_old.py"],
  ];
  for (const [there, here, ...mapping] of cases) assert.deepEqual(mappingFor(there, here), mapping);
});

test("mapping: names are those of any machine", () => {
  assert.deepEqual(["C:\\ci\\a.py", "/ci/a.py", "a.py"].map(nameOf), ["a.py", "a.py", "a.py"]);
});
