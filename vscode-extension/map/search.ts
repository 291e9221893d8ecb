/** Searches the names, op_names, sources and Python calls of values for a text. */

import { type Model, NONE } from "./model";

export interface Search {
  /** Whether there is a query, or a picked group. */
  isOn: boolean;
  /** 1 for each value that matches, else 0. */
  isMatch: Uint8Array;
  /** The values that match, largest first: those of the memory space, or all if it has none. */
  matches: number[];
  /** The number of values that match in other memory spaces, or without an allocation. */
  elsewhere: number;
}

const COLUMNS = ["label", "opName", "source"] as const;

/** Search all memory spaces. `within` narrows the result down, and lists its matches. */
export function search(model: Model, query: string): Search {
  const isMatch = new Uint8Array(model.count);
  const part = query.trim().toLowerCase();
  const result: Search = { isOn: part !== "", isMatch, matches: [], elsewhere: 0 };
  if (!result.isOn) return result;
  const isFoundAt = model.map.strings.map((text) => text.toLowerCase().includes(part));
  const isFound = (number: number) => isFoundAt[number] ?? false;
  const { calls, values } = model.map;
  const isCall = new Uint8Array(calls.frame.length);
  // Callers come before the calls that they make.
  for (const [row, frame] of calls.frame.entries()) isCall[row] = isCall[calls.caller[row]!] || Number(isFound(frame));
  for (let value = 0; value < model.count; value++) {
    const isHere = COLUMNS.some((column) => isFound(values[column][value] ?? NONE));
    isMatch[value] = Number(isHere || isCall[values.call[value] ?? NONE] === 1);
  }
  return result;
}

/** The matches of a search in a memory space, and in a picked group. Without a query, all of the group match. */
export function within(model: Model, found: Search, color: number, members: Uint8Array | null): Search {
  const isMatch = members
    ? members.map((isMember, value) => Number(isMember && (!found.isOn || found.isMatch[value])))
    : found.isMatch;
  return withMatches(model, { ...found, isOn: found.isOn || members !== null, isMatch }, color);
}

function withMatches(model: Model, result: Search, color: number): Search {
  const all = [...result.isMatch.keys()].filter((value) => result.isMatch[value]);
  const here = all.filter((value) => model.color[value] === color);
  const matches = here.length ? here : all;
  matches.sort((a, b) => model.size[b]! - model.size[a]! || model.start[a]! - model.start[b]! || a - b);
  return { ...result, matches, elsewhere: all.length - matches.length };
}
