"""Every cut of a dump: each number is the true one, or its warrant says that it is not."""

import random
from collections.abc import Mapping

import pytest

from foreign_lines import numbers
from samples import DUMPS, FORMS, dump_file, sweep
from xla_lens.disk.sets import SetFiles, find_sets
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.warrants import Bound, Cause, Quantity
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.document import document_of_file


def texts_of(files: SetFiles) -> dict[FileKind, bytes]:
    return {kind: path.read_bytes() for kind, path in files.paths.items() if kind is not FileKind.HLO}


def analysed(texts: Mapping[FileKind, bytes]) -> Analysis:
    return analyse(dump_file(document_of_file(text).data, kind) for kind, text in texts.items())


@pytest.mark.parametrize("files", sweep(FORMS, 12), ids=lambda files: files.stem.name[:60])
def test_cut_numbers_say_so(files: SetFiles) -> None:
    texts = texts_of(files)
    whole = analysed(texts)
    truth = numbers(whole)
    chosen = random.Random(files.stem.name)
    wrong: list[object] = []
    different = 0
    for kind, text in texts.items():
        line_ends = [place + 1 for place, byte in enumerate(text[:-1]) if byte == 10]
        cuts = {*chosen.sample(line_ends, min(20, len(line_ends))), *chosen.sample(range(1, len(text) - 1), 12)}
        for cut in sorted(cuts):
            one = analysed({**texts, kind: text[:cut]})
            found = numbers(one)
            for key in {*truth, *found}:
                expected, number = truth.get(key, 0), found.get(key, 0)
                if expected != number:
                    different += 1
                    bound = one.warrants.of(key[0]).bound
                    if bound is Bound.EXACT or (bound is Bound.AT_LEAST and number > expected):
                        wrong.append((kind.value, cut, key, bound.value, number, expected))
    assert not wrong
    assert different > 20


@pytest.mark.parametrize("files", FORMS, ids=lambda files: files.stem.name[:60])
def test_whole_sets_are_complete(files: SetFiles) -> None:
    one = analysed(texts_of(files))
    is_oldest = one.dump.live is None
    assert one.warrants.is_complete is not is_oldest
    # The oldest releases print no live ranges: nothing about the allocations is missing.
    assert one.warrants.of(Quantity.RESERVED).is_exact
    assert {gap.cause for gap in one.warrants.gaps} <= {Cause.MISSING}
    assert all(space.live_bound is one.warrants.of(Quantity.LIVE).bound for space in one.memory.spaces)


def test_contradictions_are_no_bounds() -> None:
    files = next(iter(find_sets(DUMPS / "tpu-v5e2x2-libtpu0.0.51/mlp_train")))
    texts = texts_of(files)
    live = texts[FileKind.LIVE_RANGE].replace(b"copy-start{0}:1-63", b"copy-start{0}:1-3")
    assert live != texts[FileKind.LIVE_RANGE]
    one = analysed({**texts, FileKind.LIVE_RANGE: live})
    warrant = one.warrants.of(Quantity.LIVE)
    assert (warrant.bound, {gap.cause for gap in warrant.gaps}) == (Bound.UNKNOWN, {Cause.CONTRADICTION})
    assert one.warrants.of(Quantity.RESERVED).is_exact


def test_missing_values_make_reserved_bytes_a_bound() -> None:
    files = next(iter(find_sets(DUMPS / "tpu-v5e2x2-libtpu0.0.51/mlp_train")))
    texts = texts_of(files)
    del texts[FileKind.VALUES]
    # The memory usage report confirms the allocations.
    assert analysed(texts).warrants.of(Quantity.RESERVED).bound is Bound.EXACT
    del texts[FileKind.MEMORY_USAGE_REPORT]
    one = analysed(texts)
    assert one.warrants.of(Quantity.RESERVED).bound is Bound.AT_LEAST
    assert {gap.kind for gap in one.warrants.gaps} == {FileKind.VALUES}
