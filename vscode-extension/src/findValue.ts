/**
 * The command "Find Value": a list of the modules, allocations and values of the workspace that a query finds. The server
 * searches; unlike the editor's own list of symbols, this one does not filter its answers again by their names.
 */

import { dirname } from "node:path";
import * as vscode from "vscode";

import { human, percent } from "../shared/numbers";
import type { FoundValue, FoundValues } from "../shared/protocol";
import { withoutFolders } from "../shared/sources";
import { goTo } from "./locations";
import type { Server } from "./server";

const TITLE = "Find Value";
const HINT = "Part of a name, or a size: >1GiB  <4KiB";

/** Debounces typing. */
const DEBOUNCE_MS = 100;
/** The delay between requests while the server still reads sets. */
const POLL_MS = 1000;

const ICONS: Readonly<Record<FoundValue["kind"], string>> = {
  module: "file-binary",
  allocation: "archive",
  value: "symbol-variable",
};

interface Item extends vscode.QuickPickItem {
  found: FoundValue;
}

/** Finds what the user looks for, and goes there. */
export class ValueFinder {
  private query = "";

  constructor(private readonly server: Server) {}

  /** Shows the list, with the last query selected. */
  show(): void {
    const pick = vscode.window.createQuickPick<Item>();
    let timer: NodeJS.Timeout | undefined;
    let latest = 0;

    const search = async (): Promise<void> => {
      latest += 1;
      const number = latest;
      this.query = pick.value;
      pick.busy = true;
      const answer = await this.server.execute("xla-lens.findValues", { query: this.query }).catch(() => undefined);
      if (number !== latest) return;
      pick.busy = answer?.isReading ?? false;
      pick.title = answer ? titleOf(answer) : TITLE;
      pick.items = answer?.found.map(itemOf) ?? [];
      if (answer?.isReading) timer = setTimeout(() => void search(), POLL_MS);
    };

    const searchSoon = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => void search(), DEBOUNCE_MS);
    };

    pick.title = TITLE;
    pick.placeholder = HINT;
    pick.value = this.query;
    pick.onDidChangeValue(searchSoon);
    pick.onDidAccept(() => {
      const [item] = pick.selectedItems;
      if (!item) return;
      pick.hide();
      void goTo(item.found.location);
    });
    pick.onDidHide(() => {
      latest += 1;
      clearTimeout(timer);
      pick.dispose();
    });
    pick.show();
    void search();
  }
}

function titleOf({ found, isTruncated, isReading }: FoundValues): string {
  const count = isTruncated ? `the best ${found.length} matches` : !found.length && !isReading && "nothing matches";
  return [TITLE, count, isReading && "reading dumps…"].filter(Boolean).join(" · ");
}

function itemOf(found: FoundValue): Item {
  const { name, kind, module, allocationKind, space, sizeBytes, peakBytes, source, location } = found;
  // Not every byte of an allocation is live.
  const share =
    kind === "value" && sizeBytes >= 0 && peakBytes > 0 && `${percent(sizeBytes, peakBytes)} of the ${space} peak`;
  const size = sizeBytes >= 0 && `${kind === "module" ? "peak " : ""}${human(sizeBytes)}`;
  const folder = dirname(vscode.workspace.asRelativePath(vscode.Uri.parse(location.uri)));
  return {
    label: name,
    description: [size, share].filter(Boolean).join(" · "),
    detail: [withoutFolders(source), allocationKind, kind !== "module" && module, folder !== "." && folder]
      .filter(Boolean)
      .join(" · "),
    iconPath: new vscode.ThemeIcon(ICONS[kind]),
    alwaysShow: true,
    found,
  };
}
