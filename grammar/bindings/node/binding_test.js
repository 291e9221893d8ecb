import assert from "node:assert";
import { test } from "node:test";
import Parser from "tree-sitter";
import { hlo, xla_dump } from "./index.js";

const texts = [
  [xla_dump, "HloLiveRange (max 1):\n  InstructionSequence:\n    0:p0\n"],
  [hlo, "HloModule f\n\nENTRY main {\n  ROOT p0 = f32[2]{0} parameter(0)\n}\n"],
];

for (const [grammar, text] of texts) {
  test(`can load ${grammar.nodeTypeInfo.length} types of nodes`, () => {
    const parser = new Parser();
    parser.setLanguage(grammar);
    const { rootNode } = parser.parse(text);
    assert.equal(rootNode.hasError, false);
    assert.ok(new Parser.Query(grammar, grammar.HIGHLIGHTS_QUERY).captures(rootNode).length > 2);
  });
}
