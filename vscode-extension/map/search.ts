/**
 * Searches the names, op_names and sources of values: for a text, or for a regular expression between slashes. Nothing
 * can stop a regular expression, so those that may take forever on one name are turned down, it sees no more than the
 * first 200 characters, and all names together have a fifth of a second.
 */

import { type Model, NONE } from "./model";

export interface Search {
  /** Whether anything is searched for, and understood. */
  isOn: boolean;
  /** For each value whether it matches. */
  isMatch: Uint8Array;
  /** The values that match, in the order of birth. */
  matches: number[];
  /** What is wrong with what was searched for, empty if nothing. */
  problem: string;
}

const COLUMNS = ["label", "opName", "source"] as const;
const MOST_MILLISECONDS = 200;
const MOST_CHARACTERS = 200;
const MOST_REPEATS = 3;

export function search(model: Model, query: string): Search {
  const isMatch = new Uint8Array(model.count);
  const result: Search = { isOn: query.trim() !== "", isMatch, matches: [], problem: "" };
  if (!result.isOn) return result;
  const matcher = matcherOf(query);
  if (typeof matcher === "string") return { ...result, isOn: false, problem: matcher };
  const until = performance.now() + MOST_MILLISECONDS;
  const known = new Map<number, boolean>([[NONE, false]]);
  for (const column of COLUMNS) {
    const numbers = model.map.values[column];
    for (let value = 0; value < model.count; value++) {
      const number = numbers[value] ?? NONE;
      let isFound = known.get(number);
      if (isFound === undefined) {
        if (performance.now() > until) {
          result.problem = "The search took too long and is not complete";
          return finished(model, result);
        }
        isFound = matcher(model.map.strings[number] ?? "");
        known.set(number, isFound);
      }
      if (isFound) isMatch[value] = 1;
    }
  }
  return finished(model, result);
}

function finished(model: Model, result: Search): Search {
  for (let value = 0; value < model.count; value++) if (result.isMatch[value]) result.matches.push(value);
  result.matches.sort((a, b) => model.start[a]! - model.start[b]! || a - b);
  return result;
}

/** What tells whether a text matches; or what is wrong with the query. */
function matcherOf(query: string): ((text: string) => boolean) | string {
  const pattern = /^\/(.+)\/(i?)$/.exec(query.trim());
  if (!pattern) {
    const part = query.trim().toLowerCase();
    return (text) => text.toLowerCase().includes(part);
  }
  const danger = dangerOf(pattern[1]!);
  if (danger) return danger;
  try {
    const regex = new RegExp(pattern[1]!, `u${pattern[2]}`);
    return (text) => regex.test(text.slice(0, MOST_CHARACTERS));
  } catch (error) {
    const words = error instanceof Error ? error.message.replace(/^.*: /, "") : String(error);
    return `No regular expression: ${words}`;
  }
}

/** Why a regular expression may take forever, empty if it does not. */
function dangerOf(pattern: string): string {
  const bare = pattern.replace(/\\[^\d]|\[(?:\\.|[^\]\\])*\]/g, "x");
  if (/\\\d/.test(bare) || bare.includes("\\k")) return "References to groups are not searched for";
  const repeat = /[*+]|\{\d*,?\d*\}/;
  for (let rest = bare; ; ) {
    const group = /\(([^()]*)\)([*+]|\{\d*,?\d*\})?/.exec(rest);
    if (!group) break;
    if (group[2] && (repeat.test(group[1]!) || group[1]!.includes("|"))) {
      return "A repeated group with a repetition or a choice inside may take forever";
    }
    const inside = group[1]! + (group[2] ?? "");
    rest = rest.slice(0, group.index) + inside + rest.slice(group.index + group[0].length);
  }
  const repeats = bare.match(/[*+]|\{\d*,\d*\}/g) ?? [];
  return repeats.length > MOST_REPEATS ? `More than ${MOST_REPEATS} repetitions may take forever` : "";
}
