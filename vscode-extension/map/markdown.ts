/**
 * Renders Markdown as elements, without HTML text in between. A link keeps its target as data, since only the editor can
 * follow it.
 */

import MarkdownIt from "markdown-it";
import type Token from "markdown-it/lib/token.mjs";
import { make } from "./dom";

const parser = new MarkdownIt({ html: false, linkify: false }).disable(["image"]);
// The extension decides which links it follows; Markdown-it would drop links to commands and files.
parser.validateLink = () => true;
const BLOCKS = new Set(["fence", "code_block"]);

export function elementsOf(markdown: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  append(fragment, parser.parse(markdown, {}));
  return fragment;
}

function linkTo(token: Token): HTMLElement {
  return make("a", { href: "#", "data-href": token.attrGet("href") ?? "" });
}

function append(root: Node, tokens: Token[]): void {
  const open: Node[] = [root];
  const leaf = (node: Node | string) => open.at(-1)!.appendChild(typeof node === "string" ? new Text(node) : node);
  for (const token of tokens) {
    if (token.nesting > 0) open.push(leaf(token.tag === "a" ? linkTo(token) : document.createElement(token.tag)));
    else if (token.nesting < 0) open.pop();
    else if (token.type === "inline") append(open.at(-1)!, token.children ?? []);
    else if (token.type === "code_inline") leaf(make("code", {}, token.content));
    else if (BLOCKS.has(token.type)) leaf(make("pre", {}, make("code", {}, token.content)));
    else if (token.type === "softbreak") leaf(" ");
    else if (token.tag) leaf(document.createElement(token.tag));
    else leaf(token.content);
  }
}
