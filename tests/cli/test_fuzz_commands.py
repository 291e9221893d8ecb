"""Commands on damaged dumps with fixed seeds. `python tests/fuzz.py commands` runs more seeds."""

import os
import random
from pathlib import Path
from typing import Any

import pytest

from commands import run
from fuzzing.commands import play_commands
from fuzzing.texts import ODD_PATHS, dump_sets
from samples import DUMPS, SPLIT, sweep
from xla_lens.cli.ci import CiReport
from xla_lens.cli.run_folder import create_folder
from xla_lens.cli.sources_of_findings import SourceLine
from xla_lens.report.options import CiFormat

_DUMPS = dump_sets(DUMPS, 10**5)


@pytest.mark.parametrize("seed", sweep(range(16), 16))
def test_commands_on_damaged_dumps_end_with_a_status(seed: int, tmp_path: Path) -> None:
    assert play_commands(random.Random(seed), tmp_path, _DUMPS, 10) == 20


@pytest.mark.parametrize("name", ["a" * 10_000, "a/" * 5_000, "\udcff" * 300, "loop", "loop/x.json"])
def test_paths_that_no_file_can_have_are_errors_of_one_line(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    dump = str(SPLIT)
    given: list[list[str]] = [
        ["report", name],
        ["check", name],
        ["advise", name],
        ["diff", name, dump],
        ["diff", dump, f"{name}x"],
        ["diff", f"{name}.json", dump],
        ["oom", name],
        ["oom", name, dump],
        ["annotate", name, dump],
        ["report", dump, "--output-file", name],
        ["run", "--out", name, "true"],
    ]
    for arguments in given:
        status, out, err = run(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1)
        assert err.startswith("xla-lens: ")
    assert os.listdir() == ["loop"]


def test_a_run_makes_any_number_of_nested_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = create_folder(Path(*["d"] * 1_200), None)
    folder.remove_if_empty()
    assert len(folder.made) == 1_200
    assert not list(tmp_path.iterdir())


def test_the_place_of_a_line_in_a_file_that_cannot_exist_is_unknown() -> None:
    def place(path: str) -> Any:
        return CiReport(CiFormat.GITHUB, Path("/"), ()).source_place(SourceLine(path, 1))

    paths = [path.decode("utf-8", "replace") for path in ODD_PATHS if path.startswith((b"\0", b"/a"))]
    assert [place(path) for path in paths] == [None] * 4
