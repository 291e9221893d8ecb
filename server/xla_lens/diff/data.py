"""Comparisons as JSON, in the objects of `diff_json.py`."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.entities import op_name, shape_text
from xla_lens.diff import diff_json
from xla_lens.diff.compare import Diff
from xla_lens.diff.options import DiffPart
from xla_lens.diff.runs import ModuleInRuns, RunOfModule
from xla_lens.diff.words import cause_text, difference_text
from xla_lens.model.diff.breakdowns import WITH_SOURCES, BreakdownRow, By, Group, Pair
from xla_lens.model.diff.causes import ChangeCause
from xla_lens.model.diff.changes import ValueClass
from xla_lens.model.diff.comparison import Comparison, SpaceComparison
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.words.json_types import identity


def diff_data(diff: Diff) -> diff_json.Diff:
    """Return a comparison as JSON. Parts that were not requested are absent."""
    return diff_json.Diff(
        module=diff.name,
        old=_side(diff.old.name, diff.old.files),
        new=_side(diff.new.name, diff.new.files),
        is_unchanged=diff.comparison.is_unchanged if diff.comparison else None,
        warnings=[plain_text(difference_text(difference)) for difference in diff.differences],
        causes=[_cause(cause) for cause in diff.causes],
        instructions=_pair(diff.comparison.instructions if diff.comparison else None),
        memory_spaces=[_space(diff, space) for space in diff.memory_spaces],
        values=_values(diff, diff.comparison) if diff.comparison else None,
    )


def unpaired_data(name: str | None, files: Mapping[FileKind, str], *, is_old: bool) -> diff_json.Unpaired:
    """Return a module that only one side has as JSON."""
    side = _side(name, files)
    return diff_json.Unpaired(module=name, old=side if is_old else None, new=None if is_old else side)


def runs_data(modules: Sequence[ModuleInRuns], labels: Sequence[str]) -> list[diff_json.ModuleInRuns]:
    """Return the modules of several runs as JSON, each with its runs."""
    return [
        diff_json.ModuleInRuns(
            module=module.name,
            runs=[_run(*row) for row in zip(labels, (RunOfModule(), *module.runs), module.runs, strict=False)],
        )
        for module in modules
    ]


def _run(label: str, before: RunOfModule, run: RunOfModule) -> diff_json.Run:
    old, new = before.needed_bytes, run.needed_bytes
    return diff_json.Run(
        path=label,
        has_module=run.has_module,
        needed_bytes=run.needed_bytes,
        needed_change_bytes=new - old if old is not None and new is not None else None,
        peak_live_bytes=run.peak_live_bytes,
        line=run.line,
        line_bytes=run.line_bytes,
    )


def _side(name: str | None, files: Mapping[FileKind, str]) -> diff_json.Side:
    return diff_json.Side(module=name, files=files)


def _cause(cause: ChangeCause) -> diff_json.Cause:
    return diff_json.Cause(
        kind=cause.kind,
        count=diff_json.Pair(*cause.count),
        size_bytes=_pair(cause.size_bytes),
        text=cause_text(cause),
    )


def _pair(pair: Pair | None) -> diff_json.Pair | None:
    return diff_json.Pair(*pair) if pair else None


# ---------------------------------------------------------------- memory spaces


def _space(diff: Diff, space: SpaceComparison) -> diff_json.Space:
    exact = space.exact
    reserved, peak = exact.reserved_bytes, exact.peak_live_bytes
    found = diff_json.Space(
        color=space.color,
        name=space.id.name,
        peak_live_bytes=_pair(peak),
        peak_step=diff_json.StepPair(space.old.peak_step, space.new.peak_step) if peak else None,
        reserved_bytes=_pair(reserved),
        needed_bytes=_pair(exact.needed_bytes),
        values=_pair(exact.values),
        allocations=_pair(exact.allocations),
        breakdowns=_breakdowns(diff, space) if peak else None,
    )
    if DiffPart.TOTALS in diff.options.parts and space.reserved_by_kind is not None:
        found.reserved_by_kind = [_row(row) for row in space.reserved_by_kind] if reserved else None
        found.free_bytes = _pair(exact.free_bytes)
        found.padding_bytes = _pair(exact.padding_bytes)
        found.unknown_padding_bytes = _pair(exact.unknown_padding_bytes)
    return found


def _breakdowns(diff: Diff, space: SpaceComparison) -> diff_json.Breakdowns:
    def requested(by: By) -> tuple[BreakdownRow, ...] | None:
        return space.breakdowns.get(by) if DiffPart(by.value) in diff.options.parts else None

    def rows(by: By) -> list[diff_json.Row] | UnsetType:
        found = requested(by)
        return UNSET if found is None else [_row(row, by) for row in found[: diff.options.top]]

    groups = requested(By.GROUP)
    return diff_json.Breakdowns(
        line=rows(By.LINE),
        parameter=rows(By.PARAMETER),
        op_name=rows(By.OP_NAME),
        opcode=rows(By.OPCODE),
        kind=rows(By.KIND),
        group=UNSET if groups is None else [_group_row(row) for row in groups[: diff.options.top]],
    )


def _row(row: BreakdownRow, by: By | None = None) -> diff_json.Row:
    derived = row.derived_bytes if by in WITH_SOURCES else None
    return diff_json.Row(
        key=str(row.key) if row.key is not None else None,
        old_bytes=row.size_bytes.old,
        new_bytes=row.size_bytes.new,
        old_count=row.count.old,
        new_count=row.count.new,
        old_derived_bytes=derived.old if derived else UNSET,
        new_derived_bytes=derived.new if derived else UNSET,
    )


def _group_row(row: BreakdownRow) -> diff_json.GroupRow:
    assert isinstance(row.key, Group)
    key = row.key
    return diff_json.GroupRow(
        key=" · ".join(part or "-" for part in (key.shape, key.op_name or key.opcode, key.line)),
        shape=key.shape,
        op_name=key.op_name,
        opcode=key.opcode,
        line=key.line,
        old_bytes=row.size_bytes.old,
        new_bytes=row.size_bytes.new,
        old_count=row.count.old,
        new_count=row.count.new,
        old_derived_bytes=row.derived_bytes.old,
        new_derived_bytes=row.derived_bytes.new,
    )


# ---------------------------------------------------------------- values


def _values(diff: Diff, compared: Comparison) -> diff_json.Values:
    count = compared.values.count
    rows = diff.rows[: diff.options.top].tolist() if DiffPart.VALUES in diff.options.parts else None
    return diff_json.Values(
        unchanged=count(ValueClass.UNCHANGED),
        changed=count(ValueClass.CHANGED),
        moved=count(ValueClass.MOVED),
        added=count(ValueClass.ADDED),
        removed=count(ValueClass.REMOVED),
        matched_peak_bytes_fraction=compared.matched_peak_bytes_fraction,
        changes=UNSET if rows is None else [_change(compared, row) for row in rows],
    )


def _change(comparison: Comparison, row: int) -> diff_json.Change:
    found = comparison.values.row(row)
    return diff_json.Change(
        value_class=found.value_class.name.lower(),
        old=_value(comparison.old.dump, found.old),
        new=_value(comparison.new.dump, found.new),
        changed=[flag.name.lower() for flag in found.change if flag.name],
        longer_by_steps=found.longer_by,
        is_at_old_peak=found.is_at_old_peak,
        is_at_new_peak=found.is_at_new_peak,
        confidence=found.confidence.name.lower() if found.confidence is not None else None,
    )


def _value(dump: DumpSet, value: int) -> diff_json.ChangedValue | None:
    if value == NONE:
        return None
    size_bytes, start_step, end_step = (
        None if (number := column.item(value)) == NONE else number
        for column in (dump.values.size_bytes, dump.values.start_step, dump.values.end_step)
    )
    return diff_json.ChangedValue(
        *identity(dump, value),
        size_bytes=size_bytes,
        color=dump.values.color.item(value),
        start_step=start_step,
        end_step=end_step,
        shape=shape_text(dump, value) or None,
        op_name=op_name(dump, value),
    )
