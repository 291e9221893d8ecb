/** The messages between the extension and the page of the memory map. */

import type { MapComparison, MemoryMap, WhatIsAt } from "./protocol";

/** A row of `MemoryMap.values`, a row of `MemoryMap.allocations`, or a step. */
export type Target = { value: number } | { allocation: number } | { step: number };

/** The dump that a message is about, if the page compares two. Steps are those of the common axis. */
export type Side = MapComparison["side"];

/** What the page sends to the extension. */
export type MessageFromMap =
  | { type: "ready" }
  | { type: "goTo"; target: Target; side?: Side }
  | { type: "describe"; target: Target; side?: Side }
  /** Go to the instruction of a value in the HLO module. */
  | { type: "goToInstruction"; value: number; side?: Side }
  /** Open a source line, as `ValueColumns.source` names it. */
  | { type: "openSource"; source: string }
  /** Follow a link of a hover. */
  | { type: "open"; href: string };

/** What the extension sends to the page. */
export type MessageToMap =
  | { type: "map"; uri: string; map: MemoryMap; other?: MemoryMap }
  | { type: "problem"; message: string }
  | { type: "described"; target: Target; markdown: string }
  | ({ type: "cursor" } & WhatIsAt)
  /** Make the values of a source line stand out, or all again if there are none. */
  | { type: "light"; name: string; values: number[] };

const FROM_MAP = [
  "ready",
  "goTo",
  "describe",
  "goToInstruction",
  "openSource",
  "open",
] satisfies MessageFromMap["type"][];
const TO_MAP = ["map", "problem", "described", "cursor", "light"] satisfies MessageToMap["type"][];

/** Whether a message is one of the page. */
export function isMessageFromMap(message: unknown): message is MessageFromMap {
  return hasType(message, FROM_MAP);
}

/** Whether a message is one of the extension: other scripts can post to a window, too. */
export function isMessageToMap(message: unknown): message is MessageToMap {
  return hasType(message, TO_MAP);
}

function hasType(message: unknown, types: readonly unknown[]): boolean {
  return typeof message === "object" && message !== null && "type" in message && types.includes(message.type);
}
