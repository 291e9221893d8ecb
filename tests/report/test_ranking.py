"""`xla-lens report` of several dumps: the ranking, and the full report of the worst one."""

import base64
import gzip
import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from commands import run
from samples import DUMPS, SPLIT, analysis_of, facts, space_facts
from xla_lens.blocks.blocks import Table, plain_text
from xla_lens.disk.sets import find_sets
from xla_lens.report.data import ranked_data, report_data
from xla_lens.report.facts import report
from xla_lens.report.options import ReportOptions, SortKey
from xla_lens.report.ranking import compiled_again, ranked_module, ranking
from xla_lens.report.ranking_table import ranking_outline
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.numbers import human


def _json(*arguments: object) -> list[dict[str, Any]]:
    reports: list[dict[str, Any]] = json.loads(run("report", *arguments, "--output-format", "json")[1])
    return reports


def _peak(fact: dict[str, Any]) -> int:
    return max((space.get("peak_live_bytes", 0) for space in space_facts(fact) if space["color"] == 0), default=0)


def test_folders_are_ranked_by_the_facts() -> None:
    # The oldest dumps have no live ranges, so that their peak is unknown.
    known = [_peak(fact) for fact in facts(DUMPS) if fact["printed"]["peak_step"] is not None]
    head, table, report = run("report", DUMPS)[1].split("\n\n", 2)
    assert head.startswith(f"{len(find_sets(DUMPS))} modules in {DUMPS}\n")
    # The full report of the worst one does not scroll the ranking away.
    assert len(f"{head}\n{table}".splitlines()) <= 26
    assert len(report.splitlines()) <= 40
    assert report.count("of it is live at once, at step ") == 1
    assert human(max(known)) in table
    command = re.search(r"^`xla-lens (report .*)`\s+shows\s+the\s+whole\s+report\.$", report, re.MULTILINE)
    assert command
    assert run(*shlex.split(command[1]))[1].startswith("\n".join(report.splitlines()[:4]))
    reports = _json(DUMPS)
    peaks = [one["memory_spaces"][0]["peak_live_bytes"] for one in reports if one["memory_spaces"]]
    exact = [peak for peak in peaks if peak is not None]
    assert exact == sorted(exact, reverse=True)
    # The facts leave out some of the smaller sets.
    assert not Counter(known) - Counter(exact)
    assert [one["rank"] for one in reports] == list(range(1, len(find_sets(DUMPS)) + 1))
    # Only the worst one has the parts of a report.
    assert ["live_at_peak" in one["memory_spaces"][0] for one in reports if one["memory_spaces"]].index(False) == 1


def test_modules_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for name in ("old/run/a", "new/run/a", "new/run/b"):
        shutil.copytree(DUMPS / "cpu-jaxlib0.12.0.1" / "mlp_train", tmp_path / name)
    rows = re.findall(r" jit_train_step .* (\S+)$", run("report", tmp_path)[1], re.MULTILINE)
    assert sorted(rows) == ["new/run/a", "new/run/b", "old/run/a"]


def test_modules_with_the_same_peak_are_ranked_by_their_needs_and_their_values() -> None:
    step = ranked_module(analysis_of(SPLIT), [SPLIT.as_posix()])
    fill = replace(step, name="jit_broadcast_in_dim", value_count=2)
    bigger = replace(fill, space=replace(step.space, needed_bytes=step.space.needed_bytes + 1), name="jit_z")
    ranked = ranking([fill, step, bigger], SortKey.PEAK, None, 0)
    assert [one.name for one in ranked.modules] == ["jit_z", "jit_train_step", "jit_broadcast_in_dim"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            (("w", "f32[8,8]"), ("x", "f32[2,8]")),
            "jit_train_step was compiled twice (0006 and 0010), for other shapes: x is f32[4,8], then f32[2,8].",
        ),
        ((("w", "f32[8,8]"),), "jit_train_step was compiled twice (0006 and 0010), with 2 arguments, then with 1."),
        (
            (("w", "f32[8,8]"), ("x", "f32[4,8]")),
            "jit_train_step was compiled twice (0006 and 0010), for arguments of the same shapes: something else "
            "differs, such as a static argument or a sharding.",
        ),
        (None, "jit_train_step was compiled twice (0006 and 0010)."),
    ],
)
def test_why_a_module_was_compiled_twice(arguments: tuple[tuple[str, str], ...] | None, words: str) -> None:
    step = ranked_module(analysis_of(SPLIT), [SPLIT.as_posix()])
    first = replace(step, number=6, arguments=(("w", "f32[8,8]"), ("x", "f32[4,8]")))
    other_folder = replace(first, files=("other/module_0006.txt",))
    for again in (replace(first, number=10, arguments=arguments), other_folder):
        ranked = ranking([again, first], SortKey.PEAK, None, 0)
        (section,) = ranking_outline(ranked, "dumps", None).parts[0]
        sentences = [plain_text(block) for block in section.blocks if not isinstance(block, Table)]
        # A program in another folder is of another run.
        assert sentences == ([] if again is other_folder else [words])
    (twice,) = compiled_again([first, replace(first, number=10, arguments=arguments)])
    data = report_data(report(analysis_of(SPLIT), {}, ReportOptions(parts=frozenset())))
    found = ranked_data(data, first, 1, twice).compiled_again
    assert found
    assert (found.numbers, found.words, found.argument) == ([6, 10], words, "x" if "x is" in words else None)


