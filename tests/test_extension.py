"""The extension for VS Code says of the server, in `package.json`, what the server says of itself."""

import json
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

import xla_lens
from samples import DUMPS, ROOT
from xla_lens.lsp.methods import TOKEN_MODIFIERS, TOKEN_TYPES, Command
from xla_lens.lsp.settings import SECTION, Settings, read_settings
from xla_lens.model.tables.dump_files import kind_of_content
from xla_lens.syntax.file_names import FileKind, split_name

EXTENSION = ROOT / "vscode-extension"
MANIFEST: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text())
CONTRIBUTED: dict[str, Any] = MANIFEST["contributes"]
SETTINGS: dict[str, dict[str, Any]] = CONTRIBUTED["configuration"]["properties"]
OF_THE_CLIENT = {"xla-lens.server.python", "xla-lens.trace.server"}


def test_versions_agree() -> None:
    assert MANIFEST["version"] == xla_lens.__version__


def test_settings_are_those_of_the_server_with_its_defaults() -> None:
    # A value of a kind that no setting has is complained about under the name of the setting: so they tell themselves.
    names = {name.removeprefix(f"{SECTION}.") for name in SETTINGS.keys() - OF_THE_CLIENT}
    _, complaints = read_settings({name: object() for name in names})
    assert {complaint.split()[0] for complaint in complaints} == SETTINGS.keys() - OF_THE_CLIENT
    documented = set(re.findall(r"`(?:xla-lens\.)?(\w+\.\w+)`", (ROOT / "docs" / "editors.md").read_text()))
    assert names <= documented
    defaults, wrong = read_settings({name: SETTINGS[f"{SECTION}.{name}"]["default"] for name in names})
    assert (defaults, wrong) == (Settings(), [])


@pytest.mark.parametrize("name", ["package.json", "README.md"])
def test_each_setting_is_described(name: str) -> None:
    text = (EXTENSION / name).read_text()
    assert [setting for setting in SETTINGS if setting not in text] == []
    assert [name for name, one in SETTINGS.items() if not (one.keys() & {"description", "markdownDescription"})] == []


def test_commands_are_declared_once_and_registered() -> None:
    declared = [command["command"] for command in CONTRIBUTED["commands"]]
    assert len(declared) == len(set(declared))
    # Those of the server are registered by the client of the protocol under their own names.
    assert not set(declared) & set(Command)
    used = {
        *(entry["command"] for entries in CONTRIBUTED["menus"].values() for entry in entries),
        *(entry["command"] for entry in CONTRIBUTED["keybindings"]),
        *re.findall(r"command:(xla-lens\.\w+)\)", (EXTENSION / "package.json").read_text()),
    }
    assert used <= set(declared)
    source = (EXTENSION / "src" / "commands.ts").read_text()
    registered = set(re.findall(r"^  async (\w+)\(\{", source, re.M)) | set(re.findall(r'register\("(\w+)"', source))
    assert set(declared) <= {f"{SECTION}.{name}" for name in registered}


def test_colours_are_those_that_the_server_tells() -> None:
    assert {one["id"] for one in CONTRIBUTED["semanticTokenModifiers"]} == set(TOKEN_MODIFIERS) - {"definition"}
    for scopes in CONTRIBUTED["semanticTokenScopes"]:
        for selector in scopes["scopes"]:
            kind, *modifiers = selector.split(".")
            assert kind in {one.value for one in TOKEN_TYPES}
            assert set(modifiers) <= set(TOKEN_MODIFIERS)


def _languages(name: str) -> list[str]:
    return [
        language["id"]
        for language in CONTRIBUTED["languages"]
        if any(fnmatchcase(name, pattern) for pattern in language["filenamePatterns"])
    ]


def test_languages_are_told_by_the_names_of_files() -> None:
    told = 0
    for path in DUMPS.rglob("*.txt"):
        if split_name(path.name)[1] or "optimizations" in path.name:
            is_module = kind_of_content(path.read_bytes()[:4096]) is FileKind.HLO
            assert _languages(path.name) == ["hlo" if is_module else "xla-dump"], path
            told += 1
    assert told > 50
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
def test_other_stages_of_a_module_are_hlo(name: str) -> None:
    assert _languages(name) == ["hlo"]


def test_files_that_the_manifest_names_are_there() -> None:
    named = set(re.findall(r'"\./([^"]+)"|"(media/[^"]+)"', (EXTENSION / "package.json").read_text()))
    paths = {Path(one or other) for one, other in named} - {Path("dist/extension.js")}
    paths |= {Path(name) for name in re.findall(r"\]\((media/[^)]+)\)", (EXTENSION / "README.md").read_text())}
    assert sorted(str(path) for path in paths if not (EXTENSION / path).is_file()) == []
