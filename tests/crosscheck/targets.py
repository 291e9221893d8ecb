"""The rows of `matrix.py` as we read them, compared with the compiler's own memory analysis."""

from pathlib import Path
from typing import Any, Final

import numpy as np

from xla_lens.cli.sets import find_dumps
from xla_lens.model.analysis import Analysis
from xla_lens.model.checks.codes import Severity
from xla_lens.model.memory.needed import kind_bytes
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import Backend
from xla_lens.report.unknown_text import unknown_text
from xla_lens.syntax.columns import Kind
from xla_lens.words.messages import message

_ROUNDED: Final = 16 << 10
"""To what the memory analysis rounds temporaries on TPUs."""

_SMALL: Final = 512
"""On TPUs, the memory analysis leaves out temporaries that have only tables of pointers and scalars. They take at most
so many bytes each, in slots of 16 KiB.
"""


def needed_bytes(analysis: Analysis) -> int:
    """Return what a program needs of its device."""
    space = analysis.memory.space(DEFAULT_COLOR)
    return space.needed_bytes if space else 0


def analysis_bytes(sizes: dict[str, int]) -> int:
    """Return what a program needs by `memory_analysis()`, which does not count constants."""
    return sizes["argument"] + sizes["output"] - sizes["alias"] + sizes["temp"]


def _left_out_bytes(analysis: Analysis) -> int:
    """Return the bytes of temporaries in which there is nothing but small values."""
    dump, left_out = analysis.dump, 0
    for row in np.flatnonzero(
        (dump.allocations.color == DEFAULT_COLOR) & (dump.allocations.kind == int(Kind.PREALLOCATED_TEMP))
    ).tolist():
        values = dump.values_of_allocation(row)
        large = values[dump.values.size_bytes[values] > _SMALL]
        covered = np.zeros(dump.allocations.size_bytes.item(row), bool)
        for start, size in zip(dump.values.offset[large].tolist(), dump.values.size_bytes[large].tolist(), strict=True):
            covered[start : start + size] = True
        left_out += int((~covered).sum())
    return left_out


def row_problems(name: str, folder: Path, sizes: dict[str, Any]) -> list[str]:
    """Return what is wrong in the dumps of a row: findings, unknown text, and needed bytes that differ from those of
    the memory analysis. Compiling a program may compile small ones before; the row is about the largest.
    """
    found, problems = list[Analysis](), list[str]()
    for loaded in find_dumps([folder]).load():
        analysis = loaded.with_module()
        alarms = [one for one in analysis.findings if one.severity in (Severity.ERROR, Severity.WARNING)]
        problems += [f"{name}: {one.code.value}: {message(one)}" for one in alarms]
        problems += [f"{name}: unknown text: {one.form!r}" for one in unknown_text(analysis)]
        found.append(analysis)
    if not found:
        return [f"{name}: no dump"]
    largest = max(found, key=needed_bytes)
    ours, theirs = needed_bytes(largest), analysis_bytes(sizes)
    theirs += kind_bytes(largest.dump, DEFAULT_COLOR, Kind.CONSTANT)
    is_tpu = largest.dump.backend is Backend.TPU
    least, most = (-_ROUNDED, _ROUNDED + _left_out_bytes(largest)) if is_tpu else (0, 0)
    if not least <= ours - theirs <= most:
        problems.append(f"{name}: needs {ours:,} bytes by the dump, but {theirs:,} by the memory analysis")
    return problems
