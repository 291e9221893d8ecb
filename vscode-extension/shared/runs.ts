/** The runs of programs below `xla-lens run`, whose dumps are in folders named for the program and the time. */

import { basename } from "node:path/posix";

import { human } from "./numbers";
import type { ModuleSummary } from "./protocol";
import { mainSpace } from "./spaces";

/** The dumps of a run. */
export interface Run {
  /** The path of its folder. */
  folder: string;
  program: string;
  /** Sorts as time does: `20261122-231502`, and a number if a folder had that name already. */
  time: string;
  modules: ModuleSummary[];
}

const FOLDER = /^(?:.*?\/)??([^/]+)-(\d{8}-\d{6}(?:-\d+)?)(?=\/)/;

/** Whether a file belongs to a run, by its path from the workspace. */
export function isOfRun(path: string): boolean {
  return FOLDER.test(path);
}

/** Group modules by run, the newest first. The rest belongs to no run. `pathOf` returns the path from the workspace. */
export function groupByRun(modules: readonly ModuleSummary[], pathOf: (module: ModuleSummary) => string) {
  const runs = new Map<string, Run>();
  const rest: ModuleSummary[] = [];
  for (const module of modules) {
    const [folder = "", program = "", time = ""] = FOLDER.exec(pathOf(module)) ?? [];
    const run = runs.get(folder) ?? { folder, program, time, modules: [] };
    if (folder) runs.set(folder, run);
    (folder ? run.modules : rest).push(module);
  }
  return { runs: [...runs.values()].sort((one, other) => other.time.localeCompare(one.time)), rest };
}

/** Return a time as it stands in the name of the folder of a run: `20261122-231502`. */
export function timestamp(time: Date): string {
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString();
  return local.slice(0, 19).replaceAll(/[-:]/g, "").replace("T", "-");
}

/** Return the name of a run: `train · 23:15:02`, with the date unless that is the given one, such as `20261122`. */
export function runName({ program, time }: Run, today: string): string {
  const [date = "", clock = "", number] = time.split("-");
  const day = date === today ? "" : `${date.replace(/(....)(..)(..)/, "$1-$2-$3")} `;
  return `${program} · ${day}${clock.replace(/(..)(..)(..)/, "$1:$2:$3")}${number ? ` (${number})` : ""}`;
}

/** How a module differs from that of the previous run of its program. */
export interface Change {
  uri: string;
  /** The module of the previous run. */
  before: ModuleSummary;
  /** `jit_step needs 1.20 GiB less than the previous run.` */
  text: string;
}

/** Compare the first module of a run with the same one of the previous run of the program, undefined if there is none. */
export function changeSince(runs: readonly Run[], run: Run): Change | undefined {
  const previous = runs.slice(runs.indexOf(run) + 1).find(({ program }) => program === run.program);
  const [module] = run.modules;
  const same = previous?.modules.filter((one) => one.module === module?.module) ?? [];
  const before = same.find(({ uri }) => basename(uri) === basename(module?.uri ?? "")) ?? same[0];
  const [now, then] = [mainSpace(module?.spaces ?? []), mainSpace(before?.spaces ?? [])];
  if (!module || !before || now?.reserved_bound !== "exact" || then?.reserved_bound !== "exact") return undefined;
  const more = now.needed_bytes - then.needed_bytes;
  const words = more ? `${human(Math.abs(more))} ${more > 0 ? "more" : "less"} than` : "as much as";
  return { uri: module.uri, before, text: `${module.module} needs ${words} the previous run.` };
}
