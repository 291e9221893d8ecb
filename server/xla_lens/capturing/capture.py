"""What `xla_lens.capture` and `xla_lens.compare` return. It shows itself in a notebook, without other libraries."""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, overload

from msgspec.structs import replace

from xla_lens.advice.actions import Advice
from xla_lens.capturing.shown import (
    budget_problem,
    capture_html,
    capture_text,
    comparison_html,
    comparison_text,
    fit_problems,
    peak_text,
    picture_of_section,
    section_text,
    table_html,
    table_text,
    table_title,
)
from xla_lens.diff.compare import Diff, diff_of
from xla_lens.diff.options import DEFAULT_DIFF_TOP, DiffOptions
from xla_lens.disk.loading import load_module_or_finding, load_set, unreadable_files
from xla_lens.disk.package_files import page_sources
from xla_lens.disk.sets import SetFiles, find_sets
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import over_bytes
from xla_lens.model.diff import comparison
from xla_lens.model.diff.comparable import DiffSide
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.summary import module_of
from xla_lens.model.tables.backend import parse_spaces
from xla_lens.model.tried import Tried
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.data import report_data, space_data
from xla_lens.report.facts import Report, SpaceReport, report
from xla_lens.report.options import DEFAULT_PARTS, Part, ReportOptions
from xla_lens.report.report_json import Node, Sources
from xla_lens.text.printable import printable
from xla_lens.trying.changes import Change, candidates
from xla_lens.trying.kept import keep, tried_of
from xla_lens.trying.process import CannotTry, Limits, Measured, Program, compiled, program_of
from xla_lens.trying.table import TITLE, trials_section, tried_changes, tried_module
from xla_lens.trying.trials import Attempt, Trial, Trials, planned, try_candidates
from xla_lens.words.json_types import Json, as_dictionary
from xla_lens.words.numbers import parse_size


class Table(Sequence[Mapping[str, Any]]):
    """Rows with the same columns, biggest first.

    `table[0]` is a row as a dictionary, `table["size_bytes"]` a column as a list, `table[:5]` a table.
    `to_dict` returns all columns, as the data frames of pandas and polars take them. In a notebook, it is a table.
    `bound` says whether the rows are all there are, and their numbers the true ones.
    """

    def __init__(self, title: str, rows: Sequence[Mapping[str, Any]], bound: Bound = Bound.EXACT) -> None:
        self.title = title
        self.bound = bound
        self._rows = tuple(rows)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns. A table without rows has none."""
        return tuple(self._rows[0]) if self._rows else ()

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns by name, as `pandas.DataFrame` takes them."""
        return {name: self[name] for name in self.columns}

    @overload
    def __getitem__(self, key: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, key: slice) -> "Table": ...
    @overload
    def __getitem__(self, key: str) -> list[Any]: ...
    def __getitem__(self, key: int | slice | str) -> "Mapping[str, Any] | Table | list[Any]":
        if isinstance(key, str):
            return [row[key] for row in self._rows]
        return Table(self.title, self._rows[key], self.bound) if isinstance(key, slice) else self._rows[key]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return table_text(self.title, self._rows, self.bound)

    def _repr_html_(self) -> str:
        return table_html(self.title, self._rows, self.bound)


class Comparison(comparison.Comparison, frozen=True):
    """Two dumps of one module, or of two similar modules."""

    def __repr__(self) -> str:
        return comparison_text(self._diff())

    def _repr_html_(self) -> str:
        return comparison_html(self._diff(), page_sources())

    def _diff(self) -> Diff:
        old, new = _side(self.old), _side(self.new)
        return diff_of(self, old, new, DiffOptions(DEFAULT_DIFF_TOP))


def _side(analysis: Analysis) -> DiffSide:
    return DiffSide(analysis, {file.kind: file.label for file in analysis.dump.files})


Limit: TypeAlias = str | int | None
"""A size such as "15.75GiB", or a number of bytes; None for no limit."""


