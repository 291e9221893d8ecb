"""The extension for VS Code agrees with the server: settings, commands, languages, and the generated protocol."""

import json
import re
import runpy
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

import xla_lens
from samples import DUMPS, ROOT
from xla_lens.lsp.capabilities import COMMANDS, TOKENS
from xla_lens.lsp.settings import SECTION, Settings, read_settings
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.file_names import SUFFIXES, FileKind, split_name

EXTENSION = ROOT / "vscode-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
CONTRIBUTED: dict[str, Any] = MANIFEST["contributes"]
SETTINGS: dict[str, dict[str, Any]] = CONTRIBUTED["configuration"]["properties"]
CLIENT_SETTINGS = {"xla-lens.server.python", "xla-lens.trace.server"}


def test_versions_agree() -> None:
    assert MANIFEST["version"] == xla_lens.__version__


_OLD_SETTINGS = {name for name, one in SETTINGS.items() if "deprecationMessage" in one}


def test_settings_have_the_names_and_defaults_of_the_server() -> None:
    # No setting accepts a bare object, so that the complaints list all names.
    current = SETTINGS.keys() - CLIENT_SETTINGS - _OLD_SETTINGS
    names = {name.removeprefix(f"{SECTION}.") for name in current}
    _, complaints = read_settings({name: object() for name in names})
    assert {complaint.split(":")[0] for complaint in complaints} == current
    documented = set(re.findall(r"`(?:xla-lens\.)?(\w+\.\w+)`", (ROOT / "docs" / "editors.md").read_text()))
    assert names <= documented
    defaults, wrong = read_settings({name: SETTINGS[f"{SECTION}.{name}"]["default"] for name in names})
    # In other editors, users turn on hints in files that are not dumps.
    assert (defaults, wrong) == (replace(Settings(), source_lines=True), [])


@pytest.mark.parametrize("name", ["package.json", "README.md"])
def test_all_settings_are_documented(name: str) -> None:
    text = (EXTENSION / name).read_text()
    assert [setting for setting in SETTINGS if setting not in text and setting not in _OLD_SETTINGS] == []
    assert [name for name, one in SETTINGS.items() if not (one.keys() & {"description", "markdownDescription"})] == []


def test_commands_have_names_of_their_own() -> None:
    """The compiler checks that the extension has a function for each command, and `test/run.mjs` the manifest."""
    declared = {command["command"] for command in CONTRIBUTED["commands"]}
    # The language client registers the commands of the server under their own names.
    assert not declared & set(COMMANDS)
    assert set(re.findall(r"command:(xla-lens\.\w+)\)", (EXTENSION / "package.json").read_text())) <= declared


def test_semantic_token_scopes_use_tokens_of_the_server() -> None:
    assert {one["id"] for one in CONTRIBUTED["semanticTokenModifiers"]} == set(TOKENS.token_modifiers) - {"definition"}
    for scopes in CONTRIBUTED["semanticTokenScopes"]:
        for selector in scopes["scopes"]:
            kind, *modifiers = selector.split(".")
            assert kind in TOKENS.token_types
            assert set(modifiers) <= set(TOKENS.token_modifiers)


def _languages(name: str) -> list[str]:
    return [
        language["id"]
        for language in CONTRIBUTED["languages"]
        if any(fnmatchcase(name, pattern) for pattern in language["filenamePatterns"])
    ]


def test_file_names_of_dumps_have_their_language() -> None:
    checked = 0
    for path in DUMPS.rglob("*.txt"):
        if split_name(path.name)[1] or "optimizations" in path.name:
            is_module = kind_of_content(path.read_bytes()[:4096]) is FileKind.HLO
            assert _languages(path.name) == ["hlo" if is_module else "xla-dump"], path
            checked += 1
    assert checked > 50
    assert _languages("notes.txt") == []


@pytest.mark.parametrize(
    "name",
    [
        "module_0001.jit_f.before_optimizations.txt",
        "module_0001.jit_f.cl_1003875606.after_optimizations_before_buffer_assignment.txt",
        "module_0001.jit_f.cl_1003875606.after_optimizations_after_buffer_assignment.txt",
        "module_0001.jit_f.cl_1003875606.after_codegen.txt",
        "module_0001.jit_f.0003.fusion.after_cse.before_dce.txt",
    ],
)
def test_modules_of_other_compiler_stages_are_hlo(name: str) -> None:
    assert _languages(name) == ["hlo"]


def test_files_named_in_the_manifest_exist() -> None:
    named = set(re.findall(r'"\./([^"]+)"|"(media/[^"]+)"', (EXTENSION / "package.json").read_text()))
    paths = {Path(one or other) for one, other in named} - {Path("dist/extension.js")}
    paths |= {Path(name) for name in re.findall(r"\]\((media/[^)]+)\)", (EXTENSION / "README.md").read_text())}
    assert sorted(str(path) for path in paths if not (EXTENSION / path).is_file()) == []


def test_patterns_of_package_json_match_the_file_names_of_the_server() -> None:
    suffixes = [suffix for kind, suffix in SUFFIXES.items() if kind is not FileKind.HLO]
    (dumps,) = (one for one in CONTRIBUTED["languages"] if one["id"] == "xla-dump")
    assert sorted(dumps["filenamePatterns"]) == sorted(f"*{suffix}" for suffix in suffixes)
    clauses = {entry["when"] for name in ("editor/title", "editor/context") for entry in CONTRIBUTED["menus"][name]}
    (pattern,) = {match for clause in clauses for match in re.findall(r"resourceFilename =~ /(.+)/$", clause)}
    assert [suffix for suffix in suffixes if not re.search(pattern, f"module{suffix}")] == []


def test_the_generated_protocol_is_current() -> None:
    made = runpy.run_path(str(EXTENSION / "generate_protocol.py"))["protocol"]()
    assert (EXTENSION / "shared" / "protocol.ts").read_text() == made, "stale; run: python generate_protocol.py"
