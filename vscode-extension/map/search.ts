/**
 * Searches the names, op_names, sources and Python calls of values for a text, or for a regular expression between slashes.
 *
 * JavaScript cannot interrupt a regular expression. Expressions with exponential or high polynomial run time are rejected,
 * only the first 200 characters of a name are searched, and a search stops after 200 ms.
 */

import { type Model, NONE } from "./model";

export interface Search {
  /** Whether there is a valid query, or a picked group. */
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

const COLUMNS = ["label", "opName", "source"] as const;
const MAX_MILLISECONDS = 200;
const MAX_CHARACTERS = 200;
const MAX_REPEATS = 3;

/** Search all memory spaces. `within` narrows the result down, and lists its matches. */
export function search(model: Model, query: string): Search {
  const isMatch = new Uint8Array(model.count);
  const result: Search = { isOn: query.trim() !== "", isMatch, matches: [], elsewhere: 0, problem: "" };
  if (!result.isOn) return result;
  const matcher = createMatcher(query);
  if (typeof matcher === "string") return { ...result, isOn: false, problem: matcher };
  const until = performance.now() + MAX_MILLISECONDS;
  const results = new Map<number, boolean>([[NONE, false]]);
  const isFound = (number: number): boolean => {
    let found = results.get(number);
    if (found === undefined && performance.now() > until) {
      result.problem = "The search took too long; its results are incomplete";
    } else if (found === undefined) {
      found = matcher(model.map.strings[number] ?? "");
      results.set(number, found);
    }
    return found ?? false;
  };
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

/** The matches of a search in a memory space, and in a picked group. Without a valid query, all of the group match. */
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

/** Return a predicate for a query, or the error in it. */
function createMatcher(query: string): ((text: string) => boolean) | string {
  const pattern = /^\/(.+)\/(i?)$/.exec(query.trim());
  if (!pattern) {
    const part = query.trim().toLowerCase();
    return (text) => text.toLowerCase().includes(part);
  }
  const danger = unsafeReason(pattern[1]!);
  if (danger) return danger;
  try {
    const regex = new RegExp(pattern[1]!, `u${pattern[2]}`);
    return (text) => regex.test(text.slice(0, MAX_CHARACTERS));
  } catch (error) {
    const message = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    return `Invalid regular expression: ${message}`;
  }
}

/** Return the reason why a regular expression may be too slow, empty if it is fast. */
function unsafeReason(pattern: string): string {
  const bare = pattern.replace(/\\[^\d]|\[(?:\\.|[^\]\\])*\]/g, "x");
  if (/\\\d/.test(bare) || bare.includes("\\k")) return "Backreferences are not supported";
  const repeat = /[*+]|\{\d*,?\d*\}/;
  for (let rest = bare; ; ) {
    const group = /\(([^()]*)\)([*+]|\{\d*,?\d*\})?/.exec(rest);
    if (!group) break;
    if (group[2] && (repeat.test(group[1]!) || group[1]!.includes("|"))) {
      return "A repeated group that contains a repetition or an alternative can be too slow";
    }
    const inside = group[1]! + (group[2] ?? "");
    rest = rest.slice(0, group.index) + inside + rest.slice(group.index + group[0].length);
  }
  const repeats = bare.match(/[*+]|\{\d*,\d*\}/g) ?? [];
  return repeats.length > MAX_REPEATS ? `More than ${MAX_REPEATS} repetitions can be too slow` : "";
}