def test_small_modules_that_were_compiled_twice_are_not_worth_a_sentence() -> None:
    step = ranked_module(analysis_of(SPLIT), [SPLIT.as_posix()])
    small = replace(step, name="jit_add", peak_bytes=1, arguments=(("x", "f32[4]"),), number=2)
    ranked = ranking([step, small, replace(small, arguments=(("x", "f32[8]"),))], SortKey.PEAK, None, 0)
    (section,) = ranking_outline(ranked, "dumps", None).parts[0]
    assert all(isinstance(block, Table) for block in section.blocks)


def test_arguments_of_a_module_have_their_names_and_shapes() -> None:
    arguments = ranked_module(analysis_of(SPLIT), [SPLIT.as_posix()]).arguments
    assert arguments
    assert len(arguments) == (analysis_of(SPLIT).dump.allocations.parameter >= 0).sum()
    assert all(re.fullmatch(r"[\w.]+?", name) and "{" not in shape for name, shape in arguments)


def test_a_module_that_does_not_fit_the_budget_comes_first() -> None:
    analysis, files = analysis_of(SPLIT), [SPLIT.as_posix()]
    needed = ranked_module(analysis, files).space.needed_bytes
    # Fits, with a higher peak.
    fits = replace(ranked_module(analysis, files, needed), name="jit_normal", peak_bytes=needed)
    ranked = ranking([fits, ranked_module(analysis, files, needed - 1)], SortKey.PEAK, None, 0)
    assert [one.over_bytes for one in ranked.modules] == [1, 0]


def test_all_and_module_select_the_full_reports() -> None:
    folder = DUMPS / "cpu-jaxlib0.4.20" / "donation"
    names = ["jit_f", "jit_mismatch", "jit_swap", "jit_same"]
    text = run("report", folder, "--all")[1]
    assert {line for line in text.splitlines() if line.startswith("jit_")} == set(names)
    assert text.startswith("4 modules in ")
    text = run("report", folder, "--module", "jit_s")[1]
    assert [line for line in text.splitlines() if line.startswith("jit_")] == ["jit_swap", "jit_same"]
    for pattern in ("2", "swap$"):
        text = run("report", folder, "--module", pattern)[1]
        assert text.startswith("jit_swap\n  It needs ")
    reports = _json(folder, "--sort", "name")
    assert [one["module"] for one in reports] == sorted(names)
    assert [one["number"] for one in _json(folder, "--sort", "file")] == [0, 1, 2, 3]
    assert all("live_at_peak" in one["memory_spaces"][0] for one in _json(folder, "--all"))


def test_incomplete_modules_are_never_folded_away(tmp_path: Path) -> None:
    shutil.copytree(DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "host_offload", tmp_path / "big")
    shutil.copytree(DUMPS / "cpu-jaxlib0.12.0.1" / "nested_tuples", tmp_path / "small")
    (files,) = find_sets(tmp_path / "small")
    path = files.paths[FileKind.LIVE_RANGE]
    text = path.read_bytes()
    path.write_bytes(text[: text.index(b"  Live ranges at ") - 40])
    status, shown, _ = run("report", tmp_path)
    assert status == 1
    assert "1 is incomplete, 1 has errors." in shown
    assert re.search(r"≥ .* jit_tuple_while .* dump is cut off, 1 error", shown)
    assert run("report", tmp_path, "--budget", "10MiB")[1].splitlines()[1].startswith("  1 does not fit into 10 MiB, ")


def test_markdown_and_html_have_the_ranking() -> None:
    folder = DUMPS / "cpu-jaxlib0.4.20" / "donation"
    markdown = run("report", folder, "--output-format", "markdown")[1]
    assert markdown.startswith(f"## 4 modules in `{folder}`\n")
    assert markdown.count("\n## ") == 1
    page = run("report", folder, "--output-format", "html")[1]
    links = re.findall(r'<a href="(\?(?:map=\d)?)">(\w+)</a>', page)
    maps = re.findall(r'<script id="memory-map(?:-(\d))?" type="[^"]*">([^<]*)<', page)
    assert [link for link, _ in links] == ["?", "?map=2", "?map=3", "?map=4"]
    assert [number for number, _ in maps] == ["", "2", "3", "4"]
    drawn = [json.loads(gzip.decompress(base64.b64decode(packed))) for _, packed in maps]
    assert [one["module"] for one in drawn] == [name for _, name in links]
