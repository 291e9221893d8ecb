"""Programs that `crosscheck.py` compiled for all targets and with flags that change the dump: we find nothing wrong,
know all text, and get the needed bytes of the compiler's own memory analysis.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands import printed_json, run
from crosscheck.matrix import ROWS
from crosscheck.tables import target_table
from crosscheck.targets import analysis_bytes, row_problems

_HERE = Path(__file__).parent
_SIZES: dict[str, Any] = json.loads((_HERE / "targets.json").read_text())


def _folder(name: str) -> Path:
    return _HERE / "targets" / name


@pytest.mark.parametrize("name", ROWS)
def test_target_has_no_problems(name: str) -> None:
    assert not row_problems(name, _folder(name), _SIZES[name])


@pytest.mark.parametrize("name", ROWS)
def test_commands_find_nothing(name: str) -> None:
    status, out, err = run("check", _folder(name))
    assert (status, err) == (0, ""), out
    assert not printed_json("unknown", _folder(name))


@pytest.mark.parametrize("name", ["cpu", "cuda", "tpu-v5e"])
def test_a_limit_of_the_needed_bytes_is_kept(name: str) -> None:
    [report] = printed_json("report", _folder(name))
    needed = report["memory_spaces"][0]["needed_bytes"]
    assert run("check", _folder(name), "--max-memory", f"{needed}B")[0] == 0
    assert run("check", _folder(name), "--max-memory", f"{needed - 1}B")[0] == 1


def test_readme_shows_the_recorded_rows() -> None:
    assert f"<!-- targets -->\n\n{target_table(_SIZES)}\n<!-- end of targets -->" in (_HERE / "README.md").read_text()


# ---------------------------------------------------------------- sensitivity to wrong dumps


def _problems_after(tmp_path: Path, name: str, ending: str, old: str, new: str) -> list[str]:
    shutil.copytree(_folder(name), tmp_path / name)
    [path] = (tmp_path / name).glob(f"*{ending}")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    return row_problems(name, tmp_path / name, _SIZES[name])


def test_notices_findings_and_unknown_text(tmp_path: Path) -> None:
    found = _problems_after(
        tmp_path, "cpu", "-buffer-assignment.txt", "BufferAssignment:\n", "BufferAssignment:\nmore\n"
    )
    assert found == ["cpu: unknown text: 'more'"]


def test_notices_needed_bytes_that_differ() -> None:
    sizes = {**_SIZES["cuda-user-buffers"]}
    sizes["temp"] += 1
    [problem] = row_problems("cuda-user-buffers", _folder("cuda-user-buffers"), sizes)
    assert f"but {analysis_bytes(sizes):,} by the memory analysis" in problem
