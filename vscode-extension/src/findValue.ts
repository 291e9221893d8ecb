/**
 * The command "Find Value": a list of the modules, allocations and values of the workspace that a query finds. The server
 * searches; unlike the editor's own list of symbols, this one does not filter its answers again by their names.
 */

import { dirname } from "node:path";
import * as vscode from "vscode";

import { human, joined, percent } from "../shared/numbers";
import type { FoundValue } from "../shared/protocol";
import { withoutFolders } from "../shared/sources";
import { latestOnly } from "./latest";
import { goTo } from "./locations";
import type { Server } from "./server";

const TITLE = "Find Value";

/** The delays after typing, and between requests while the server still reads sets. */
const [DEBOUNCE_MS, POLL_MS] = [100, 1000];

const ICONS = { module: "file-binary", allocation: "archive", value: "symbol-variable" };

let lastQuery = "";

/** Shows the list, with the last query selected, and goes to what the user chooses. */
export function findValue(server: Server): void {
  const pick = vscode.window.createQuickPick<vscode.QuickPickItem & { found: FoundValue }>();
  let timer: NodeJS.Timeout | undefined;
  const begin = latestOnly();
  const searchIn = (milliseconds: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => void search(), milliseconds);
  };
  const search = async (): Promise<void> => {
    const isLatest = begin();
    lastQuery = pick.value;
    pick.busy = true;
    const answer = await server.execute("xla-lens.findValues", { query: lastQuery }).catch(() => undefined);
    if (!isLatest()) return;
    const { found = [], is_reading: isReading = false, is_truncated: isTruncated = false } = answer ?? {};
    const count = isTruncated ? `the best ${found.length} matches` : found.length || isReading ? "" : "nothing matches";
    pick.busy = isReading;
    pick.title = joined(TITLE, count, isReading && "reading dumps…");
    pick.items = found.map(itemOf);
    if (isReading) searchIn(POLL_MS);
  };
  Object.assign(pick, { title: TITLE, placeholder: "Part of a name, or a size: >1GiB  <4KiB", value: lastQuery });
  pick.onDidChangeValue(() => searchIn(DEBOUNCE_MS));
  pick.onDidAccept(() => {
    const [item] = pick.selectedItems;
    if (!item) return;
    pick.hide();
    void goTo(item.found.location);
  });
  pick.onDidHide(() => {
    begin();
    clearTimeout(timer);
    pick.dispose();
  });
  pick.show();
  searchIn(0);
}

function itemOf(found: FoundValue): vscode.QuickPickItem & { found: FoundValue } {
  const {
    name,
    kind,
    module,
    allocation_kind: allocationKind,
    space,
    size_bytes: sizeBytes,
    peak_bytes: peakBytes,
    source,
    location,
  } = found;
  // Not every byte of an allocation is live.
  const share = kind === "value" && sizeBytes !== null && peakBytes ? percent(sizeBytes, peakBytes) : "";
  const size = sizeBytes !== null && `${kind === "module" ? "peak " : ""}${human(sizeBytes)}`;
  const folder = dirname(vscode.workspace.asRelativePath(vscode.Uri.parse(location.uri)));
  return {
    label: name,
    description: joined(size, share && `${share} of the ${space} peak`),
    detail: joined(withoutFolders(source), allocationKind, kind !== "module" && module, folder !== "." && folder),
    iconPath: new vscode.ThemeIcon(ICONS[kind]),
    alwaysShow: true,
    found,
  };
}
