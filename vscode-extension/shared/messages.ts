/**
 * The messages between the extension and the page of the memory map. Both sides validate what they receive: a page may
 * come from an older version of the extension, and other scripts can post to a window.
 */

import type { AllocationColumns, MapComparison, MapSpace, MemoryMap, ValueColumns, WhatIsAt } from "./protocol";

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

/** The columns of both tables; the compiler checks that none is missing. */
const ALLOCATION_COLUMNS = keysOf<AllocationColumns>({ index: 0, color: 0, sizeBytes: 0, kind: 0 });
const VALUE_COLUMNS = keysOf<ValueColumns>({
  label: 0,
  allocation: 0,
  offsetBytes: 0,
  sizeBytes: 0,
  startStep: 0,
  endStep: 0,
  kind: 0,
  shape: 0,
  opName: 0,
  source: 0,
  call: 0,
  derivedFrom: 0,
  paddingBytes: 0,
});
const CURVE_COLUMNS = ["curveStep", "curveBytes"] as const;
const SPACE_BOUNDS = ["reservedBound", "peakBound"] as const;
const SPACE_NUMBERS = ["color", "reservedBytes", "neededBytes", "peakLiveBytes", "peakStep"] as const;

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

/** Return a message of the extension, or undefined if it is invalid. */
export function parseMessageToMap(message: unknown): MessageToMap | undefined {
  return isObject(message) && isMessageToMap(message) ? (message as MessageToMap) : undefined;
}

function isMessageToMap(message: Unchecked): boolean {
  switch (message.type) {
    case "map":
      return (
        typeof message.uri === "string" &&
        isMemoryMap(message.map) &&
        (message.other === undefined || isMemoryMap(message.other))
      );
    case "problem":
      return typeof message.message === "string";
    case "described":
      return isTarget(message.target) && typeof message.markdown === "string";
    case "cursor":
      return [message.value, message.allocation, message.step].every(isNumber);
    case "light":
      return typeof message.name === "string" && isColumn(message.values);
    default:
      return false;
  }
}

function isTarget(target: unknown): target is Target {
  if (!isObject(target)) return false;
  const [[key, row] = ["", undefined], ...others] = Object.entries(target);
  return ["value", "allocation", "step"].includes(key) && isNumber(row) && others.length === 0;
}

/** Whether a value has all parts of a memory map, and columns of equal length in each table. */
export function isMemoryMap(map: unknown): map is MemoryMap {
  return (
    isObject(map) &&
    typeof map.module === "string" &&
    typeof map.incomplete === "string" &&
    Array.isArray(map.strings) &&
    map.strings.every((text) => typeof text === "string") &&
    isColumn(map.steps) &&
    Array.isArray(map.spaces) &&
    map.spaces.every(isMapSpace) &&
    isPrintedPeak(map.printedPeak) &&
    isTable(map.allocations, ALLOCATION_COLUMNS) &&
    isTable(map.values, VALUE_COLUMNS) &&
    isTable(map.calls, ["frame", "caller"]) &&
    (map.comparison === undefined || isComparison(map.comparison))
  );
}

function isComparison(comparison: unknown): comparison is MapComparison {
  return (
    isTable(comparison, ["change", "partner"]) &&
    comparison.side !== undefined &&
    isSide(comparison.side) &&
    isColumn(comparison.ownStep)
  );
}

function isSide(side: unknown): side is Side | undefined {
  return side === undefined || side === "old" || side === "new";
}

function isMapSpace(space: unknown): space is MapSpace {
  return (
    isTable(space, CURVE_COLUMNS) &&
    typeof space.name === "string" &&
    SPACE_NUMBERS.every((name) => isNumber(space[name])) &&
    isCapacity(space.capacity) &&
    SPACE_BOUNDS.every((name) => ["exact", "at_least", "unknown"].includes(`${space[name]}`))
  );
}

function isCapacity(capacity: unknown): boolean {
  if (capacity === null) return true;
  return (
    isObject(capacity) &&
    isNumber(capacity.sizeBytes) &&
    isNumber(capacity.overBytes) &&
    typeof capacity.source === "string"
  );
}

function isPrintedPeak(peak: unknown): boolean {
  return peak === null || (isObject(peak) && isNumber(peak.step) && (peak.bytes === null || isNumber(peak.bytes)));
}

function isTable(table: unknown, columns: readonly string[]): table is Unchecked {
  if (!isObject(table)) return false;
  const lengths = columns.map((name) => (isColumn(table[name]) ? table[name].length : -1));
  return lengths.every((length) => length >= 0 && length === lengths[0]);
}

function isColumn(column: unknown): column is number[] {
  return Array.isArray(column) && column.every(isNumber);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number";
}

function isObject(value: unknown): value is Unchecked {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function keysOf<Table>(table: Record<keyof Table, unknown>): readonly string[] {
  return Object.keys(table);
}