class Peak:
    """The peak of one memory space of a capture, and tables of what is live there.

    - `space` is the name of the memory space, such as HBM.
    - `size_bytes` are the live bytes at the peak, `reserved_bytes` those of all its allocations, and `needed_bytes`
      those that the device must provide. `bound` and `reserved_bound` say whether these are the true numbers.
    - `step` and `instruction` are where the peak is first reached, None if nothing is ever live.
    """

    def __init__(self, capture: "Capture", space: MemorySpace) -> None:
        dump, step = capture.analysis.dump, space.peak_step
        self._capture, self._memory_space = capture, space
        self.space: str = space.id.name
        self.size_bytes: int = space.peak_live_bytes
        self.bound: Bound = space.live_bound
        self.step: int | None = step if space.live_bound is not Bound.UNKNOWN else None
        self.instruction: str | None = dump.instruction_at(self.step) if self.step is not None else None
        self.needed_bytes: int = space.needed_bytes
        self.reserved_bytes: int = space.reserved_bytes
        self.reserved_bound: Bound = space.reserved_bound

    @property
    def live_at_peak(self) -> Table:
        """The values that are live at the peak, with their source lines. `owned_bytes` add up to the peak."""
        report, one = self._part(Part.LIVE)
        frames = (report.origins.of_value(value).line for value in (one.peak.values.tolist() if one.peak else ()))
        rows = zip(space_data(report, one).live_at_peak or (), frames, strict=True)
        table = [
            {**as_dictionary(row), "file": frame and frame.file, "line": frame and frame.line} for row, frame in rows
        ]
        return self._table("live_at_peak", table)

    @property
    def lines(self) -> Table:
        """The live bytes at the peak by source line. They add up to the peak."""
        found = space_data(*self._part(Part.LINE)).lines
        rows = [as_dictionary(line) for line in found.lines] if found else []
        return self._table("lines", [{name: row[name] for name in row if name != "stacks"} for row in rows])

    @property
    def opcodes(self) -> Table:
        """The live bytes at the peak by opcode. They add up to the peak."""
        return self._children(lambda sources: sources.by_opcode, "opcodes")

    @property
    def kinds(self) -> Table:
        """The live bytes at the peak by the kind of their allocation. They add up to the peak."""
        return self._children(lambda sources: sources.by_kind, "kinds")

    def to_dict(self) -> Json:
        """Return the numbers as a row of `Capture.peaks`. Unknown ones are None."""
        row = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        live = ["size_bytes"] * (self.bound is Bound.UNKNOWN)
        reserved = ["needed_bytes", "reserved_bytes"] * (self.reserved_bound is Bound.UNKNOWN)
        return row | dict.fromkeys([*live, *reserved])

    def __int__(self) -> int:
        return self.size_bytes

    def __repr__(self) -> str:
        return peak_text(self._capture.analysis, self._memory_space)

    def _part(self, part: Part) -> tuple[Report, SpaceReport]:
        found = self._capture._report(_all_of(part))
        return found, next(space for space in found.spaces if space.space is self._memory_space)

    def _children(self, tree: Callable[[Sources], Node], name: str) -> Table:
        found = space_data(*self._part(Part.SOURCE)).sources
        children = tree(found).children if found else []
        rows = ({"name": child.name, "size_bytes": child.size_bytes, "count": child.count} for child in children)
        return self._table(name, [*rows])

    def _table(self, name: str, rows: list[Json]) -> Table:
        return Table(table_title(name, self.space), rows, self.bound)


