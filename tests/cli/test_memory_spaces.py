"""Programs for GPUs with several colors in the memory of the device, as users meet them."""

import json
from pathlib import Path

import pytest

from commands import run
from samples import DUMPS

_USER_BUFFERS = DUMPS / "gpu-h100-jaxlib0.12.0.1" / "psum_user_buffers"
"""Has 8.00 MiB in color 0 and 4.00 MiB in color 7."""

_SEPARATE = DUMPS / "gpu-h100-jaxlib0.12.0.1" / "scan_temp_color"
"""Has its temporaries in color 2; the values in them have color 0."""


def _recolored(folder: Path, color: int) -> Path:
    """A copy of the program with user buffers, whose color is another number. Without the HLO module and the report."""
    for path in _USER_BUFFERS.glob("*-*.txt"):
        if "report" not in path.name:
            text = path.read_text().replace("color 7", f"color {color}").replace("@7>", f"@{color}>")
            (folder / path.name).write_text(text.replace("S(7)", f"S({color})"))
    return folder


def test_limits_are_about_all_memory_of_the_device() -> None:
    for option in ("--max-memory", "--max-peak"):
        assert run("check", _USER_BUFFERS, option, "12MiB")[0] == 0
        status, out, _ = run("check", _USER_BUFFERS, option, "11MiB")
        assert status == 1
        assert "12.00 MiB (12,582,912 bytes) of HBM" in out


def test_reports_show_the_parts_of_the_device() -> None:
    out = run("report", _USER_BUFFERS, "--part", "totals")[1]
    assert "It needs 12.00 MiB" in out
    assert out.partition("Memory space\n")[2].splitlines()[1:] == [
        "  HBM                                  12.00 MiB  12.00 MiB   4.00 MiB          12 B  4.00 MiB  4.00 MiB",
        "    of it color 0                       8.00 MiB   8.00 MiB   4.00 MiB          12 B            4.00 MiB",
        "    of it collective memory (color 7)   4.00 MiB   4.00 MiB                           4.00 MiB",
    ]
    (report,) = json.loads(run("report", _SEPARATE, "--part", "totals", "--output-format", "json")[1])
    (space,) = report["memory_spaces"]
    assert (space["color"], space["name"], space["is_device"], space["needed_bytes"]) == (0, "HBM", True, 14683180)
    assert [(one["color"], one["needed_bytes"], one["peak_live_bytes"]) for one in space["colors"]] == [
        (0, 8650756, 8650752),
        (2, 6032424, 5505080),
    ]


@pytest.mark.parametrize(("color", "name"), [(1, "collective memory (color 1)"), (9, "color 9 (unknown use)")])
def test_the_color_of_a_buffer_on_the_device_changes_no_number(tmp_path: Path, color: int, name: str) -> None:
    recolored = _recolored(tmp_path, color)
    assert run("check", recolored) == (0, "1 dump checked, no findings\n", "")
    assert f"of it {name}" in run("report", recolored, "--part", "totals")[1]
    (data,) = json.loads(run("diff", _USER_BUFFERS, recolored, "--output-format", "json")[1])
    (space,) = data["memory_spaces"]
    assert space["needed_bytes"] == {"old": 12582912, "new": 12582912}
    assert space["peak_live_bytes"] == {"old": 12582912, "new": 12582912}


def test_host_memory_of_a_gpu_is_not_the_device(tmp_path: Path) -> None:
    recolored = _recolored(tmp_path, 5)
    assert run("check", recolored, "--max-memory", "8MiB")[0] == 0
    (report,) = json.loads(run("report", recolored, "--output-format", "json")[1])
    assert [(one["name"], one["is_device"], one["needed_bytes"]) for one in report["memory_spaces"]] == [
        ("HBM", True, 8388608),
        ("host memory", False, 4194304),
    ]


def test_growth_of_a_part_of_the_device_is_growth_of_the_device(tmp_path: Path) -> None:
    """A memory usage report calls color 1 ``vmem`` on a GPU, too, but its limit is not about HBM."""
    old = _recolored(tmp_path, 5)
    limits = {"0%": 1, "hbm=0": 1, "7=0": 1, "vmem=0": 0}
    for limit, status in limits.items():
        assert run("diff", old, _USER_BUFFERS, "--max-memory-increase", limit)[0] == status, limit
