/** The extension and the page of the memory map ignore messages that the other side did not send. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { isMessageFromMap, isMessageToMap } from "../../shared/messages";

test("each side takes messages of the other side only", () => {
  assert.ok(isMessageFromMap({ type: "ready" }));
  assert.ok(isMessageToMap({ type: "problem", message: "no" }));
  for (const message of [undefined, null, 7, "ready", [], {}, { type: "reload" }, { type: null }]) {
    assert.ok(!isMessageFromMap(message));
    assert.ok(!isMessageToMap(message));
  }
});
