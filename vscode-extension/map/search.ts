/**
 * Searches the names, op_names, sources and Python calls of values for a text, or for a regular expression between slashes,
 * and by sizes such as `>1GiB`.
 *
 * JavaScript cannot interrupt a regular expression. Those with repeated groups or many repetitions are rejected, and only the
 * first 200 characters of a text are searched.
 */

import { parseSize } from "../shared/numbers";
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
  /** The error in the query, empty if there is none. */
  problem: string;
}

const [MAX_CHARACTERS, MAX_REPEATS] = [200, 3];
const COLUMNS = ["label", "op_name", "source"] as const;

/** Search all memory spaces. `within` narrows the result down, and lists its matches. */
export function search(model: Model, query: string): Search {
  const isMatch = new Uint8Array(model.count);
  const words = query.trim().split(/\s+/);
  const limits = words.flatMap((word) => limitOf(word) ?? []);
  const text = words.filter((word) => !limitOf(word)).join(" ");
  const matcher = createMatcher(text);
  const problem = typeof matcher === "string" ? matcher : "";
  const result: Search = { isOn: query.trim() !== "" && !problem, isMatch, matches: [], elsewhere: 0, problem };
  if (!result.isOn || typeof matcher === "string") return result;
  const isFoundAt = model.map.strings.map(matcher);
  const isFound = (number: number) => isFoundAt[number] ?? false;
  const { calls, values } = model.map;
  const isCall = new Uint8Array(calls.frame.length);
  // Callers come before the calls that they make.
  for (const [row, frame] of calls.frame.entries()) isCall[row] = isCall[calls.caller[row]!] || Number(isFound(frame));
  for (let value = 0; value < model.count; value++) {
    const isHere = COLUMNS.some((column) => isFound(values[column][value] ?? NONE));
    const isOfSize = limits.every((fits) => fits(model.size[value]!));
    isMatch[value] = Number(isOfSize && (text === "" || isHere || isCall[values.call[value] ?? NONE] === 1));
  }
  return result;
}

/** The matches of a search in a memory space, and in a picked group. Without a query, all of the group match. */
export function within(model: Model, found: Search, color: number, members: Uint8Array | null): Search {
  const isMatch = members
    ? members.map((isMember, value) => Number(isMember && (!found.isOn || found.isMatch[value])))
    : found.isMatch;
  const all = [...isMatch.keys()].filter((value) => isMatch[value]);
  const here = all.filter((value) => model.color[value] === color);
  const matches = here.length ? here : all;
  matches.sort((a, b) => model.size[b]! - model.size[a]! || model.start[a]! - model.start[b]! || a - b);
  return { ...found, isOn: found.isOn || members !== null, isMatch, matches, elsewhere: all.length - matches.length };
}

/** The limit of a size: `>1GiB`, `<4KiB`. Undefined for other words. */
function limitOf(word: string): ((sizeBytes: number) => boolean) | undefined {
  const limit = /^[<>]/.test(word) ? parseSize(word.slice(1)) : null;
  if (limit === null) return undefined;
  return word.startsWith(">") ? (sizeBytes) => sizeBytes > limit : (sizeBytes) => sizeBytes < limit;
}

/** Return a predicate for a text or a regular expression, or the error in it. */
function createMatcher(query: string): ((text: string) => boolean) | string {
  const [, pattern, flag] = /^\/(.+)\/(i?)$/.exec(query) ?? [];
  if (!pattern) {
    const part = query.toLowerCase();
    return (text) => text.toLowerCase().includes(part);
  }
  const bare = pattern.replace(/\\[^\dk]|\[(?:\\.|[^\]\\])*\]/g, "x");
  const repeats = bare.match(/[*+]|\{\d*,\d*\}/g) ?? [];
  if (/\\|\)\s*(?:[*+]|\{)/.test(bare) || repeats.length > MAX_REPEATS) {
    return "A repeated group, a backreference or many repetitions can be too slow";
  }
  try {
    const regex = new RegExp(pattern, `u${flag}`);
    return (text) => regex.test(text.slice(0, MAX_CHARACTERS));
  } catch (error) {
    return `Invalid regular expression: ${error instanceof Error ? error.message.replace(/^.*: /, "") : error}`;
  }
}
