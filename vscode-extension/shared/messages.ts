/**
 * The messages between the extension and the page of the memory map. The extension checks what it gets, since a page may come
 * from its older version; the page takes what the extension and the server of its own version send.
 */

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

type Unchecked = Readonly<Record<string, unknown>>;

/** Return a message of the page, or undefined if it is invalid. */
export function parseMessageFromMap(message: unknown): MessageFromMap | undefined {
  if (!isObject(message)) return undefined;
  return isMessageFromMap(message) ? (message as MessageFromMap) : undefined;
}

function isMessageFromMap(message: Unchecked): boolean {
  switch (message.type) {
    case "ready":
      return true;
    case "goTo":
    case "describe":
      return isTarget(message.target) && isSide(message.side);
    case "goToInstruction":
      return isNumber(message.value) && isSide(message.side);
    case "openSource":
      return typeof message.source === "string";
    case "open":
      return typeof message.href === "string";
    default:
      return false;
  }
}

const TO_MAP: readonly unknown[] = ["map", "problem", "described", "cursor", "light"] satisfies MessageToMap["type"][];

/** Whether a message is one of the extension: other scripts can post to a window, too. */
export function isMessageToMap(message: unknown): message is MessageToMap {
  return isObject(message) && TO_MAP.includes(message.type);
}

function isTarget(target: unknown): target is Target {
  if (!isObject(target)) return false;
  const [[key, row] = ["", undefined], ...others] = Object.entries(target);
  return ["value", "allocation", "step"].includes(key) && isNumber(row) && others.length === 0;
}

function isSide(side: unknown): side is Side | undefined {
  return side === undefined || side === "old" || side === "new";
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isObject(value: unknown): value is Unchecked {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
