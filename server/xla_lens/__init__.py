"""XLA Lens: where the memory goes in the buffer assignment dumps of the XLA compiler.

As a library::

    import xla_lens

    analysis = xla_lens.load("dumps/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt")
    hbm = analysis.memory.space(0)
    print(hbm.peak_step, hbm.peak_live_bytes, hbm.live.at(120))

    module = xla_lens.load_module("dumps/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt")
    for line in xla_lens.bytes_by_line(analysis.dump, module, hbm.peak_step, hbm.color).lines:
        print(line.size_bytes, line.frame)

Values, allocations and instructions are rows and numbers of the tables of `analysis.dump`, see `DumpSet`.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xla_lens.files import NotADump
    from xla_lens.model.advice.alive import last_uses
    from xla_lens.model.advice.budget import smallest_set
    from xla_lens.model.advice.donation import find_donation
    from xla_lens.model.advice.next_peak import next_peaks
    from xla_lens.model.advice.padding import padding_at, padding_of
    from xla_lens.model.analysis import Analysis
    from xla_lens.model.attribution.bytes_by_line import bytes_by_line
    from xla_lens.model.attribution.bytes_by_op import bytes_by_op
    from xla_lens.model.attribution.frames import frames_of
    from xla_lens.model.attribution.owned import owned_bytes
    from xla_lens.model.hlo.module import HloModule
    from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
    from xla_lens.model.memory.allocation_history import arenas, biography
    from xla_lens.model.memory.over_time import Memory, live_values
    from xla_lens.model.memory.printed_peak import explain_printed_peak
    from xla_lens.model.tables.dump_set import DumpSet

__version__ = "0.1.0"

__all__ = [
    "Analysis",
    "DumpSet",
    "HloModule",
    "Memory",
    "NotADump",
    "StackFrame",
    "arenas",
    "biography",
    "bytes_by_line",
    "bytes_by_op",
    "explain_printed_peak",
    "find_donation",
    "frames_of",
    "last_uses",
    "live_values",
    "load",
    "load_module",
    "next_peaks",
    "owned_bytes",
    "padding_at",
    "padding_of",
    "smallest_set",
    "user_frame",
]

_MODULES = {
    "Analysis": "xla_lens.model.analysis",
    "DumpSet": "xla_lens.model.tables.dump_set",
    "HloModule": "xla_lens.model.hlo.module",
    "Memory": "xla_lens.model.memory.over_time",
    "NotADump": "xla_lens.files",
    "StackFrame": "xla_lens.model.hlo.stack_frames",
    "arenas": "xla_lens.model.memory.allocation_history",
    "biography": "xla_lens.model.memory.allocation_history",
    "bytes_by_line": "xla_lens.model.attribution.bytes_by_line",
    "bytes_by_op": "xla_lens.model.attribution.bytes_by_op",
    "explain_printed_peak": "xla_lens.model.memory.printed_peak",
    "find_donation": "xla_lens.model.advice.donation",
    "frames_of": "xla_lens.model.attribution.frames",
    "last_uses": "xla_lens.model.advice.alive",
    "live_values": "xla_lens.model.memory.over_time",
    "next_peaks": "xla_lens.model.advice.next_peak",
    "owned_bytes": "xla_lens.model.attribution.owned",
    "padding_at": "xla_lens.model.advice.padding",
    "padding_of": "xla_lens.model.advice.padding",
    "smallest_set": "xla_lens.model.advice.budget",
    "user_frame": "xla_lens.model.hlo.stack_frames",
}
"""Where all that is: it is imported when it is first asked for, since the language server starts without."""


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def load(path: str | Path) -> "Analysis":
    """The analysis of the dump set that a file belongs to.

    Raises `NotADump` where the file is in none, `OSError` where it cannot be read.
    """
    from xla_lens.files import find_set, load_files
    from xla_lens.model.analysis import analyse

    files = load_files(find_set(Path(path)), {}, {}, lambda: False)
    return analyse(file.dump_file for file in files.values())


def load_module(path: str | Path) -> "HloModule | None":
    """The HLO module of the dump set that a file belongs to, None if there is none that can be read. Raises as `load`
    does.
    """
    from xla_lens.files import find_set, load_module

    loaded = load_module(find_set(Path(path)), {}, None, lambda: False)
    return loaded.module if loaded else None
