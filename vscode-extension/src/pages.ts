/** Pages of Markdown, such as advice and reports: rendered, with links into the dump, the program and the memory map. */

import { basename } from "node:path/posix";
import * as vscode from "vscode";

import type { Change } from "../shared/runs";
import { PAGE_SCHEME } from "./documents";
import { latestOnly } from "./latest";
import { LINKED_COMMANDS, SECTION, type Server } from "./server";
import type { Sets } from "./sets";
import { commandUri } from "./sources";
import type { Tree } from "./tree";

const VIEW_TYPE = `${SECTION}.page`;
const COMMANDS = ["openLink", "copyCode"].map((name) => `${SECTION}.${name}`);

/** How many links of a page lead to files whose places the server looks up. */
const MOST_RESOLVED = 1000;

/** The end of the path of the page that answers first. */
const ANSWER = "-answer.md";

/** How many changes since the previous run it shows. */
const MOST_CHANGES = 3;

/** The folders of a file before the number of a line: names of files fit into a row. */
const FOLDERS = /(?:[A-Za-z]:)?[\\/][^\s:]*[\\/](?=[^\s\\/:]+:\d)/g;

/** The header of a column that needs none, such as that of the bars: a screen reader would announce an empty one. */
const NO_HEADER = /<th[^>]*><\/th>/g;

