"""`xla-lens unknown`: the text that XLA Lens does not know, with counts."""

import json
import re
from pathlib import Path
from typing import Any

from commands import run
from samples import DUMPS, TPU
from xla_lens import __version__


def _run(*arguments: object) -> tuple[int, str]:
    return run("unknown", *arguments)[:2]


def _forms(folder: Path) -> Any:
    status, out = _run(folder, "--output-format", "json")
    assert status == 1
    return [(one["count"], one["kind"], one["file"], one["section"], one["form"]) for one in json.loads(out)]


def _changed(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """A copy of a dump in which some text is replaced: by the end of a file's name, what and by what."""
    for file in TPU.parent.glob("*.txt"):
        text = file.read_text()
        for end, (before, after) in changes.items():
            if file.name.endswith(end):
                assert before in text
                text = text.replace(before, after)
        (folder / file.name).write_text(text)
    return folder


def test_all_dumps_are_known() -> None:
    status, out = _run(DUMPS)
    assert status == 0
    dumps = [*DUMPS.rglob("*-buffer-assignment.txt"), *(DUMPS / "seeds").glob("*.txt")]
    assert out == f"xla-lens {__version__}: {len(dumps)} dumps checked, no unknown text\n"


def test_lists_each_form_once_with_its_count(tmp_path: Path) -> None:
    folder = _changed(
        tmp_path,
        {
            "-live-range.txt": ("  BufferLiveRange:\n", "  BufferLiveRange:\n    pool 3 of x\n    pool 17 of x\n"),
            "-assignment.txt": (", page 0, preallocated", ', page 0, pinned by "x y", preallocated'),
            "-values.txt": ("{1,0:T(8,128)}", "{1,0:T(8,128)Q{3}}"),
        },
    )
    values = next(folder.glob("*-values.txt")).read_text()
    arenas = next(folder.glob("*-assignment.txt")).read_text().count("pinned by")
    quotes = [line for line in values.splitlines() if line.startswith(" from instruction:") and "Q{3}" in line]
    found = _forms(folder)
    assert sum(count for count, *_ in found) == 2 + arenas + len(quotes)
    assert (2, "line", "live-range", "buffer_live_ranges", "    pool N of x") in found
    assert (arenas, "part of a line", "buffer-assignment", "buffer_assignment", 'pinned by "…"') in found
    assert {(kind, file) for _, kind, file, *_ in found} == {
        ("line", "live-range"),
        ("part of a line", "buffer-assignment"),
        ("instruction", "values"),
    }
    assert all("Q{N}" in form for _, kind, *_, form in found if kind == "instruction")
    assert [count for count, *_ in found] == sorted((count for count, *_ in found), reverse=True)


def test_lists_what_is_unknown_in_the_module(tmp_path: Path) -> None:
    folder = _changed(tmp_path, {})
    (module,) = (file for file in folder.glob("*after_optimizations.txt"))
    text, count = re.subn(r"\bcopy-start\(", "hoist-start(", module.read_text())
    entry = re.search(r"^ENTRY .*\n", text, re.MULTILINE)
    assert count
    assert entry
    added = "  pragma inline 3\n  pragma inline 14\n  %zork.3 = f32[3]{0:Q{3}} add(%a, %b)\n"
    module.write_text(f"FileNames 2\n{text[: entry.end()]}{added}{text[entry.end() :]}")
    found = _forms(folder)
    assert sorted(found) == sorted(
        [
            (1, "line", "hlo", None, "FileNames N"),
            (2, "line", "hlo", None, "  pragma inline N"),
            (count, "opcode", "hlo", None, "hoist-start"),
            (1, "instruction", "hlo", None, next(form for *_, form in found if "Q" in form)),
        ]
    )
    assert f"{count} × opcode of an HLO module\n  form   hoist-start\n  first  {module}:" in _run(folder)[1]
