"""The complete model of a dump set: its tables, its memory over time, and its findings."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xla_lens.model.checks.check import check
from xla_lens.model.checks.completeness import warrants
from xla_lens.model.checks.findings import Finding
from xla_lens.model.checks.overlaps import may_overlap
from xla_lens.model.memory.over_time import Memory, measure, with_bounds
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.joining import join
from xla_lens.model.warrants import Warrants


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """The immutable model that all features read. `findings` are in the order of the files and of their text.
    `warrants` say which numbers are exact.
    """

    dump: DumpSet
    memory: Memory
    findings: tuple[Finding, ...]
    warrants: Warrants


def analyse(files: Iterable[DumpFile], is_cancelled: Callable[[], bool] = lambda: False) -> Analysis:
    """Analyse the files of one dump set. Missing and broken parts become findings. Raises nothing but `Cancelled`."""
    dump = join(files)
    dump.prepare()
    memory = measure(dump, lambda value: may_overlap(dump, value))
    findings = tuple(check(dump, memory, is_cancelled))
    found = warrants(dump, findings)
    return Analysis(dump, with_bounds(memory, found), findings, found)
