/** Messages between the extension and the page of the memory map: valid ones pass, all others are rejected. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  isMemoryMap,
  type MessageFromMap,
  type MessageToMap,
  parseMessageFromMap,
  parseMessageToMap,
} from "../../shared/messages";
import type { MemoryMap } from "../../shared/protocol";
import mlpTrain from "../map/data/mlp_train.json";

const MAP = mlpTrain.map as MemoryMap;

const COMPARISON = {
  side: "old" as const,
  ownStep: MAP.steps.map((_, step) => step),
  change: MAP.values.label.map(() => 0),
  partner: MAP.values.label.map(() => -1),
};
const COMPARED: MemoryMap = { ...MAP, comparison: COMPARISON };

const NO_MESSAGES: unknown[] = [undefined, null, 7, "ready", [], {}, { type: "reload" }, { type: null }];

test("valid messages of the page pass", () => {
  const messages: MessageFromMap[] = [
    { type: "ready" },
    { type: "goTo", target: { value: 3 } },
    { type: "goTo", target: { value: 3 }, side: "old" },
    { type: "goTo", target: { allocation: 0 } },
    { type: "describe", target: { step: 17 } },
    { type: "goToInstruction", value: 3 },
    { type: "openSource", source: "train.py:31 in step" },
    { type: "open", href: "command:xla-lens.goTo?%5B%5D" },
  ];
  for (const message of messages) assert.equal(parseMessageFromMap(message), message);
});

test("malformed messages of the page are rejected", () => {
  const malformed = [
    { type: "goTo" },
    { type: "goTo", target: null },
    { type: "goTo", target: { value: 3 }, side: "both" },
    { type: "goTo", target: {} },
    { type: "goToInstruction", value: "3" },
    { type: "openSource" },
    { type: "open", href: null },
    { type: "goTo", target: { value: "3" } },
    { type: "goTo", target: { value: 3, step: 1 } },
    { type: "describe", target: { uri: "file:///etc/passwd" } },
  ];
  for (const message of [...NO_MESSAGES, ...malformed]) {
    assert.equal(parseMessageFromMap(message), undefined, JSON.stringify(message));
  }
});

test("valid messages of the extension pass", () => {
  const messages: MessageToMap[] = [
    { type: "map", uri: "file:///a.txt", map: MAP },
    { type: "map", uri: "xla-lens:/a/comparison.txt?/b", map: COMPARED, other: COMPARED },
    { type: "problem", message: "no" },
    { type: "described", target: { step: 1 }, markdown: "**a**" },
    { type: "cursor", value: 1, allocation: -1, step: -1 },
    { type: "light", name: "train.py:31", values: [1, 2] },
  ];
  for (const message of messages) assert.equal(parseMessageToMap(message), message);
});

test("malformed messages of the extension are rejected", () => {
  const malformed = [
    { type: "map", uri: "file:///a.txt" },
    { type: "map", map: MAP },
    { type: "map", uri: "file:///a.txt", map: MAP, other: null },
    { type: "map", uri: "file:///a.txt", map: { ...COMPARED, comparison: { ...COMPARISON, partner: [] } } },
    { type: "map", uri: "file:///a.txt", map: { ...COMPARED, comparison: { ...COMPARISON, side: "both" } } },
    { type: "problem" },
    { type: "described", target: { step: 1 } },
    { type: "cursor", value: 1, allocation: "2", step: -1 },
    { type: "light", name: "train.py:31", values: ["1"] },
  ];
  for (const message of [...NO_MESSAGES, ...malformed]) {
    assert.equal(parseMessageToMap(message), undefined, JSON.stringify(message));
  }
});

test("a map with a missing, a short or an odd column is rejected", () => {
  assert.ok(isMemoryMap(MAP));
  const wrong: [keyof MemoryMap, unknown][] = [
    ["module", 1],
    ["strings", [1]],
    ["steps", ["a"]],
    ["spaces", [{ ...MAP.spaces[0], curveStep: [] }]],
    ["spaces", [{ ...MAP.spaces[0], name: undefined }]],
    ["printedPeak", { step: 1 }],
    ["values", { ...MAP.values, label: undefined }],
    ["values", { ...MAP.values, sizeBytes: MAP.values.sizeBytes.slice(1) }],
    ["allocations", { ...MAP.allocations, kind: MAP.allocations.kind.map(String) }],
  ];
  for (const [name, part] of wrong) assert.ok(!isMemoryMap({ ...MAP, [name]: part }), name);
  for (const name of Object.keys(MAP)) assert.ok(!isMemoryMap({ ...MAP, [name]: undefined }), name);
});
