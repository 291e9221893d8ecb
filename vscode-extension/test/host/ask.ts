/** Results of the language features as text, through VS Code's own commands for its providers. */

import * as vscode from "vscode";

import { type Place, shortName, textOf } from "./places";

async function execute<T>(command: string, ...parameters: unknown[]): Promise<T> {
  return await vscode.commands.executeCommand<T>(command, ...parameters);
}

/** A line of Markdown with the texts of its links in place of the links. */
export function withoutLinks(line: string): string {
  return line.replace(/\[([^\]]+)\]\(command:[^)]*\)/g, "$1");
}

/** The lines of the Markdown of a hover. */
export async function hover({ document, position }: Place): Promise<string[]> {
  const hovers = await execute<vscode.Hover[]>("vscode.executeHoverProvider", document.uri, position);
  const texts = hovers.flatMap((each) => each.contents).map((each) => (typeof each === "string" ? each : each.value));
  return texts.join("\n").split("\n");
}

/** The targets of a jump, as `name:line: text`. */
export async function jump(
  kind: "Definition" | "Declaration" | "TypeDefinition" | "Implementation" | "Reference",
  { document, position }: Place,
): Promise<string[]> {
  const found = await execute<(vscode.Location | vscode.LocationLink)[]>(
    `vscode.execute${kind}Provider`,
    document.uri,
    position,
  );
  return await Promise.all(
    found.map((each) =>
      "targetUri" in each
        ? textOf(each.targetUri, each.targetSelectionRange ?? each.targetRange)
        : textOf(each.uri, each.range),
    ),
  );
}

/** The highlights at a place, as `line: text`. */
export async function highlights({ document, position }: Place): Promise<string[]> {
  const found = await execute<vscode.DocumentHighlight[]>("vscode.executeDocumentHighlights", document.uri, position);
  return found.map((each) => `${each.range.start.line + 1}: ${document.getText(each.range)}`);
}

/** The document symbols, indented below their parents. */
export async function outline(document: vscode.TextDocument): Promise<string[]> {
  const lines = (symbols: vscode.DocumentSymbol[], before: string): string[] =>
    symbols.flatMap((each) => [
      `${before}${each.range.start.line + 1}: ${each.name}`,
      ...lines(each.children, `${before}  `),
    ]);
  return lines(await execute<vscode.DocumentSymbol[]>("vscode.executeDocumentSymbolProvider", document.uri), "");
}

/** The workspace symbols that match a query. */
export async function workspaceSymbols(query: string): Promise<string[]> {
  const found = await execute<vscode.SymbolInformation[]>("vscode.executeWorkspaceSymbolProvider", query);
  return found.map((each) => `${shortName(each.location.uri)}:${each.location.range.start.line + 1}: ${each.name}`);
}

/** The folding ranges, as `first-last`. */
export async function folds(document: vscode.TextDocument): Promise<string[]> {
  const found = await execute<vscode.FoldingRange[]>("vscode.executeFoldingRangeProvider", document.uri);
  return found.map((each) => `${each.start + 1}-${each.end + 1}`);
}

/** The selection ranges from inner to outer: the text of a single line, else `first-last`. */
export async function selections({ document, position }: Place): Promise<string[]> {
  const found = await execute<vscode.SelectionRange[]>("vscode.executeSelectionRangeProvider", document.uri, [
    position,
  ]);
  const texts: string[] = [];
  for (let each = found[0]; each; each = each.parent) {
    const { start, end } = each.range;
    texts.push(each.range.isSingleLine ? document.getText(each.range) : `${start.line + 1}-${end.line + 1}`);
  }
  return texts;
}

