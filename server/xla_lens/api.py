"""The public API, as `import xla_lens` offers it. `docs/library.md` describes it, and the tests compare the two.

Everything else in this package may change without notice.
"""

from pathlib import Path

from msgspec.structs import replace

from xla_lens.advice.actions import Action, Advice, ArgumentTree, Budget, Certainty, Cost, Sharding, Suggestion
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.advice.provenance import updated_arguments
from xla_lens.advice.subject import Buffers
from xla_lens.capturing.capture import Capture, Comparison, Peak, Table, TriedAdvice, read_captures
from xla_lens.capturing.compiling import capture, dumping
from xla_lens.disk.loading import load_module as load_module_of_set
from xla_lens.disk.loading import load_set, unreadable_files
from xla_lens.disk.reading import log_blocks, open_file
from xla_lens.disk.sets import NotADump, find_set
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.breakdowns import BytesByLine, BytesByOp, bytes_by_line, bytes_by_op
from xla_lens.model.attribution.frames import Origins, frames_of
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.model.checks.problems import Finding
from xla_lens.model.diff.breakdowns import By, Group
from xla_lens.model.diff.changes import Change, ValueChanges, ValueClass
from xla_lens.model.diff.comparison import SpaceComparison
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.stack_frames import StackFrame, user_frame
from xla_lens.model.memory import donation
from xla_lens.model.memory.alive import Ending, Reason, last_uses
from xla_lens.model.memory.allocation_history import AllocationHistory, allocation_history, arenas
from xla_lens.model.memory.budget import BudgetPlan, smallest_set
from xla_lens.model.memory.donation import Donation
from xla_lens.model.memory.edits import NextPeaks, next_peaks
from xla_lens.model.memory.over_time import LiveBytes, Memory, MemorySpace, live_values
from xla_lens.model.memory.padding import Padding, PaddingAtStep, padding_at, padding_of
from xla_lens.model.memory.printed_peak import PrintedPeak, explain_printed_peak
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Cause, Gap, Quantity, Warrant, Warrants
from xla_lens.oom.candidates import OomJoin, join_oom
from xla_lens.syntax.oom import read_oom_log
from xla_lens.syntax.oom_messages import OomMessage

__all__ = [
    "Action",
    "Advice",
    "AllocationHistory",
    "Analysis",
    "ArgumentTree",
    "Bound",
    "Budget",
    "BudgetPlan",
    "Buffers",
    "By",
    "BytesByLine",
    "BytesByOp",
    "Capture",
    "Cause",
    "Certainty",
    "Change",
    "Comparison",
    "Cost",
    "Donation",
    "DumpSet",
    "Ending",
    "Finding",
    "Gap",
    "Group",
    "HloModule",
    "LiveBytes",
    "Memory",
    "MemorySpace",
    "NextPeaks",
    "NotADump",
    "OomJoin",
    "OomMessage",
    "Padding",
    "PaddingAtStep",
    "Peak",
    "PrintedPeak",
    "Quantity",
    "Reason",
    "Rule",
    "Sharding",
    "SpaceComparison",
    "StackFrame",
    "Suggestion",
    "Table",
    "TriedAdvice",
    "ValueChanges",
    "ValueClass",
    "Warrant",
    "Warrants",
    "advise",
    "allocation_history",
    "arenas",
    "bytes_by_line",
    "bytes_by_op",
    "capture",
    "compare",
    "dumping",
    "explain_printed_peak",
    "find_donation",
    "frames_of",
    "join_oom",
    "last_uses",
    "live_values",
    "load",
    "load_module",
    "next_peaks",
    "oom_messages",
    "owned_bytes",
    "padding_at",
    "padding_of",
    "read_captures",
    "smallest_set",
    "user_frame",
]


def find_donation(dump: DumpSet, module: HloModule | None = None) -> Donation:
    """Find donated parameters, those that could have been donated because an output is their update, and copies that
    keep parameters and outputs apart.

    Without the HLO module, which shows what outputs are computed from, it finds fewer.
    """
    return donation.find_donation(dump, updated_arguments(Origins(dump, module)))


def load(path: str | Path) -> Analysis:
    """Load and analyse the dump that a file belongs to.

    `path` is any file of the dump; the other files are found beside it. Raises `NotADump` if the file is not part of
    a dump, and `OSError` if a file of it cannot be read.
    """
    analysis = load_set(find_set(Path(path)), {}, {})[1]
    if unreadable := unreadable_files(analysis):
        raise OSError(unreadable[0])
    return analysis


def load_module(path: str | Path) -> HloModule | None:
    """Load the HLO module of the dump that a file belongs to; None if there is none that can be read.

    Source lines need the module since jaxlib 0.8.2. Raises like `load`.
    """
    loaded = load_module_of_set(find_set(Path(path)), {}, None, lambda: False)
    return loaded.module if loaded else None


def oom_messages(log: str | Path) -> tuple[OomMessage, ...]:
    """Return XLA's out-of-memory messages in a log, which may be compressed with gzip, each once and in their order.

    `join_oom` joins a message with a dump. Raises `OSError` if the log cannot be read.
    """
    with open_file(Path(log), is_named=True) as stream:
        return read_oom_log(log_blocks(stream, str(log))).messages


def compare(
    old: Analysis | Capture | str | Path,
    new: Analysis | Capture | str | Path,
    old_module: HloModule | None = None,
    new_module: HloModule | None = None,
) -> Comparison:
    """Compare two dumps: what changed, to the byte.

    Each is a capture, an analysis, or a path as `load` takes it; of a path, the HLO module is loaded, too. The rows of
    each breakdown of a memory space add up to its old and its new peak. Each value of both dumps is in exactly one row
    of `values`. In a notebook, the comparison is the page of `xla-lens diff`.
    """
    return Comparison.of(_side(old, old_module), _side(new, new_module))


def _side(one: Analysis | Capture | str | Path, module: HloModule | None) -> Analysis:
    if isinstance(one, Capture):
        one, module = one.analysis, one.module
    elif not isinstance(one, Analysis):
        module, one = load_module(one), load(one)
    return replace(one, module=module or one.module)
