"""Sentences beside the numbers of a memory space: what makes them larger or smaller than a reader expects. They stand
in the first lines of reports, and in editors beside what the program needs.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from xla_lens.blocks.blocks import Name, Role, Text
from xla_lens.blocks.entities import source_name
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.memory.donation import parameters_of
from xla_lens.model.memory.needed import thread_local_bytes
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.padding import PaddingAtStep, padding_of
from xla_lens.model.memory.unseen import Unseen, much_unseen
from xla_lens.model.process_memory import LiveArrays, LoadedPrograms, ProcessMemory
from xla_lens.model.tables.backend import Backend
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.hlo.shapes import without_layout
from xla_lens.text.patterns import lazy_pattern
from xla_lens.words.explained import padding_clause, unseen_words
from xla_lens.words.numbers import counted, enumerated, human, percent

_LEAST_PADDING_BYTES: Final = 1 << 16
"""Less padding is that of scalars and short vectors, of which a TPU has some in every program."""

_SMALLEST_PART: Final = 20
"""Parts of less than 1/20 are not worth a sentence."""


def space_notes(
    origins: Origins, space: MemorySpace, unseen: Iterable[Unseen], padding: PaddingAtStep | None
) -> Iterator[Text]:
    """Yield all sentences about a memory space. `unseen` takes memory of it that no dump shows, and `padding` is what
    its peak has.
    """
    yield from unseen_note(unseen, space)
    yield from padding_note(origins, space, padding)
    for words in thread_local_note([space]):
        yield f"{human(space.reserved_bytes)} are reserved; {words}."


def unseen_note(unseen: Iterable[Unseen], space: MemorySpace) -> Iterator[Text]:
    """Yield a sentence if fusions take much memory of a space that no dump shows."""
    if big := much_unseen(unseen, space.needed_bytes):
        them = f" and {counted(len(big) - 1, 'more fusion')} also take" if len(big) > 1 else " also takes"
        inside = "the first" if len(big) > 1 else "it"
        products = f"the products inside {inside} have {human(big[0].size_bytes or 0)}"
        yield Name(big[0].instruction), f"{them} memory that no dump shows: {products}."


def unseen_scratch(unseen: Iterable[Unseen], space: MemorySpace) -> str:
    """Return which other instructions take scratch memory of a space that no dump shows, empty if it is not much."""
    big = much_unseen(unseen, space.needed_bytes, is_fused=False)
    names: dict[str, list[str]] = {}
    for taken in big[:_MOST_NAMES]:
        names.setdefault(unseen_words(taken), []).append(taken.instruction)
    parts = [f"{words} ({', '.join(instructions)})" for words, instructions in names.items()]
    more = [counted(len(big) - _MOST_NAMES, "more instruction")] if len(big) > _MOST_NAMES else []
    return ", ".join([*parts, *more])


_MOST_NAMES: Final = 2


def thread_local_note(spaces: Iterable[MemorySpace]) -> Iterator[str]:
    """Yield a sentence if a visible part of the reserved bytes is not needed: that of thread-local allocations."""
    known = [space for space in spaces if space.reserved_bound is Bound.EXACT]
    local_bytes = thread_local_bytes(known)
    if local_bytes * _SMALLEST_PART >= sum(space.reserved_bytes for space in known) > 0:
        yield (
            f"{human(local_bytes)} of it is thread-local, which XLA's total counts: inside fusions and calls, in "
            "registers, on stacks or in the caller's memory"
        )


def measured_note(
    memory: ProcessMemory | None, module: str, dump: DumpSet, space: MemorySpace, unseen: Iterable[Unseen]
) -> Iterator[str]:
    """Yield what a process used at most beside what a module needs of its main memory, and what the difference can be.
    `unseen` takes memory that no dump shows. Yields nothing if either number is unknown.
    """
    if memory is None or space.reserved_bound is not Bound.EXACT:
        return
    device = None if dump.backend is Backend.CPU else memory.fullest
    used_bytes = memory.resident_bytes if dump.backend is Backend.CPU else device and device.peak_bytes
    if not used_bytes:
        return
    limit = f" of {human(device.limit_bytes)}" if device and device.limit_bytes else ""
    where = f"on {device.name}" if device else "of the host"
    until = " until now" if memory.is_running else ""
    words = f"the process used {human(used_bytes)}{limit} {where} at most{until}; {module} needs "
    words += human(space.needed_bytes)
    if used_bytes < space.needed_bytes:
        yield f"{words}, which is more: it did not run, or did not use all of that"
        return
    when = "now" if memory.is_running else "at the end"
    parts = [] if device else ["Python and its libraries"]
    parts += [_programs(memory.programs, when), _arrays(memory.arrays, when)]
    parts += [
        f"memory that no dump shows ({taken.instruction})" for taken in much_unseen(unseen, space.needed_bytes)[:1]
    ]
    yield f"{words}. The rest can be {enumerated(parts)}"


def _programs(programs: LoadedPrograms | None, when: str) -> str:
    """The other modules of a process, with what the runtime keeps of them."""
    # The module itself is one of those that are loaded.
    if programs is None or programs.count < 2:
        return "other modules"
    code = f", and {human(programs.code_bytes)} of code" if programs.code_bytes else ""
    sizes = "no temporaries"
    if programs.temporary_bytes:
        most, largest = human(programs.temporary_bytes), human(programs.largest_temporary_bytes)
        together = f" if all run at once, {largest} one after another" if largest != most else ", all of one module"
        sizes = f"{most} of temporaries{together}"
    return f"other modules ({programs.count:,} loaded {when}: {sizes}{code})"


def _arrays(arrays: Sequence[LiveArrays], when: str) -> str:
    """The arrays that a program keeps, with those that are alive."""
    if not arrays:
        return "arrays that the program keeps"
    total, most = human(sum(alike.size_bytes for alike in arrays)), arrays[0]
    part = f", {human(most.size_bytes)} of it" if len(arrays) > 1 else ""
    return f"arrays that the program keeps ({total} {when}{part} in {most.count:,} × {most.shape})"


def unnamed_note(origins: Origins) -> Iterator[str]:
    """Yield how to get op_names and lines of PyTorch/XLA, which leaves them out unless variables ask for them."""
    module, dump = origins.module, origins.dump
    if module is None or b"metadata={" in module.data:
        return
    names = [dump.names[dump.values.name.item(value)] for value in parameters_of(dump)]
    if names and all(map(_TORCH_PARAMETER.fullmatch, names)):
        yield (
            "PyTorch/XLA leaves op_names and source lines out. With the environment variables `XLA_HLO_DEBUG=1` and "
            "`XLA_IR_DEBUG=1`, they are here."
        )


_TORCH_PARAMETER: Final = lazy_pattern(rb"p\d+(?:\.\d+)?")
"""What PyTorch/XLA calls a parameter."""


def argument_notes(origins: Origins, module_name: str | None, arguments: Iterable[str]) -> Iterator[str]:
    """Yield what the names mean that a framework gives to arguments, such as ``dynamic_nodonate``: not those that the
    user chose.
    """
    text = origins.module.data if origins.module else b""
    names = [*arguments]
    for pattern, evidence, words in _ARGUMENT_WORDS:
        found = next(filter(None, map(re.compile(pattern).search, names)), None)
        if found and (evidence in text or evidence == (module_name or "").encode()):
            yield words.format(*found.groups())


_ARGUMENT_WORDS: Final = (
    (
        r"^(\w+)\.states$",
        b"/flax/nnx/",
        "nnx.jit numbers the arrays of a module: `{0}.states[0][4]` is number 4 in "
        "`nnx.to_flat_state(nnx.state({0}))`, from 0. With "
        "`nnx.jit(…, graph=False)` or `nnx.split`, they have their paths.",
    ),
    (
        r"^state\[[0-3]\]$",
        b"/keras/src/backend/jax/",
        "Keras calls its variables `state[0]` (trainable), `state[1]` (not trainable), `state[2]` (of the optimizer) "
        "and `state[3]` (of the metrics).",
    ),
    (
        r"^dynamic_(?:no)?donate\b",
        b"/equinox/",
        "equinox.filter_jit calls the arrays that it does not donate `dynamic_nodonate`, and those that it donates "
        "`dynamic_donate`: ['first'] is the first argument, ['rest'] are the others, and numbers count the leaves as "
        "`jax.tree.leaves` does.",
    ),
    (r"^flat_args\b", b"", "`flat_args` are the leaves of the arguments, in the order of `jax.tree.leaves`."),
    (
        r"^args\[",
        b"jit_scan",
        "`args` are what a `scan` outside of `jax.jit` takes: the arrays that its function captures, its state, and "
        "what it scans.",
    ),
)
"""What a framework means with the name of an argument: the name, a text in the module, or its name, that shows that it
is from that framework, and the words.
"""


def padding_note(origins: Origins, space: MemorySpace, found: PaddingAtStep | None) -> Iterator[Text]:
    """Yield a sentence if at least half of a peak is padding: how much it is, and which dimension of which buffer has
    most of it. `found` is the padding at the peak, None if there is no peak.
    """
    dump, peak_bytes = origins.dump, space.peak_live_bytes
    if found is None or space.live_bound is not Bound.EXACT or peak_bytes < _LEAST_PADDING_BYTES:
        return
    if 2 * found.total_bytes < peak_bytes or found.total_bytes < _LEAST_PADDING_BYTES:
        return
    value = found.values.item(found.padding_bytes.argmax())
    padding = padding_of(dump, value)
    share = percent(found.total_bytes, peak_bytes)
    words = f"{human(found.total_bytes)} of the peak ({share}) is padding"
    parts = padding.parts if padding else ()
    if not parts:
        yield f"{words}."
        return
    part = max(parts, key=lambda part: part.size_bytes)
    line = origins.of_value(value).line
    source = (" (", *source_name(line), ")") if line else ()
    others = int(np.count_nonzero(found.padding_bytes * _SMALLEST_PART >= found.total_bytes)) - 1
    rest = f"; the rest is mostly in {counted(others, 'more buffer')}" if others > 0 else ""
    shape = Name(without_layout(dump.shape(value) or b"").decode("utf-8", "replace"), role=Role.SHAPE)
    yield f"{words}. The most is in ", shape, *source, f", {padding_clause(part)}{rest}."