class Capture:
    """A compiled program and where its memory goes. In a notebook it is its own picture: a summary and the memory map.

    - `analysis` and `module` are what `load` and `load_module` return.
    - `compiled` is the compiled function, which takes the arguments of the function; None if `error` is not.
    - `error` is what the compiler raised when it ran out of memory, else None.
    - `folder` has the dump. It is removed with the capture if `capture` made it.
    """

    compiled: Any = None
    error: Exception | None = None

    def __init__(self, files: SetFiles, analysis: Analysis) -> None:
        self.analysis = analysis
        self.folder: Path = files.stem.parent
        self._files = files
        self._write_module: Callable[[Change, Path], None] | None = None
        self._reports: dict[ReportOptions, Report] = {}

    @cached_property
    def module(self) -> HloModule | None:
        """The HLO module, None if it cannot be read."""
        return load_module_or_finding(self._files, {}, self.analysis).module

    @property
    def _joined(self) -> Analysis:
        """The analysis with the HLO module."""
        return replace(self.analysis, module=self.module)

    @property
    def name(self) -> str:
        """The name of the HLO module, such as jit_train_step."""
        return module_of(self.analysis)

    # ------------------------------------------------------------ peaks and tables

    def peak(self, space: str | int | None = None) -> Peak:
        """Return the peak of a memory space: its name in any case, such as "VMEM" or "host memory", or its number.

        None and "HBM" stand for the main memory of the device, which is host memory on the CPU. Raises `ValueError` for
        a memory space that the program does not use.
        """
        found = self._space(space)
        if found is None:
            names = ", ".join(each_space.id.name for each_space in self.analysis.memory.spaces)
            raise ValueError(f"{self.name} uses no memory space {space!r}; it uses {names or 'none'}")
        return Peak(self, found)

    @property
    def needed(self) -> int:
        """What the program needs of the device's main memory, in bytes: its arguments, outputs and temporaries."""
        return self.peak().needed_bytes

    @property
    def peaks(self) -> Table:
        """The peak of each memory space."""
        rows = [Peak(self, space).to_dict() for space in self.analysis.memory.spaces]
        return Table(table_title("peaks"), rows, self.analysis.warrants.of(Quantity.LIVE).bound)

    @property
    def live_at_peak(self) -> Table:
        """The values that are live at the peak of the device's main memory, with their source lines."""
        return self.peak().live_at_peak

    @property
    def lines(self) -> Table:
        """The live bytes at the peak of the device's main memory by source line."""
        return self.peak().lines

    @property
    def advice(self) -> Table:
        """What would lower the peak of the device's main memory, the largest saving first. Empty if unknown."""
        found = report_data(self._report(_all_of(Part.ADVICE))).advice
        actions = [as_dictionary(action) for action in found.actions] if found else []
        rows = [{name: row[name] for name in row if name not in ("buffers", "policy")} for row in actions]
        return Table(table_title("advice"), rows, self.analysis.warrants.of(Quantity.LIVE).bound)

    def try_advice(
        self, budget: Limit = None, *, seconds_each: float = 600, compiler_memory: Limit = None
    ) -> "TriedAdvice":
        """Compile the function with what `advice` says, and return what each change really saves, and the best of them
        together, as far as a budget such as "15.75GiB" asks for them. The rows of `advice` are measured from then on.

        The function is traced again, but nothing runs, and it stays as it is. Each change is compiled in a process of
        its own, which is stopped after `seconds_each` or if it uses more than `compiler_memory`. An interrupt from the
        keyboard ends the trials and keeps what is measured. Raises `ValueError` if this capture was read from a dump.
        """
        limits = Limits(seconds_each, _size("compiler_memory", compiler_memory))
        attempt = Attempt(self._program(), self.analysis.dump, limits, _tell)
        trials = try_candidates(attempt, self._estimated(), self.needed, _size("budget", budget))
        if trials.before is not None:
            self._keep_measured(trials)
        return TriedAdvice(attempt, trials)

    def try_donation(self) -> Comparison:
        """Compile the function again, with the arguments donated that `advice` says, and return the comparison. The row
        of the advice is measured from then on. The function itself stays as it is. `try_advice` tries everything else,
        too.

        Raises `ValueError` if the advice donates nothing, if this capture was read from a dump, or if the function
        cannot be compiled again.
        """
        program, dump = self._program(), self.analysis.dump
        found = candidates(dump, self._estimated(), {}, None)
        donating = next((candidate for candidate in found if candidate.change and candidate.change.donated), None)
        if donating is None or donating.change is None:
            raise ValueError(f"the advice for {self.name} donates no arguments")
        with tempfile.TemporaryDirectory(prefix="xla-lens-try-") as folder:
            try:
                measured, files = compiled(program, donating.change, Limits(), Path(folder))
            except CannotTry as error:
                raise ValueError(f"{self.name} cannot be compiled again: {error}") from error
            now = Measured(self.needed, self.peak().size_bytes, self.peak().step, None, is_too_large=False)
            trial = Trial(donating, measured, "")
            self._keep_measured(Trials(now, "", self.needed, (trial,), None, None, is_interrupted=False))
            return Comparison.of(self._joined, Capture(files, load_set(files, {}, {})[1])._joined)

    def to_dict(self) -> Json:
        """Return everything, as `xla-lens report --output-format json` prints it (`docs/report.schema.json`)."""
        return as_dictionary(report_data(self._report(_all_of(*DEFAULT_PARTS))))

    # ------------------------------------------------------------ limits

    def assert_fits(self, *, hbm: Limit = None, vmem: Limit = None, smem: Limit = None, host: Limit = None) -> None:
        """Raise `AssertionError` if the program needs more than a size, such as "15.75GiB", in a memory space.

        The limits apply to all allocations, except buffers in registers and on stacks. `hbm` is the main memory of the
        device, which is host memory on the CPU. The message says by how much the program is over and what is live at
        the peak. A program that did not compile, or whose dump does not tell what it needs, does not fit.
        """
        __tracebackhide__ = True
        sizes = {"hbm": hbm, "vmem": vmem, "smem": smem, "host": host}
        budgets: dict[str, int] = {}
        for name, size in sizes.items():
            found = _size(name, size)
            if found is not None:
                budgets[name] = found
        if not budgets:
            raise TypeError(f"assert_fits needs a limit, such as hbm='15.75GiB'; it takes {', '.join(sizes)}")
        problems = [
            budget_problem(self._report(replace(_SUMMARY, budget_bytes=budget)), space)
            for name, budget in budgets.items()
            if (space := self._space(name)) and over_bytes(space, budget) != 0
        ]
        if problems or self.error:
            raise AssertionError(printable(fit_problems(self.name, self.error, problems))) from self.error

    # ------------------------------------------------------------ pictures

    def __repr__(self) -> str:
        return capture_text(self._report(_SUMMARY), self.error)

    def _repr_html_(self) -> str:
        return capture_html(self._report(_SUMMARY), self._joined, self.error, page_sources())

    # ------------------------------------------------------------ inside

    def _estimated(self) -> Advice | None:
        """The advice without what was measured before."""
        self._set_tried(None)
        return self._report(_all_of(Part.ADVICE)).advice

    def _keep_measured(self, trials: Trials) -> None:
        found = tried_module(trials, self.analysis.dump, self.name, self._files.labels.values())
        self._set_tried(tried_of(found, self._files))
        try:
            keep(found, self._files)
        except OSError as error:
            # The folder may be gone.
            words = f"what is measured cannot be kept beside the dump: {error.strerror or error}"
            print(printable(f"xla-lens: {words}"), file=sys.stderr)

    def _set_tried(self, tried: Tried | None) -> None:
        self.analysis = replace(self.analysis, tried=tried)
        self._reports.clear()

    def _program(self) -> Program:
        """What is compiled again. Raises `ValueError`."""
        if self._write_module is None:
            words = (
                "was read from a dump; only a function given to xla_lens.capture can be tried here; see `xla-lens try`"
            )
            raise ValueError(f"{self.name} {words}")
        try:
            return replace(program_of(self._files, self._joined), write_module=self._write_module, can_trace=True)
        except CannotTry as error:
            raise ValueError(f"{self.name} cannot be compiled again: {error}") from error

    def _space(self, space: str | int | None) -> MemorySpace | None:
        """A memory space by its name or number, None if the program does not use it."""
        if space is None or str(space).strip().lower() == "hbm":
            return self.analysis.memory.space(DEFAULT_COLOR)
        spaces = parse_spaces(str(space))
        return next((each_space for each_space in self.analysis.memory.spaces if each_space.id in spaces), None)

    def _report(self, options: ReportOptions) -> Report:
        if options not in self._reports:
            files = {kind: path.as_posix() for kind, path in self._files.paths.items()}
            analysis = (
                self._joined if {Part.LINE, Part.LIVE, Part.DONATION, Part.ADVICE} & options.parts else self.analysis
            )
            self._reports[options] = report(analysis, files, options)
        return self._reports[options]


