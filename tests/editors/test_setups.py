"""Check the set-ups in docs/editors.md for editors that cannot run here."""

import ctypes
import fnmatch
import json
import tomllib

from tree_sitter import Query

from editors.driving import Home, setup_block
from samples import DUMPS, ROOT, dump_paths
from xla_lens.syntax.tree import HLO, XLA_DUMP

_KEYS = ["buffer-assignment", "buffer-assignment-values", "live-range", "memory-usage-report"]
_PATTERNS = [f"*-{key}.txt" for key in _KEYS]
_MODULES = ["*after_optimizations.txt", "*before_optimizations.txt"]


def test_the_patterns_match_the_names_of_dumps() -> None:
    names = [path.name for path in dump_paths(DUMPS) if "module_" in path.name]
    assert names
    assert all(any(fnmatch.fnmatch(name, pattern) for pattern in _PATTERNS) for name in names)


def test_helix_setup_is_valid() -> None:
    languages = tomllib.loads(setup_block("Helix", "toml"))
    assert languages["language-server"] == {"xla-lens": {"command": "xla-lens", "args": ["server"]}}
    dumps, modules = languages["language"]
    assert modules.pop("injection-regex") == "^hlo$"
    assert [dumps, modules] == [
        {
            "name": name,
            "scope": scope,
            "file-types": [{"glob": pattern} for pattern in patterns],
            "language-servers": ["xla-lens"],
        }
        for name, scope, patterns in (("xla-dump", "text.xla-dump", _PATTERNS), ("hlo", "source.hlo", _MODULES))
    ]


_LANGUAGES = {"xla_dump": XLA_DUMP, "hlo": HLO}
_QUERIES: list[Query] = []
"""Keeps the queries alive: the binding frees the predicates of a query twice (tree-sitter 0.26.1)."""


def test_helix_can_load_the_grammars(home: Home) -> None:
    home.paste(setup_block("Helix", "sh"), ROOT)
    runtime = home.folder / ".config" / "helix" / "runtime"
    for grammar, language in _LANGUAGES.items():
        name = grammar.replace("_", "-")
        library = ctypes.CDLL(str(runtime / "grammars" / f"{name}.so"))
        function = library[f"tree_sitter_{grammar}"]
        function.restype = ctypes.c_void_p
        assert function()
        _QUERIES.extend(Query(language, path.read_text()) for path in (runtime / "queries" / name).glob("*.scm"))


def test_zed_setup_is_valid(home: Home) -> None:
    home.paste(setup_block("Zed", "sh"), ROOT)
    folder = home.folder / "xla-lens-zed"
    manifest = tomllib.loads((folder / "extension.toml").read_text())
    assert {"id", "name", "version", "schema_version"} <= manifest.keys()
    (server,) = manifest["language_servers"].values()
    configs = [tomllib.loads(path.read_text()) for path in sorted(folder.glob("languages/*/config.toml"))]
    assert configs == [{"name": "HLO", "grammar": "hlo"}, {"name": "XLA Dump", "grammar": "xla_dump"}]
    assert server["language_ids"] == {"XLA Dump": "xla-dump", "HLO": "hlo"}
    assert sorted(server["languages"]) == [config["name"] for config in configs]
    for grammar, language in _LANGUAGES.items():
        source = manifest["grammars"][grammar]
        assert source["repository"] == ROOT.as_uri()
        assert (ROOT / source["path"] / "src" / "parser.c").is_file()
        _QUERIES.extend(Query(language, path.read_text()) for path in (folder / "languages" / grammar).glob("*.scm"))
    settings = json.loads(setup_block("Zed", "json"))
    assert settings["file_types"] == {"XLA Dump": _PATTERNS, "HLO": _MODULES}
    assert settings["languages"].keys() == set(server["languages"])
