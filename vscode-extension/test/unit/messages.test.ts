/** Messages between the extension and the page of the memory map: valid ones pass, all others are rejected. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { isMessageToMap, type MessageFromMap, parseMessageFromMap } from "../../shared/messages";

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

test("the page takes messages of the extension only", () => {
  assert.ok(isMessageToMap({ type: "problem", message: "no" }));
  for (const message of NO_MESSAGES) assert.ok(!isMessageToMap(message));
});
