/** The TextMate grammars, which color a file before the server answers, on all dumps of the tests. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { loadWASM, OnigScanner, OnigString } from "vscode-oniguruma";
import { type IGrammar, INITIAL, parseRawGrammar, Registry } from "vscode-textmate";

import manifest from "../../package.json";
import { languageOfLines, languageOfPath } from "../../src/recognition";

const EXTENSION = process.cwd();
const DECLARED = manifest.contributes.languages;
const DUMPS = join(EXTENSION, "..", "tests", "dumps");
const SCOPES = { "xla-dump": "text.xla-dump", hlo: "source.hlo" } as const;
/** `editor.maxTokenizationLineLength` in `package.json`: VS Code does not color longer lines. */
const MAX_LENGTH = manifest.contributes.configurationDefaults["[xla-dump]"]["editor.maxTokenizationLineLength"];

const registry = new Registry({
  onigLib: Promise.resolve({
    createOnigScanner: (patterns) => new OnigScanner(patterns),
    createOnigString: (text) => new OnigString(text),
  }),
  async loadGrammar(scope) {
    const language = Object.entries(SCOPES).find(([, name]) => name === scope)?.[0];
    if (!language) return null;
    const path = join(EXTENSION, "languages", `${language}.tmLanguage.json`);
    return parseRawGrammar(readFileSync(path, "utf8"), path);
  },
});

before(async () => {
  const wasm = readFileSync(join(EXTENSION, "node_modules", "vscode-oniguruma", "release", "onig.wasm"));
  await loadWASM(wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) as ArrayBuffer);
});

/** The tokens of a line with their innermost scopes, without the name of the language. */
function scopesOf(grammar: IGrammar, line: string): [string, string][] {
  return grammar.tokenizeLine(line, INITIAL).tokens.map(({ startIndex, endIndex, scopes }) => {
    const scope = scopes.at(-1) ?? "";
    return [line.slice(startIndex, endIndex), scopes.length === 1 ? "" : scope.replace(/\.(?:xla-dump|hlo)$/, "")];
  });
}

const files = readdirSync(DUMPS, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".txt"))
  .map((name) => ({ name, lines: readFileSync(join(DUMPS, name), "utf8").split("\n") }));

test("all dumps are recognized by their first lines, and their names agree", () => {
  for (const { name, lines } of files) {
    const language = languageOfLines(lines);
    assert.ok(language, name);
    assert.ok([language, undefined].includes(languageOfPath(name, DECLARED)), name);
  }
});

test("other texts are not recognized", () => {
  assert.equal(
    languageOfLines([
      "",
      "Dear reader,",
      "the word BufferAssignment: and",
      "",
      " HloModule are in the text",
      "HloModule f",
    ]),
    undefined,
  );
  assert.equal(languageOfLines(["a", "b", "c", "BufferAssignment:"]), undefined);
  assert.equal(languageOfLines([]), undefined);
  assert.equal(languageOfPath("/dumps/notes.txt", DECLARED), undefined);
});

for (const language of ["xla-dump", "hlo"] as const) {
  test(`98 % of the letters and digits of ${language} have a scope`, async () => {
    const grammar = await registry.loadGrammar(SCOPES[language]);
    assert.ok(grammar);
    let [all, plain] = [0, 0];
    const examples: string[] = [];
    for (const { lines } of files.filter((file) => languageOfLines(file.lines) === language)) {
      for (const line of lines.filter(({ length }) => length > 0 && length <= MAX_LENGTH)) {
        for (const [text, scope] of scopesOf(grammar, line)) {
          const words = text.match(/[\p{L}\p{N}_][\p{L}\p{N}_.-]*/gu)?.join("").length ?? 0;
          all += words;
          if (!scope) {
            plain += words;
            if (words && examples.length < 20)
              examples.push(`${text.trim().slice(0, 60)}     in ${line.slice(0, 120)}`);
          }
        }
      }
    }
    assert.ok(all > 100_000, `${all} characters`);
    assert.ok(plain < 0.02 * all, `${plain} of ${all} characters have no scope, such as\n${examples.join("\n")}`);
  });
}

test("tokens of a dump have the expected scopes", async () => {
  const grammar = await registry.loadGrammar(SCOPES["xla-dump"]);
  assert.ok(grammar);
  const scopes = (line: string) => Object.fromEntries(scopesOf(grammar, line).filter(([text]) => /\w/.test(text)));
  assert.deepEqual(scopes("    36:ynn_fusion.1"), {
    "36": "entity.name.label",
    "ynn_fusion.1": "entity.name.function",
  });
  assert.deepEqual(scopes("    dot{}:35-37"), {
    dot: "variable.other",
    "35": "entity.name.label",
    "37": "entity.name.label",
  });
  assert.equal(
    scopes(" value: <221 p.1 @0> (size=160,offset=32): f32[784,512]{1,0}")["f32[784,512]{1,0}"],
    "storage.type.shape",
  );
  assert.equal(scopes(" from instruction: %a.5 = f32[2] add(%b, %c)").add, "entity.name.function.opcode");
});
