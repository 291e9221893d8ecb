"""The README and the architecture name what exists, every link resolves, and the README fits a package index."""

import hashlib
import importlib.util
import re
import subprocess
from pathlib import Path

import pytest

from samples import ROOT, big_dumps, needs_shared_dumps
from xla_lens.cli.main import main

_LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")


def _documents() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split() or [str(path.relative_to(ROOT)) for path in ROOT.glob("*.md")]
    return [ROOT / name for name in names if (ROOT / name).exists()]


def _anchors(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", path.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", _documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_resolve(path: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in _LINK.findall(text):
        if re.match(r"[a-z-]+:", target):
            continue
        name, _, anchor = target.partition("#")
        found = (path.parent / name).resolve() if name else path
        assert found.exists(), target
        assert not anchor or anchor in _anchors(found), target


def _description(text: str, repository: str) -> str:
    spec = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    described = module.description(text, repository)
    assert isinstance(described, str)
    return described


def test_package_description_has_no_relative_links() -> None:
    text = (ROOT / "README.md").read_text()
    assert re.search(r"!\[[^\]]*\]\(docs/", text)
    without = _description(text, "")
    assert not [target for target in _LINK.findall(without) if not re.match(r"[a-z]+:|#", target)]
    assert "![" not in without
    assert "Reports: each part of a report" in without
    published = _description(text, "https://example.org/xla-lens")
    assert "](https://example.org/xla-lens/blob/HEAD/docs/reports.md)" in published
    assert re.search(r"!\[[^\]]*\]\(https://example\.org/xla-lens/raw/HEAD/docs/images/[\w-]+\.png\)", published)


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_picture_is_as_new_as_the_report() -> None:
    """`make screenshots` takes the picture, and writes the numbers that it shows to the text file beside it."""
    picture = ROOT / "docs" / "images" / "memory-map.png"
    digest, space = picture.with_suffix(".txt").read_text().splitlines()
    assert digest == hashlib.sha256(picture.read_bytes()).hexdigest()
    report = (ROOT / "README.md").read_text()
    sizes = re.search(r"It needs (\S+ GiB) of HBM\.\n  At most (\S+ GiB) are live", report)
    assert sizes
    assert space == f"needs {sizes[1]}, peak {sizes[2]}"


@pytest.mark.slow
@needs_shared_dumps
def test_readme_shows_a_real_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    block = re.search(
        r"^\$ xla-lens (report module_0000.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert block
    command, shown = block.group(1).split("\n", 1)
    (folder,) = big_dumps(tmp_path).glob("tpu-v5p-big-*/llama3_8b_unroll_L32")
    monkeypatch.chdir(folder)
    assert main(command.split()) == 0
    assert capsys.readouterr().out == shown


_PATH = re.compile(
    r"`((?:server|grammar|tests|vscode-extension|docs)/[\w./-]*\w/?)`|`((?:text|syntax|model|words|disk|blocks|advice|oom|report|diff|memory_map|editor|lsp|cli)/[\w./]+\.py)`"
)


def test_architecture_names_files_that_exist() -> None:
    text = (ROOT / "server" / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 150
    paths = [ROOT / whole if whole else ROOT / "server" / "xla_lens" / part for whole, part in _PATH.findall(text)]
    assert len(paths) > 20
    assert [str(path.relative_to(ROOT)) for path in paths if not path.exists()] == []
