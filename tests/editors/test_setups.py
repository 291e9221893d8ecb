"""Check the set-ups in docs/editors.md for editors that cannot run here."""

import fnmatch
import json
import re
import tomllib
from pathlib import Path

from editors.driving import Home, setup_block
from samples import DUMPS, dump_paths

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
    assert languages["language"] == [
        {
            "name": name,
            "scope": scope,
            "file-types": [{"glob": pattern} for pattern in patterns],
            "language-servers": ["xla-lens"],
        }
        for name, scope, patterns in (("xla-dump", "text.xla-dump", _PATTERNS), ("hlo", "source.hlo", _MODULES))
    ]


def test_zed_setup_is_valid(home: Home, tmp_path: Path) -> None:
    home.paste(setup_block("Zed", "sh"), tmp_path)
    folder = home.folder / "xla-lens-zed"
    manifest = tomllib.loads((folder / "extension.toml").read_text())
    assert {"id", "name", "version", "schema_version"} <= manifest.keys()
    (server,) = manifest["language_servers"].values()
    (language,) = (tomllib.loads(path.read_text()) for path in folder.glob("languages/*/config.toml"))
    assert server["languages"] == [language["name"]]
    assert server["language_ids"] == {language["name"]: "xla-dump"}
    package = tomllib.loads((folder / "Cargo.toml").read_text())
    assert package["lib"]["crate-type"] == ["cdylib"]
    source = (folder / "src" / "lib.rs").read_text()
    (name,) = re.findall(r"^struct (\w+);", source, re.MULTILINE)
    assert f"zed::register_extension!({name});" in source
    settings = json.loads(setup_block("Zed", "json"))
    assert settings["file_types"] == {language["name"]: _PATTERNS + _MODULES}
    assert settings["languages"].keys() == {language["name"]}


def test_kate_setup_is_valid() -> None:
    extensions = re.search(r'extensions="([^"]*)"', setup_block("Kate", "xml"))
    assert extensions
    assert extensions.group(1).split(";") == _PATTERNS + _MODULES
