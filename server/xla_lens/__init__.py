"""XLA Lens: where the memory goes in the buffer assignment dumps of the XLA compiler.

As a library::

    import xla_lens

    analysis = xla_lens.load("dumps/module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt")
    hbm = analysis.memory.space(0)
    print(hbm.peak_step, hbm.peak_live_bytes, hbm.live.at(120))

Values, allocations and instructions are rows and numbers of the tables of `analysis.dump`, see `DumpSet`.
"""

from pathlib import Path

from xla_lens.files import NotADump, find_set, load_files
from xla_lens.model.alive import last_uses
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.biography import arenas, biography
from xla_lens.model.budget import smallest_set
from xla_lens.model.by_source import sources_at
from xla_lens.model.donation import find_donation
from xla_lens.model.dump_set import DumpSet
from xla_lens.model.memory import Memory, live_values
from xla_lens.model.next_peak import next_peaks
from xla_lens.model.owned import owned_bytes
from xla_lens.model.padding import padding_at, padding_of
from xla_lens.model.printed_peak import explain_printed_peak

__all__ = [
    "Analysis",
    "DumpSet",
    "Memory",
    "NotADump",
    "arenas",
    "biography",
    "explain_printed_peak",
    "find_donation",
    "last_uses",
    "live_values",
    "load",
    "next_peaks",
    "owned_bytes",
    "padding_at",
    "padding_of",
    "smallest_set",
    "sources_at",
]


def load(path: str | Path) -> Analysis:
    """The analysis of the dump set that a file belongs to.

    Raises `NotADump` where the file is in none, `OSError` where it cannot be read.
    """
    files = load_files(find_set(Path(path)), {}, {}, lambda: False)
    return analyse(file.member for file in files.values())
