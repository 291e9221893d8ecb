/**
 * What the language server tells beyond the Language Server Protocol, and what the memory map is told of it.
 *
 * The server answers `workspace/executeCommand`: a command takes one object and gives one of these. A `uri` is that of a
 * file of a set, open or not, or of a page that the server has made of one. All sizes are bytes,
 * steps are those of the schedule, -1 in a column means that there is none. `Location` is that of the protocol.
 */

import type { Location } from "vscode-languageserver-types";

/** A file of a dump set. */
export interface SetFile {
  kind: "buffer-assignment" | "values" | "live-range" | "memory-usage-report" | "hlo";
  uri: string;
  sizeBytes: number;
}

export interface SpaceSummary {
  color: number;
  /** As in reports: `default`, `vmem`, `smem`, `hbm`, `host`, `cmem`, else `color_7`. */
  name: string;
  reservedBytes: number;
  peakLiveBytes: number;
  /** -1: nothing is ever live. */
  peakStep: number;
}

/** Of `xla-lens.modules` {}: the dump sets of the workspace, the worst peak first, as far as they have been read. */
export interface Modules {
  isReading: boolean;
  /** There are more sets than are read. */
  isCut: boolean;
  modules: ModuleSummary[];
}

export interface ModuleSummary {
  /** The file of the set to open first. */
  uri: string;
  module: string;
  spaces: SpaceSummary[];
  files: SetFile[];
}

/** Of `xla-lens.overview` {uri, top?}: where the memory of one set goes. The lists have at most `top` entries (100). */
export interface Overview {
  uri: string;
  module: string;
  files: SetFile[];
  spaces: SpaceOverview[];
  /** What the dump says. */
  printedPeak: { step: number; bytes: number | null; location: Location | null } | null;
  allocations: AllocationEntry[];
  allocationCount: number;
}

export interface SpaceOverview extends SpaceSummary {
  /** The instruction at the peak, empty if unknown, and where the schedule has it. */
  peakInstruction: string;
  peakLocation: Location | null;
  /** What is live at the peak, the biggest first. */
  live: ValueEntry[];
  liveCount: number;
}

export interface ValueEntry {
  /** The row of the value, as in `MemoryMap.values`. */
  value: number;
  /** Name and index: `fusion.5{0}`. */
  label: string;
  sizeBytes: number;
  shape: string;
  opName: string;
  /** The line of the program that made it: `train.py:31 in step`, empty if unknown. */
  source: string;
  location: Location;
}

export interface AllocationEntry {
  /** The row of the allocation, as in `MemoryMap.allocations`. */
  allocation: number;
  index: number;
  kind: string;
  color: number;
  sizeBytes: number;
  /** The most of its bytes that are live at once; -1: none of its values ever is. */
  mostLiveBytes: number;
  location: Location;
}

/** Of `xla-lens.whatIsAt` {uri, position}: what the cursor is on, as rows of the map; -1 where it is on no such thing. */
export interface WhatIsAt {
  value: number;
  allocation: number;
  step: number;
}

/**
 * Of `xla-lens.describe` {uri, and a `Target`}: what the editor's hover tells of that, and where it stands.
 * Values and allocations are told by their rows. A value has its place in the file of `uri`, if that tells of it.
 */
export interface Description {
  markdown: string;
  location: Location;
}

/**
 * Of `xla-lens.memoryMap` {uri}: all of a set that can be drawn. Columns of one table have one length; `label`, `shape` and the
 * like are numbers into `strings`.
 */
export interface MemoryMap {
  module: string;
  strings: string[];
  /** The instruction of each step, numbers into `strings`; -1: unknown. Up to the last step that anything is told of. */
  steps: number[];
  spaces: MapSpace[];
  printedPeak: { step: number; bytes: number | null } | null;
  allocations: {
    index: number[];
    color: number[];
    sizeBytes: number[];
    kind: number[];
  };
  values: {
    label: number[];
    /** The row of its allocation; -1: it is in none. */
    allocation: number[];
    offsetBytes: number[];
    sizeBytes: number[];
    /** Live from the first to the last step, both included; -1: it has no live range. */
    startStep: number[];
    endStep: number[];
    kind: number[];
    shape: number[];
    opName: number[];
    /** The line of the program that made it; -1: unknown. */
    source: number[];
    /** Assigned size less the bytes of the logical shape; -1: unknown. */
    paddingBytes: number[];
  };
}

export interface MapSpace extends SpaceSummary {
  /** Live bytes change at `curveStep[i]` to `curveBytes[i]`, and stay so until the next. */
  curveStep: number[];
  curveBytes: number[];
}

/** What can be described: rows of the map, or a step. */
export type Target = { value: number } | { allocation: number } | { step: number };

/** What the map tells its host. */
export type FromMap =
  | { type: "ready" }
  | { type: "goTo"; target: Target }
  | { type: "describe"; target: Target };

/** What the host tells the map. */
export type ToMap =
  | { type: "map"; uri: string; map: MemoryMap }
  | { type: "problem"; message: string }
  | { type: "described"; target: Target; markdown: string }
  | ({ type: "cursor" } & WhatIsAt);

/** Of the notification `xla-lens/didLoad`: a set was loaded, perhaps again, or is not open any more. */
export interface DidLoad {
  /** All files of the set. */
  uris: string[];
  loaded: boolean;
}
