"""`dist/` as a whole: checksums, and the lists of what the packages contain. `make dist` runs these tests."""

import hashlib
import json
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).resolve().parents[2]
_DIST = Path(os.environ.get("XLA_LENS_DIST", _ROOT / "dist"))
_LISTS = sorted(_DIST.glob("*.cdx.json"))

pytestmark = pytest.mark.skipif(not (_DIST / "SHA256SUMS").exists(), reason="needs all packages: make dist")

validation = pytest.importorskip("cyclonedx.validation.json", reason="needs the tools of a release: make dist")
schema = pytest.importorskip("cyclonedx.schema")


def test_checksums_are_those_of_all_files() -> None:
    lines = (_DIST / "SHA256SUMS").read_text().splitlines()
    sums = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = {path.name: path for path in _DIST.iterdir() if path.name != "SHA256SUMS"}
    assert sums == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def test_everything_is_there() -> None:
    version = json.loads((_ROOT / "vscode-extension" / "package.json").read_text())["version"]
    names = {path.name for path in _DIST.iterdir()}
    assert len(list(_DIST.glob(f"xla_lens-{version}-cp311-abi3-*.whl"))) == 8
    extensions = {path.stem for path in _DIST.glob("*.vsix")}
    assert len(extensions) == 7
    lists = {f"{name}.cdx.json" for name in (*extensions, "xla-lens")}
    grammars = {"tree-sitter-xla.tar.gz", f"tree_sitter_xla-{version}.tar.gz"}
    grammars |= {f"tree-sitter-{name}.wasm" for name in ("xla_dump", "hlo")}
    others = {name for name in names if not name.endswith((".whl", ".vsix"))}
    assert others == lists | grammars | {f"xla_lens-{version}.tar.gz", "SHA256SUMS"}


@pytest.mark.parametrize("path", _LISTS, ids=lambda path: str(path.stem))
def test_list_of_contents_is_valid_and_complete(path: Path) -> None:
    text = path.read_text()
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(text) is None
    described: dict[str, Any] = json.loads(text)
    files = described["metadata"]["component"]["components"]
    assert files
    for file in files:
        assert file["hashes"][0]["content"] == hashlib.sha256((_DIST / file["name"]).read_bytes()).hexdigest()
    listed = {one["name"].lower().replace("_", "-"): one for one in described["components"]}
    assert [one["name"] for one in described["components"] if "purl" in one and not one.get("licenses")] == []
    assert "markdown-it" in listed
    with zipfile.ZipFile(_DIST / files[0]["name"]) as archive:
        names = archive.namelist()
        folders = {found[1] for name in names if (found := re.search(r"libraries/(\w+)-[\d.]+\.dist-info/", name))}
        assert {name.replace("_", "-") for name in folders} - {"xla-lens"} <= listed.keys()
        notices = "extension/dist/ThirdPartyNotices.txt"
        if notices in names:
            # The heading of each notice stands alone between a line of dashes and an empty line.
            headings = re.findall(r"(?:\A|\n----\n\n)(\S+)\n\n", archive.read(notices).decode())
            assert {"vscode-languageclient", *headings} <= listed.keys()
    if "linux-x64" in path.name:
        assert any("openblas" in name for name in listed)
        assert {"attrs", "cattrs", "lsprotocol", "numpy", "pygls", "tree-sitter", "typing-extensions"} <= listed.keys()
