"""Which values are matched, against the truth.

The dumps in `labels` are of one program by several releases, of the same program after an edit, and of another program.
Each operation was compiled with a label in its op_name, which has the source line and how often the line had been
traced. The labels are then removed from the dumps, so that the op_names are the usual ones, and kept in `labels.json`.
"""

import json
from pathlib import Path

import pytest

from samples import SHARED_DUMPS, analysis_of, assignments, needs_shared_dumps
from xla_lens.api import compare
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.diff.comparison import Comparison
from xla_lens.model.diff.traits import parameter_values
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE

_FOLDER = Path(__file__).parent / "labels"
_LABELS = json.loads((_FOLDER / "labels.json").read_text())


def _compared(old: str, new: str) -> Comparison:
    first, second = (next((_FOLDER / side).glob("*-buffer-assignment.txt")) for side in (old, new))
    return compare(first, second)


def _name(dump: DumpSet, value: int) -> str:
    return dump.names[dump.values.name[value]].decode()


def _shares(compared: Comparison, old: str, new: str) -> tuple[float, float]:
    """The shares of the bytes at both peaks, in percent, that belong to matched values, and to values whose partners
    have other labels.
    """
    matching = compared.matching
    sides = (
        (compared.old, matching.new_of_old, compared.new, _LABELS[old], _LABELS[new]),
        (compared.new, matching.old_of_new, compared.old, _LABELS[new], _LABELS[old]),
    )
    all_bytes = matched_bytes = wrong_bytes = 0
    for one, partners, other, labels, other_labels in sides:
        step = next(space.peak_step for space in one.memory.spaces if space.color == DEFAULT_COLOR)
        assert step is not None
        values, sizes = owned_bytes(one.dump, step, DEFAULT_COLOR)
        for value, size in zip(values.tolist(), sizes.tolist(), strict=True):
            all_bytes += size
            if (partner := partners.item(value)) != NONE:
                matched_bytes += size
                label = labels.get(_name(one.dump, value))
                other_label = other_labels.get(_name(other.dump, partner))
                wrong_bytes += size if label and other_label and label != other_label else 0
    return round(100 * matched_bytes / all_bytes, 1), round(100 * wrong_bytes / all_bytes, 1)


@pytest.mark.parametrize(
    ("old", "new", "matched", "wrong"),
    [
        ("jaxlib-0.6.2", "jaxlib-0.8.1", 100, 0),
        # The newer release makes one fusion of what were two, whose label is that of its last operation.
        ("jaxlib-0.6.2", "jaxlib-0.12.0.1", 100, 7.4),
        ("jaxlib-0.8.1", "jaxlib-0.12.0.1", 100, 7.4),
        ("jaxlib-0.12.0.1", "larger-batch", 100, 0),
        # The lines of the layers behind the new one have been traced more often.
        ("jaxlib-0.12.0.1", "one-more-layer", 89.7, 12.6),
        ("jaxlib-0.12.0.1", "conditionals", 0, 0),
        ("jaxlib-0.6.2", "conditionals", 0, 0),
    ],
)
def test_matched_and_wrong_shares(old: str, new: str, matched: float, wrong: float) -> None:
    assert _shares(_compared(old, new), old, new) == (matched, wrong)
    assert _shares(_compared(new, old), new, old) == (matched, wrong)


def test_parameters_are_the_values_that_are_live_first() -> None:
    """The values of an allocation are printed in the order of their numbers, so an output may come before the parameter
    whose buffer it takes over.
    """
    later = 0
    for path in assignments():
        dump = analysis_of(path).dump
        rows, parameters = parameter_values(dump)
        assert {dump.opcode(dump.name_of(value)) for value in parameters.tolist()} <= {b"parameter", None}, path
        later += (parameters != dump.value_of_slice[dump.allocations.first_slice[rows]]).sum()
    assert later


@needs_shared_dumps
def test_values_of_other_ranks_are_no_pairs() -> None:
    """The operations of all layers have one op_name, and fusions differ: f32[16,257,768] is not f32[16,1000]."""
    first, second = (
        next((SHARED_DUMPS / "flags" / "cpu-vit" / side).glob("*-buffer-assignment.txt"))
        for side in ("default", "ynn_off")
    )
    compared = compare(first, second)
    assert compared.matched_peak_bytes_fraction > 0.6
    for old, new in enumerate(compared.matching.new_of_old.tolist()):
        if new != NONE:
            shapes = (compared.old.dump.shape(old) or b"").decode(), (compared.new.dump.shape(new) or b"").decode()
            assert shapes[0].count(",") == shapes[1].count(",") or "(" in shapes[0], shapes
