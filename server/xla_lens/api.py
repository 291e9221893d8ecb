"""The public API, as `import xla_lens` offers it. `docs/library.md` describes it, and the tests compare the two.

Everything else in this package may change without notice.
"""

from pathlib import Path

from xla_lens.files import NotADump, find_set, load_set
from xla_lens.files import load_module as load_module_of_set
from xla_lens.model.advice.alive import Ending, Reason, last_uses
from xla_lens.model.advice.budget import BudgetPlan, smallest_set
from xla_lens.model.advice.donation import Donation, find_donation
from xla_lens.model.advice.next_peak import NextPeaks, next_peaks
from xla_lens.model.advice.padding import Padding, PaddingAtStep, padding_at, padding_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.bytes_by_line import BytesByLine, bytes_by_line
from xla_lens.model.attribution.bytes_by_op import BytesByOp, bytes_by_op
from xla_lens.model.attribution.frames import frames_of
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.checks.findings import Finding
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.model.memory.allocation_history import AllocationHistory, Arena, allocation_history, arenas
from xla_lens.model.memory.over_time import LiveBytes, Memory, MemorySpace, live_values
from xla_lens.model.memory.printed_peak import PrintedPeak, explain_printed_peak
from xla_lens.model.tables.dump_set import DumpSet

__all__ = [
    "AllocationHistory",
    "Analysis",
    "Arena",
    "BudgetPlan",
    "BytesByLine",
    "BytesByOp",
    "Donation",
    "DumpSet",
    "Ending",
    "Finding",
    "HloModule",
    "LiveBytes",
    "Memory",
    "MemorySpace",
    "NextPeaks",
    "NotADump",
    "Padding",
    "PaddingAtStep",
    "PrintedPeak",
    "Reason",
    "StackFrame",
    "allocation_history",
    "arenas",
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


def load(path: str | Path) -> Analysis:
    """Load and analyse the dump that a file belongs to.

    `path` is any file of the dump; the other files are found beside it. Raises `NotADump` if the file is not part of
    a dump, and `OSError` if it cannot be read.
    """
    return load_set(find_set(Path(path)), {}, {})[1]


def load_module(path: str | Path) -> HloModule | None:
    """Load the HLO module of the dump that a file belongs to; None if there is none that can be read.

    Source lines need the module since jaxlib 0.8.2. Raises like `load`.
    """
    loaded = load_module_of_set(find_set(Path(path)), {}, None, lambda: False)
    return loaded.module if loaded else None