class TriedAdvice(Table):
    """What a compiler says about each change that `Capture.try_advice` has tried: the rows of a table.

    `certainty` is *measured*, or *estimated* with the `reason` if a change could not be tried. `needed_bytes` is what
    the program needs after the change, `estimated_needed_bytes` what the advice expected. `flops_factor` is how the
    floating-point operations of matrix products and convolutions grow.

    - `plan` are the numbers of the rows that are taken together, and `planned_bytes` what the program needs with all of
      them, compiled as a whole. `is_reached` says whether that is within the budget, None without one.
    - `is_interrupted` says that not everything was tried.
    """

    def __init__(self, attempt: Attempt, trials: Trials) -> None:
        super().__init__(TITLE, [*map(as_dictionary, tried_changes(trials))])
        self._attempt, self._trials = attempt, trials
        last = trials.plan.steps[-1] if trials.plan else trials.before
        self.plan: tuple[int, ...] = trials.plan.trials if trials.plan else ()
        self.planned_bytes: int | None = last.needed_bytes if last else None
        self.is_reached: bool | None = trials.is_reached
        self.is_interrupted: bool = trials.is_interrupted

    def without(self, *rows: int) -> "TriedAdvice":
        """Return the same with a plan that takes none of some rows: the changes together are compiled again."""
        if self._trials.before is None:
            return self
        return TriedAdvice(self._attempt, planned(self._attempt, self._trials, rows))

    def __repr__(self) -> str:
        return section_text(trials_section(self._trials))

    def _repr_html_(self) -> str:
        return picture_of_section(trials_section(self._trials))


