"""Causes of a change, each planted into the text of a real dump."""

from collections.abc import Callable

import pytest

from samples import DUMPS, analysis_of, dump_file
from xla_lens.diff.words import cause_text, grown_text
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.causes import CauseKind, ChangeCause, causes
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison, compare_analyses

OLD = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
"""Four donated parameters: f32[128], f32[64,64], f32[8] and f32[32,32]."""


def _edited(edit: Callable[[str], str]) -> Analysis:
    text = OLD.read_text()
    edited = edit(text)
    assert edited != text
    return analyse([dump_file(edited.encode())])


def _compared(edit: Callable[[str], str]) -> tuple[Comparison, dict[CauseKind, ChangeCause]]:
    compared = compare_analyses(analysis_of(OLD), _edited(edit))
    return compared, {cause.kind: cause for cause in causes(compared)}


def test_dump_compared_with_itself_has_no_causes() -> None:
    assert not list(causes(compare_analyses(analysis_of(OLD), analysis_of(OLD))))


def test_donation_that_is_gone_has_its_parameter_and_bytes() -> None:
    def edit(text: str) -> str:
        return text.replace("parameter 1, shape |f32[64,64]| at ShapeIndex {}, maybe-live-out", _PARAMETER)

    _, found = _compared(edit)
    assert found["donation"].count == Pair(1, 0)
    assert found["donation"].size_bytes == Pair(64 * 64 * 4, 0)


_PARAMETER = "parameter 1, shape |f32[64,64]| at ShapeIndex {}"


def test_copy_that_replaces_a_donation_is_named() -> None:
    """The parameter is copied before a fusion that would overwrite it."""
    fusion = " value: <15 fusion.1 @0> (size=16384,offset=0): f32[64,64]{1,0}\n"

    def edit(text: str) -> str:
        text = text.replace(f"{_PARAMETER}, maybe-live-out", _PARAMETER).replace(fusion, "")
        copy = fusion.replace("15 fusion.1", "24 copy.99")
        text = text.replace("\n\nTotal", f"\nallocation 8: size 16384, maybe-live-out:\n{copy}{fusion}\nTotal")
        block = " uses:\n  fusion.1, operand 0\n from"
        quote = " instruction:%copy.99 = f32[64,64]{1,0} copy(f32[64,64]{1,0} %Arg_1.2)"
        copied = f"<24 copy.99 @0>\n positions:\n  copy.99\n{block}{quote}\n"
        text = text.replace(block, block.replace("fusion.1", "copy.99"))
        return text.replace("<15 fusion.1 @0>\n positions", f"{copied}<15 fusion.1 @0>\n positions")

    compared, found = _compared(edit)
    cause = found["donation"]
    assert (cause.count, cause.copies) == (Pair(1, 0), ((), ("copy.99",)))
    assert cause_text(cause) == "Donation: 1 parameter with 16.0 KiB no longer donated, copied by copy.99 instead."
    opposite, *_ = causes(compare_analyses(compared.new, compared.old))
    assert opposite.copies == (("copy.99",), ())
    assert cause_text(opposite) == ("Donation: 1 parameter with 16.0 KiB newly donated, no longer copied by copy.99.")


def test_new_donation_is_the_opposite() -> None:
    new = _edited(lambda text: text.replace(f"{_PARAMETER}, maybe-live-out", _PARAMETER))
    first, *_ = causes(compare_analyses(new, analysis_of(OLD)))
    assert (first.kind, first.count) == ("donation", Pair(0, 1))


def test_other_element_type_has_both_types_and_the_bytes_at_the_peaks() -> None:
    def edit(text: str) -> str:
        return text.replace("f32[64,64]", "bf16[64,64]").replace("size=16384", "size=8192").replace("16384", "8192")

    compared, found = _compared(edit)
    cause = found["type"]
    assert cause.examples == ("f32 → bf16",)
    assert cause.size_bytes
    assert cause.size_bytes.change == -8192 * cause.count.new
    assert compared.memory_spaces[0].peak_live_bytes.change == -8192
    assert compared.values.count(ValueClass.CHANGED) == 2
    assert "size" not in found


def test_other_dimensions_are_no_other_type() -> None:
    def edit(text: str) -> str:
        return text.replace("f32[64,64]", "f32[128,64]").replace("16384", "32768")

    _, found = _compared(edit)
    cause = found["size"]
    assert cause.examples == ("64 → 128",)
    assert cause.size_bytes
    assert cause.size_bytes.change == 16384 * cause.count.new
    assert "type" not in found
    # Changes of equally many bytes are in the order of the dimensions.
    _, found = _compared(lambda text: text.replace("f32[64,64]", "f32[128,256]").replace("16384", "131072"))
    assert found["size"].examples == ("64 → 128", "64 → 256")
    # Elsewhere, the place makes the difference.
    _, found = _compared(lambda text: edit(text).replace("size 32768,", "size 32768, color 5,"))
    assert "size" not in found


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (165197906, 188791194, "157.55 MiB → 180.05 MiB, +22.50 MiB (+14.3 %)"),
        (1 << 20, 1 << 30, "1.00 MiB → 1.00 GiB, +1023.00 MiB (× 1,024.0)"),
        (1 << 30, (1 << 30) + 4, "unchanged"),
        # Looks the same, but is not little.
        (1 << 30, (1 << 30) + (4 << 20), "1.00 GiB − 4.00 MiB → 1.00 GiB, +4.00 MiB (+0.4 %)"),
        (0, 4096, "0 B → 4.0 KiB, +4.0 KiB"),
    ],
)
def test_changes_are_worded_by_their_size(old: int, new: int, text: str) -> None:
    assert grown_text(Pair(old, new), "unchanged") == text


@pytest.mark.parametrize(
    ("name", "kind"), [("dot.15.remat", "rematerialized"), ("all-reduce-start.15", "asynchronous")]
)
def test_instruction_that_is_recomputed_or_asynchronous_is_counted(name: str, kind: CauseKind) -> None:
    _, found = _compared(lambda text: text.replace("dot.15", name))
    assert found[kind].count == Pair(0, 1)


def test_value_that_checkpoint_computes_again_is_counted() -> None:
    _, found = _compared(
        lambda text: text.replace("jit(main)/dot_general", "jit(main)/rematted_computation/dot_general")
    )
    assert found["checkpoint"].count == Pair(0, 1)


def test_same_buffers_at_other_times_are_a_matter_of_the_schedule() -> None:
    text = OLD.read_text()
    line = next(line for line in text.splitlines() if line.startswith("    dot.15{}:"))
    end = int(line.rpartition("-")[2])
    compared, found = _compared(lambda text: text.replace(line, line.replace(f"-{end}", f"-{end + 3}")))
    assert list(found) == ["schedule"]
    assert found["schedule"].count.new == compared.values.count(ValueClass.MOVED) == 1


def test_output_that_is_gone_has_its_bytes() -> None:
    """The last allocation that holds an output, without its mark."""
    text = OLD.read_text()
    header = next(line for line in text.splitlines() if line.startswith("allocation ") and "maybe-live-out" in line)
    size_bytes = int(header.partition("size ")[2].partition(",")[0])
    _, found = _compared(lambda text: text.replace(header, header.replace(", maybe-live-out", "")))
    cause = found["outputs"]
    assert cause.count.change == -1
    assert cause.size_bytes
    assert cause.size_bytes.change == -size_bytes
