"""The page of a comparison: the report and both memory maps, which no name can break out of."""

import gzip
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from memory_map.test_page import Page
from protocol import check
from samples import DUMPS, joined
from xla_lens.diff.compare import Diff, diff
from xla_lens.diff.options import DiffOptions
from xla_lens.disk.package_files import page_sources
from xla_lens.disk.sets import find_set
from xla_lens.memory_map.comparison import compared_maps
from xla_lens.memory_map.comparison_html import comparison_html
from xla_lens.model.diff.comparable import DiffSide


def _dump(path: str) -> Path:
    return next(DUMPS.glob(f"{path}*-buffer-assignment.txt"))


PAIRS = [
    (_dump("cpu-jaxlib0.4.20/donation/module_0000"), _dump("cpu-jaxlib0.6.2/donation/module_0001")),
    (_dump("tpu-v5p-jaxlib0.6.2-libtpu0.0.17.1/host_offload/"), _dump("tpu-v5e2x2-libtpu0.0.51/host_offload/")),
    (_dump("cpu-tf2.5.3/while/"), _dump("cpu-tf2.16.2/while/")),
    (_dump("cpu-jaxlib0.6.0/matmul/"), _dump("gpu-h100-jaxlib0.4.38/matmul/")),
]
each_pair = pytest.mark.parametrize(("old", "new"), PAIRS, ids=lambda path: path.parent.parent.name)


def _side(path: Path) -> DiffSide:
    files = {kind: one.as_posix() for kind, one in find_set(path).paths.items()}
    return DiffSide(joined(path), files)


def _diff(old: Path, new: Path) -> Diff:
    return diff(_side(old), _side(new), DiffOptions(10))


def _maps(one: Diff) -> Any:
    assert one.comparison
    return compared_maps(one)


@each_pair
def test_live_bytes_on_the_axis_are_those_of_the_dump(old: Path, new: Path) -> None:
    one = _diff(old, new)
    maps = _maps(one)
    assert len(maps["old"]["steps"]) == len(maps["new"]["steps"])
    assert isinstance(one.old, DiffSide)
    for name, side in (("old", one.old), ("new", one.new)):
        found = maps[name]
        own = found["comparison"]["own_step"]
        assert own == sorted(own)
        for space, shown in zip(side.analysis.memory.spaces, found["spaces"], strict=True):
            live, steps = 0, iter([*zip(shown["curve_step"], shown["curve_bytes"], strict=True)])
            change = next(steps, None)
            for place, step in enumerate(own):
                while change and change[0] <= place:
                    live, change = change[1], next(steps, None)
                assert live == (space.live.at(step) if step >= 0 else 0)
            if space.peak_step is not None:
                assert own[shown["peak_step"]] == space.peak_step
        values, dump = found["values"], side.dump.values
        for row, (start, end) in enumerate(zip(values["start_step"], values["end_step"], strict=True)):
            if start >= 0:
                assert (own[start], own[end]) == (dump.start_step[row], dump.end_step[row])


@each_pair
def test_the_page_has_the_report_and_both_maps(old: Path, new: Path) -> None:
    one = _diff(old, new)
    page = Page("\n".join(comparison_html((), one, *page_sources())))
    found = json.loads(gzip.decompress(b64decode(page.of("script")[0])))
    check(found, "ComparedMaps")
    assert found == _maps(one)
    text = "".join(text for tag, text in page.texts if tag not in ("script", "style"))
    title, rest = text.split(" peak ", 1)
    assert title.split()[-1] in ("HBM", "memory")
    assert re.search(r"Values: [\d,]+ unchanged", rest)
    assert old.name in rest
    assert new.name in rest


def test_no_name_breaks_out_of_the_page(tmp_path: Path) -> None:
    old, new = PAIRS[0]
    name = "broadcast_add_fusion"
    evil = tmp_path / new.name
    evil.write_text(new.read_text().replace(name, "</code></script><script>alert(1)</script>"))
    text = "\n".join(comparison_html((), _diff(old, evil), *page_sources()))
    page = Page(text)
    assert len(page.of("script")) == 2
    assert "<script>alert" not in text