/** The places in code where it may go on in the next line: within long names and nested calls. */
const CODE_PARTS = /&gt;\.|\/(?!code>)|\((?=\w)/g;

/** A bar of a table, as text: the number beside it says the same. */
const BAR = /(?<=<td>)[█-▏]+(?=<\/td>)/g;

/**
 * The commands of the toolbar of a page: their names, and what they show in words that fit into one row of half a window. A page
 * leaves out the one that leads to itself.
 */
const TOOLBAR: [command: string, label: string, title: string, page?: string][] = [
  ["openAnswer", "Answer", "What takes the memory and what to do", ANSWER],
  ["openAdvice", "Advice", "What would lower the peak", "-advice.md"],
  ["openReport", "Report", "The whole report", "-report.md"],
  ["showMemoryMap", "Memory Map", "The memory map"],
  ["showFlameGraph", "Flame Graph", "What is live at the peak, by the calls that made it"],
  ["goToTruePeak", "Peak", "Go to the peak in the text"],
  ["compareWith", "Compare…", "Compare with another dump"],
  ["copyReport", "Copy", "Copy the report as Markdown"],
  ["saveMemoryMap", "Save…", "Save the memory map as HTML"],
];

/** Registers the view of pages, as soon as the server has their texts: VS Code shows the pages of an earlier session again. */
export function registerPages(server: Server, sets: Sets, tree: Tree): vscode.Disposable {
  const resolveCustomTextEditor = (document: vscode.TextDocument, panel: vscode.WebviewPanel) =>
    resolve(document, panel, server, sets, tree);
  let view: vscode.Disposable | undefined;
  const subscription = server.onDidStart(() => {
    view ??= vscode.window.registerCustomEditorProvider(VIEW_TYPE, { resolveCustomTextEditor });
  });
  return new vscode.Disposable(() => {
    subscription.dispose();
    view?.dispose();
  });
}

function resolve(
  document: vscode.TextDocument,
  panel: vscode.WebviewPanel,
  server: Server,
  sets: Sets,
  tree: Tree,
): void {
  const buttons = [...TOOLBAR.map(([command]) => command), "compareRuns", "explainOutOfMemory"].map(
    (name) => `${SECTION}.${name}`,
  );
  panel.webview.options = { enableCommandUris: [...LINKED_COMMANDS, ...COMMANDS, ...buttons] };
  const begin = latestOnly();
  const draw = async () => {
    const isLatest = begin();
    const overview = await sets.overview(document.uri);
    const known = overview && tree.changeOf(overview.uri);
    const html = await pageHtml(document, overview && headOf(document.uri, known));
    if (isLatest()) panel.webview.html = html;
    // The comparison of two big dumps takes seconds, as does reading the previous run.
    if (!overview || !document.uri.path.endsWith(ANSWER)) return;
    const change = known ?? (await tree.findChange(overview.uri));
    if (!change) return;
    const changes = await changesSince(server, change);
    const complete = await pageHtml(document, headOf(document.uri, change, changes));
    if (isLatest()) panel.webview.html = complete;
  };
  const subscription = vscode.workspace.onDidChangeTextDocument((event) => {
    if (event.document === document) void draw();
  });
  panel.onDidDispose(() => subscription.dispose());
  void draw();
}

/** What changed since the previous run of the program, in sentences. */
async function changesSince(server: Server, { before, uri }: Change): Promise<string[]> {
  const comparison = server.execute("xla-lens.brief", { question: "comparison", old: before.uri, uri });
  const text = await comparison.catch(() => undefined);
  const [head = ""] = (text ?? "").split("\n\n", 1);
  return head
    .split("\n")
    .slice(1, 1 + MOST_CHANGES)
    .map((sentence) => sentence.trim().replaceAll(FOLDERS, ""));
}

/** What a page about a dump begins with, as HTML. */
interface Head {
  toolbar: string;
  changed: string;
}

/** The buttons of a page about a dump, and what changed since the previous run of the program. */
function headOf(uri: vscode.Uri, change: Change | undefined, changes: readonly string[] = []): Head {
  const buttons = TOOLBAR.filter(([, , , page]) => !page || !uri.path.endsWith(page)).map(
    ([command, label, title]) =>
      `<a class="button" href="${commandUri(command, uri.toString())}" title="${title}">${label}</a>`,
  );
  const runs = change && { old: change.before.uri, new: change.uri };
  const compared = runs ? ` <a href="${commandUri("compareRuns", runs)}">What changed</a>` : "";
  const list = changes.length ? `<ul>${changes.map((one) => `<li>${escaped(one)}</li>`).join("")}</ul>` : "";
  const changed = change ? `<p>${escaped(change.text)}${compared}</p>${list}` : "";
  return { toolbar: `<nav aria-label="About this dump">${buttons.join(" ")}</nav>`, changed };
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

async function pageHtml(document: vscode.TextDocument, begin?: Head): Promise<string> {
  const given = [document.uri, MOST_RESOLVED];
  const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>("vscode.executeLinkProvider", ...given);
  const text = withLinks(document.getText(), document, links);
  const rendered = await vscode.commands.executeCommand<string>("markdown.api.render", text);
  const codes = [...document.getText().matchAll(/^(`{3,}).*\n([\s\S]*?)\n\1$/gm)].map(([, , code]) => code);
  // Without the editor's own Markdown extension there is the text.
  const copied = rendered.replaceAll(/<pre[\s\S]*?<\/pre>/g, (block) => withCopy(block, codes.shift()));
  const drawn = copied.replaceAll(BAR, '<span class="bar" aria-hidden="true">$&</span>');
  const divided = drawn.replaceAll(/<code>[^<]*<\/code>/g, (code) => code.replaceAll(CODE_PARTS, "$&<wbr>"));
  const named = divided.replaceAll(NO_HEADER, "<td></td>");
  // The text is made to be pasted below the heading of an issue, but here it is the whole page.
  const body = named.replaceAll(/(?<=<\/?h)[2-6](?=[ >])/g, (level) => `${Number(level) - 1}`);
  const head = `<title>${escaped(basename(document.uri.path))}</title>\n<style>${STYLE}</style>`;
  const { toolbar = "", changed = "" } = begin ?? {};
  return htmlOf("style-src 'unsafe-inline'", head, `${toolbar}<main>${changed}${body}</main>`);
}

/** The HTML of a webview that loads only what its policy allows. */
export function htmlOf(policy: string, head: string, body: string): string {
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; ${policy}">
${head}
</head>
<body>${body}</body>
</html>`;
}

/** Makes Markdown links of the links of a page, the last one first, so that their places stay right. */
function withLinks(text: string, document: vscode.TextDocument, links: readonly vscode.DocumentLink[]): string {
  let linked = text;
  for (const { range, target } of links.toSorted((one, other) => other.range.start.compareTo(one.range.start))) {
    const [start, end] = [document.offsetAt(range.start), document.offsetAt(range.end)];
    if (!target || (target.scheme === PAGE_SCHEME && target.fragment === "")) continue;
    const href = target.scheme === "command" ? target.toString() : commandUri("openLink", target.toString());
    linked = `${linked.slice(0, start)}[${linked.slice(start, end)}](${href})${linked.slice(end)}`;
  }
  return linked;
}

/** Adds a button that copies a block of code. */
function withCopy(block: string, code = ""): string {
  return `<div class="code">${block}<a class="copy" href="${commandUri("copyCode", code)}">Copy</a></div>`;
}

const STYLE = `
body { max-width: 60rem; padding: 0.4rem 1.2rem 2rem; line-height: 1.45; overflow-wrap: anywhere; }
h1 { font-size: 1.4em; margin: 0.5em 0 0.3em; }
h2 { font-size: 1.15em; margin: 1.1em 0 0.3em; }
p, ul { margin: 0.5em 0; }
ul { padding-left: 1.2em; }
h3 { font-size: 1.05em; margin: 1.8em 0 0.5em; padding-top: 0.9em; border-top: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)); }
code { font-size: 0.95em; color: var(--vscode-editor-foreground); background: var(--vscode-textCodeBlock-background); }
a code { padding: 0; color: inherit; background: none; }
main a:not(.copy) { text-decoration: underline; }
pre { margin: 0; padding: 0.6em 0.8em; overflow-x: auto; background: var(--vscode-textCodeBlock-background); border-radius: 4px; }
pre code { background: none; }
.code { position: relative; margin: 0.6em 0; }
.bar { white-space: nowrap; }
nav { display: flex; flex-wrap: wrap; gap: 0.3em; }
.button { padding: 0.1em 0.5em; border: 1px solid var(--vscode-contrastBorder, var(--vscode-widget-border, var(--vscode-panel-border))); border-radius: 3px; text-decoration: none; color: var(--vscode-button-secondaryForeground, var(--vscode-button-foreground)); background: var(--vscode-button-secondaryBackground, var(--vscode-button-background)); }
main > p:first-child { margin: 0.5em 0 0; }
.copy { position: absolute; top: 0.4em; right: 0.5em; padding: 0.1em 0.6em; border-radius: 3px; text-decoration: none; color: var(--vscode-button-foreground); background: var(--vscode-button-background); }
table { border-collapse: collapse; margin: 0.4em 0; }
th { text-align: left; font-weight: 600; white-space: nowrap; }
/* Columns that may break words anywhere get too narrow to read. */
th, td { overflow-wrap: break-word; padding: 0.1em 0.8em 0.1em 0; vertical-align: top; border-bottom: 1px solid var(--vscode-widget-border, var(--vscode-panel-border)); }
td[style*="right"] { white-space: nowrap; }
@media (max-width: 30rem) { .bar { display: none; } }
summary { cursor: pointer; font-weight: 600; margin-top: 1.4em; }
`;
