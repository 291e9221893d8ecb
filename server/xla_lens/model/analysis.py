"""The complete model of a dump set: its tables, its memory over time, and its findings."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from tree_sitter_xla_dump import release_memory
from xla_lens.model.capacity import Capacity, given_capacity
from xla_lens.model.checks.check import check
from xla_lens.model.checks.codes import Severity
from xla_lens.model.checks.completeness import warrants
from xla_lens.model.checks.context import Context
from xla_lens.model.checks.file_structure import unreadable
from xla_lens.model.checks.module import differences_from_module
from xla_lens.model.checks.overlaps import may_overlap
from xla_lens.model.checks.problems import Finding, Problem
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import Memory, measure, with_bounds
from xla_lens.model.process_memory import ProcessMemory
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.joining import join
from xla_lens.model.tried import Tried
from xla_lens.model.warrants import Warrants
from xla_lens.syntax.file_names import FileKind
from xla_lens.text.document import IsCancelled, ReportProgress


class Analysis(Struct, frozen=True, eq=False):
    """The immutable model that all features read. `findings` are in the order of the files and of their text.
    `warrants` say which numbers are exact. `left_out` has the flag of XLA because of which the facts of a file are
    missing. `name` is that of the HLO module, `chip` that of the chip that XLA compiled for, and `capacity` the
    device's; None if no file states them. `measured` is what the process that compiled it used of its memory, None if
    that was not measured. `module` is the HLO module, None if there is none or it is not read. `tried` is what a
    compiler said about changes of the program, None if nothing was tried.
    """

    dump: DumpSet
    memory: Memory
    findings: tuple[Finding, ...]
    warrants: Warrants
    left_out: Mapping[FileKind, str] = field(default_factory=dict)
    name: str | None = None
    chip: str | None = None
    capacity: Capacity | None = None
    measured: ProcessMemory | None = None
    module: HloModule | None = None
    tried: Tried | None = None

    def on_device(self, size_bytes: int | None) -> "Analysis":
        """Return this analysis with the capacity that the user states, which counts more than that of any file. None
        leaves it as it is.
        """
        capacity = given_capacity(size_bytes, self.chip)
        return replace(self, capacity=capacity) if capacity else self

    def with_module(self, module: HloModule | None, is_cancelled: IsCancelled | None = None) -> "Analysis":
        """Return this analysis with its HLO module and the findings of the dump against that. Raises `Cancelled`."""
        one = self if module is self.module else replace(self, module=module)
        if module is None:
            return one
        is_cancelled = is_cancelled or (lambda: False)
        has_alarms = any(finding.severity.is_alarm for finding in self.findings)
        is_whole = not has_alarms and not module.is_cut_off
        context = Context.of(self.dump, module)
        if is_whole and not differences_from_module(context, module, is_cancelled):
            return one
        # Once more from the start, because what the module shows may explain what the dump alone shows.
        findings = tuple(check(self.dump, self.memory, is_cancelled, module=module))
        found = warrants(self.dump, findings, self.left_out)
        return replace(one, findings=findings, memory=with_bounds(self.memory, found), warrants=found)

    def with_unreadable(self, module: DumpFile) -> "Analysis":
        """Return this analysis with the finding that the HLO module could not be read."""
        return replace(self, findings=(*self.findings, unreadable(module)))

    def module_in(self, file: DumpFile) -> HloModule | None:
        """Return the HLO module if that is in a file, else None."""
        return self.module if self.module and file is self.module.file else None

    @property
    def unreadable(self) -> tuple[DumpFile, ...]:
        """The files that could not be read."""
        return tuple(finding.place.file for finding in self.findings if finding.problem.kind is Problem.UNREADABLE_FILE)

    @property
    def is_sound(self) -> bool:
        """Whether there is no finding of severity error."""
        return not any(finding.severity is Severity.ERROR for finding in self.findings)

    def prepare(self) -> None:
        """Build all derived tables now, so that the first request does not pay for them."""
        self.dump.prepare()
        for file in self.dump.files:
            _ = file.document.line_starts, file.document.wide_rows


_JOINED: Final = 0.1
_MEASURED: Final = 0.4
"""The fractions of the analysis that are done after its steps. The checks take the rest."""


def analyse(
    files: Iterable[DumpFile],
    is_cancelled: IsCancelled = lambda: False,
    report_progress: ReportProgress = lambda _: None,
    left_out: Mapping[FileKind, str] = MappingProxyType({}),
) -> Analysis:
    """Analyse the files of one dump set. Missing and broken parts become findings. `report_progress` is called with the
    fraction that is done. `left_out` is that of `Analysis`. Raises nothing but `Cancelled`.
    """
    # Every step leaves freed memory between the tables that it keeps. Without this, it would add up.
    release_memory()
    dump = join(files)
    report_progress(_JOINED)
    memory = measure(dump, lambda value: may_overlap(dump, value))
    release_memory()
    report_progress(_MEASURED)
    findings = tuple(
        check(dump, memory, is_cancelled, lambda done: report_progress(_MEASURED + (1 - _MEASURED) * done))
    )
    release_memory()
    found = warrants(dump, findings, left_out)
    return Analysis(dump, with_bounds(memory, found), findings, found, left_out)
