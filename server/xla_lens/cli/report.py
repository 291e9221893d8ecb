"""`xla-lens report`: where the memory goes, for people and for programs."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from xla_lens.cli.sets import load_sets
from xla_lens.features.report import LiveSet, Report, ReportOptions, SpaceReport, report
from xla_lens.render.numbers import counted, human, percent, shortened, space_name

_TOP: Final = 20
_WIDEST_NAME: Final = 40
_WIDEST_SHAPE: Final = 44
_WIDTH_OF_FILES: Final = 200


def add_report(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "report",
        help="show where the memory goes",
        description="Shows where the memory goes: totals, the true and the printed peak, and what is live at the peak.",
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="a file of a dump, or a folder of dumps")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "--top", metavar="N", type=_count, help=f"so many values at the peak; default: {_TOP} as text, all as JSON"
    )
    parser.add_argument("--at", metavar="STEP", type=_count, help="also show what is live at this step")
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Runs the command; gives the exit status."""
    is_text = options.output_format == "text"
    wanted = ReportOptions(top=_TOP if is_text and options.top is None else options.top, at_step=options.at)
    reports = (
        report(loaded.analysis, {kind: str(path) for kind, path in loaded.files.paths.items()}, wanted)
        for loaded in load_sets([options.path])
    )
    if is_text:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_FILES
        for number, one in enumerate(reports):
            print("\n" * bool(number) + "\n".join(_text(one, width)))
    else:
        print(json.dumps([_json(one) for one in reports], indent=2, ensure_ascii=False))
    return 0


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number: {text!r}")
    return int(text)


# ---------------------------------------------------------------- JSON


def _json(one: Report) -> dict[str, Any]:
    """The schema is in the README."""
    return {
        "module": one.module,
        "files": {kind.value: path for kind, path in one.files.items()},
        "instructions": one.instructions,
        "values": one.values,
        "allocations": one.allocations,
        "reserved_bytes": one.reserved_bytes,
        "printed": {
            "total_bytes": one.total_bytes,
            "peak_step": one.printed_peak_step,
            "peak_bytes": one.printed_peak_bytes,
        },
        "memory_spaces": [_json_space(space, one) for space in one.spaces],
    }


def _json_space(space: SpaceReport, one: Report) -> dict[str, Any]:
    peak = space.peak
    known: dict[str, Any] = {
        "color": space.color,
        "reserved_bytes": space.reserved_bytes,
        "peak_step": peak.step if peak else None,
        "peak_instruction": peak.instruction if peak else None,
        "peak_live_bytes": (peak.live_bytes if peak else 0) if one.has_live_ranges else None,
        "live_bytes_at_printed_peak": space.live_at_printed_peak,
        "live_at_peak": [asdict(value) for value in peak.values] if peak else [],
    }
    if one.asked_step is not None:
        at = space.at_step
        known["at_step"] = at and {
            "step": at.step,
            "instruction": at.instruction,
            "live_bytes": at.live_bytes,
            "live": [asdict(value) for value in at.values],
        }
    return known


# ---------------------------------------------------------------- text


def _text(one: Report, width: int) -> Iterator[str]:
    first = Path(next(iter(one.files.values())))
    yield one.module or first.name
    yield f"  files      {', '.join(one.files)} in {first.parent}"
    if one.reserved_bytes is not None and one.allocations is not None:
        yield f"  reserved   {human(one.reserved_bytes)} in {counted(one.allocations, 'allocation')}"
    counts = ((one.values, "value"), (one.instructions, "scheduled instruction"))
    told = ", ".join(counted(count, what) for count, what in counts if count is not None)
    if told:
        yield f"  holds      {told}"
    yield from _missing(one)
    if one.findings:
        yield f"  findings   {one.findings:,}: run `xla-lens check {first}`"
    if one.spaces:
        yield ""
        yield from _totals(one)
    if one.has_live_ranges:
        yield ""
        yield from _peaks(one)
        for space in one.spaces:
            if space.peak:
                yield ""
                yield from _live_set(space.peak, f"Live at the peak of {space_name(space.color)}", width)
            if space.at_step:
                yield ""
                yield from _live_set(space.at_step, f"Live at the step in {space_name(space.color)}", width)
    if one.lacks_step:
        end = "nothing is known of steps" if one.last_step is None else f"the steps are 0 to {one.last_step}"
        yield ""
        yield f"There is no step {one.asked_step}: {end}."


def _missing(one: Report) -> Iterator[str]:
    if one.allocations is None:
        yield "  missing    the buffer assignment: nothing is known of allocations, sizes and offsets"
    if not one.has_live_ranges:
        yield "  missing    the live ranges: nothing is known of the peak"
    if one.total_bytes is None:
        yield "  missing    the values: nothing is known of the total, positions, uses and instructions"


def _totals(one: Report) -> Iterator[str]:
    kinds = list(dict.fromkeys(kind.kind for space in one.spaces for kind in space.kinds))
    rows = [["Memory space", "reserved", *kinds]]
    for space in one.spaces:
        sizes = {kind.kind: human(kind.size_bytes) for kind in space.kinds}
        rows.append([_space(space), human(space.reserved_bytes), *(sizes.get(kind, "") for kind in kinds)])
    yield from _table(rows, left=(0,))


def _peaks(one: Report) -> Iterator[str]:
    rows = [["Peak", "true", "of reserved", "at step", "instruction", "live at the printed peak"]]
    for space in one.spaces:
        peak, printed = space.peak, space.live_at_printed_peak
        rows.append(
            [
                _space(space),
                human(peak.live_bytes if peak else 0),
                percent(peak.live_bytes if peak else 0, space.reserved_bytes),
                f"{peak.step}" if peak else "",
                shortened(peak.instruction or "", _WIDEST_NAME) if peak else "",
                human(printed) if printed is not None else "",
            ]
        )
    if one.spaces:
        yield from _table(rows, left=(0, 4))
    if one.printed_peak_step is not None and one.printed_peak_bytes is not None:
        yield f"  XLA prints a peak of {human(one.printed_peak_bytes)} at step {one.printed_peak_step}."


def _live_set(live: LiveSet, title: str, width: int) -> Iterator[str]:
    instruction = f" ({live.instruction})" if live.instruction else ""
    yield f"{title}: {human(live.live_bytes)} in {counted(live.count, 'value')} at step {live.step}{instruction}"
    header = ["  size", "share", "value", "shape", "live", "op_name"]
    rows = [
        [
            f"  {human(value.size_bytes)}",
            percent(value.size_bytes, live.live_bytes),
            shortened(value.name + (value.index or ""), _WIDEST_NAME),
            shortened(value.shape, _WIDEST_SHAPE),
            f"{value.start_step}-{value.end_step}",
            value.op_name or "",
        ]
        for value in live.values
    ]
    for line in _table([header, *rows], left=(2, 3, 4, 5)):
        yield line if len(line) <= width else line[: width - 1] + "…"
    if live.count > len(live.values):
        yield f"  ... and {counted(live.count - len(live.values), 'smaller value')}"


def _space(space: SpaceReport) -> str:
    return f"  {space.color} {space_name(space.color)}"


def _table(rows: Sequence[Sequence[str]], left: Sequence[int]) -> Iterator[str]:
    """Rows as columns of equal width, aligned to the right but for those in `left`."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = (
            cell.ljust(width) if column in left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
