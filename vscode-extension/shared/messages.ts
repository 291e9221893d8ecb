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

/** What the extension sends to the page. The page ignores what other scripts post to its window. */
export type MessageToMap =
  | { type: "map"; uri: string; map: MemoryMap; other?: MemoryMap }
  | { type: "problem"; message: string }
  | { type: "described"; target: Target; markdown: string }
  | ({ type: "cursor" } & WhatIsAt)
  /** Show the flame graph of the peak in place of the rectangles. */
  | { type: "flame" }
  /** Make the values of a source line stand out, or all again if there are none. */
  | { type: "light"; name: string; values: number[] };