def _tell(words: str) -> None:
    """Say what is being compiled, in one line of standard error, as a notebook shows it."""
    print(printable(f"xla-lens: compiling {words}"), file=sys.stderr)


def _size(name: str, size: Limit) -> int | None:
    """A size as a number of bytes."""
    found = parse_size(size) if isinstance(size, str) else size
    if found is None and size is not None:
        raise ValueError(f"{name}={size!r}: not a size; write it as '15.75GiB', or as a number of bytes")
    return found


_SUMMARY: Final = ReportOptions(top=10, parts=frozenset({Part.LINE, Part.LIVE, Part.ADVICE}))
"""The values and lines that pictures and messages show."""


def _all_of(*parts: Part) -> ReportOptions:
    return ReportOptions(parts=frozenset(parts), has_answer=False)


def read_captures(path: str | Path) -> tuple[Capture, ...]:
    """Load the dumps at a path, a file or a folder such as that of `dumping`: one capture for each module, the largest
    peak first.

    A dump that cannot be read comes last, and its analysis has a finding that says why.

    Raises `NotADump` if there are none, and `OSError` if none can be read.
    """
    found = [Capture(files, load_set(files, {}, {})[1]) for files in find_sets(Path(path))]
    unreadable = [reasons for dump in found if (reasons := unreadable_files(dump.analysis))]
    if len(unreadable) == len(found):
        raise OSError(unreadable[0][0])
    return tuple(sorted(found, key=lambda dump: -sum(space.peak_live_bytes for space in dump.analysis.memory.spaces)))