/** The semantic tokens in the line of a place, as `word type modifiers`. */
export async function tokens({ document, position }: Place): Promise<string[]> {
  const { range } = document.lineAt(position);
  const legend = await execute<vscode.SemanticTokensLegend>(
    "vscode.provideDocumentRangeSemanticTokensLegend",
    document.uri,
    range,
  );
  const { data } = await execute<vscode.SemanticTokens>(
    "vscode.provideDocumentRangeSemanticTokens",
    document.uri,
    range,
  );
  const texts: string[] = [];
  let start = new vscode.Position(0, 0);
  for (let index = 0; index < data.length; index += 5) {
    const [rows = 0, columns = 0, length = 0, type = 0, modifiers = 0] = data.slice(index, index + 5);
    start = rows ? new vscode.Position(start.line + rows, columns) : start.translate(0, columns);
    if (start.line === position.line) {
      const names = legend.tokenModifiers.filter((_, bit) => modifiers & (1 << bit));
      const word = document.getText(new vscode.Range(start, start.translate(0, length)));
      texts.push([word, legend.tokenTypes[type], ...names].join(" "));
    }
  }
  return texts;
}

/** The inlay hints, as `line: label`. */
export async function hints(document: vscode.TextDocument): Promise<string[]> {
  const whole = new vscode.Range(0, 0, document.lineCount, 0);
  const found = await execute<vscode.InlayHint[]>("vscode.executeInlayHintProvider", document.uri, whole);
  const label = (hint: vscode.InlayHint): string =>
    typeof hint.label === "string" ? hint.label : hint.label.map((part) => part.value).join("");
  return found.map((each) => `${each.position.line + 1}: ${label(each)}`);
}

/** The resolved code lenses, as `line: title (command)`. */
export async function lenses(document: vscode.TextDocument): Promise<string[]> {
  const found = await execute<vscode.CodeLens[]>("vscode.executeCodeLensProvider", document.uri, 1000);
  return found.map((each) => `${each.range.start.line + 1}: ${each.command?.title} (${each.command?.command})`);
}

/** The resolved document links, as `line: text -> target`. */
export async function links(document: vscode.TextDocument): Promise<string[]> {
  const found = await execute<vscode.DocumentLink[]>("vscode.executeLinkProvider", document.uri, 1000);
  return found.map(
    (each) =>
      `${each.range.start.line + 1}: ${document.getText(each.range)} -> ${each.target ? shortName(each.target) : "nowhere"}`,
  );
}

/** The titles of the code actions at a place. */
export async function actions({ document, position }: Place): Promise<string[]> {
  const range = new vscode.Range(position, position);
  const found = await execute<vscode.CodeAction[]>("vscode.executeCodeActionProvider", document.uri, range);
  return found.map((each) => each.title);
}

/** The call hierarchy at a place: the item, its producers and its consumers. */
export async function calls({
  document,
  position,
}: Place): Promise<{ item: string[]; incoming: string[]; outgoing: string[] }> {
  const items = await execute<vscode.CallHierarchyItem[]>("vscode.prepareCallHierarchy", document.uri, position);
  const name = (item: vscode.CallHierarchyItem): string =>
    `${shortName(item.uri)}:${item.selectionRange.start.line + 1}: ${item.name}`;
  const [first] = items;
  if (!first) {
    return { item: [], incoming: [], outgoing: [] };
  }
  const incoming = await execute<vscode.CallHierarchyIncomingCall[]>("vscode.provideIncomingCalls", first);
  const outgoing = await execute<vscode.CallHierarchyOutgoingCall[]>("vscode.provideOutgoingCalls", first);
  return {
    item: items.map(name),
    incoming: incoming.map((each) => name(each.from)),
    outgoing: outgoing.map((each) => name(each.to)),
  };
}

/** The problems of a file, as `line: severity code: message`. */
export function problems(uri: vscode.Uri): string[] {
  return vscode.languages.getDiagnostics(uri).map((each) => {
    const code = typeof each.code === "object" ? each.code.value : each.code;
    return `${each.range.start.line + 1}: ${vscode.DiagnosticSeverity[each.severity]} ${code}: ${each.message}`;
  });
}
