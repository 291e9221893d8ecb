"""`xla-lens report`: where the memory goes, for people and for programs."""

import argparse
import json
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from xla_lens.cli.sets import load_sets, size_of
from xla_lens.features.report import report
from xla_lens.features.report.facts import DEFAULT_PARTS, LiveSet, Part, Report, ReportOptions, SpaceReport
from xla_lens.render.report import report_markdown, report_text

_TOP: Final = 20
_WIDTH_OF_FILES: Final = 200


def add_report(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "report",
        help="show where the memory goes",
        description="Shows where the memory goes: totals, the true and the printed peak, what is live there, where it "
        "comes from, why it is there, and what might be saved.",
        epilog=f"parts: {', '.join(Part)}; without --part all but {Part.CURVE} and {Part.BIOGRAPHY}",
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="a file of a dump, or a folder of dumps")
    parser.add_argument("--output-format", choices=("text", "markdown", "json"), default="text", help="default: text")
    parser.add_argument("--part", metavar="PARTS", type=_parts, help="show these parts only, separated by commas")
    parser.add_argument(
        "--top", metavar="N", type=_count, help=f"so many values of each list; default: {_TOP}, all as JSON"
    )
    parser.add_argument("--at", metavar="STEP", type=_count, help="also show what is live at this step")
    parser.add_argument(
        "--budget",
        metavar="SIZE",
        type=size_of,
        help="also show which values would have to go for the default memory space to stay within it, such as 16GiB",
    )
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Runs the command; gives the exit status."""
    is_json = options.output_format == "json"
    parts = options.part or DEFAULT_PARTS
    wanted = ReportOptions(
        top=_TOP if options.top is None and not is_json else options.top,
        at_step=options.at,
        parts=parts | {Part.BUDGET} if options.budget is not None else parts - {Part.BUDGET},
        budget_bytes=options.budget,
    )
    reports = (
        report(loaded.analysis, {kind: path.as_posix() for kind, path in loaded.files.paths.items()}, wanted)
        for loaded in load_sets([options.path])
    )
    if is_json:
        print(json.dumps([_json(one) for one in reports], indent=2, ensure_ascii=False))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_FILES
    for number, one in enumerate(reports):
        lines = report_text(one, width) if options.output_format == "text" else report_markdown(one)
        print("\n" * bool(number) + "\n".join(lines))
    return 0


def _parts(text: str) -> frozenset[Part]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Part)]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}" if unknown else "no parts")
    return frozenset(Part(name) for name in names)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a number: {text!r}")
    return int(text)


# ---------------------------------------------------------------- JSON


def _json(one: Report) -> dict[str, Any]:
    """The schema is in the README. Parts that were not asked for are left out."""
    printed: dict[str, Any] = {
        "total_bytes": one.total_bytes,
        "peak_step": one.printed_peak_step,
        "peak_bytes": one.printed_peak_bytes,
    }
    if Part.PEAK in one.parts:
        explained = one.explained
        printed["explained"] = explained and {
            "listed": explained.listed and asdict(explained.listed),
            "counted_at_printed": explained.counted_at_printed and asdict(explained.counted_at_printed),
            "counted_at_peak": explained.counted_at_peak and asdict(explained.counted_at_peak),
        }
    known: dict[str, Any] = {
        "module": one.module,
        "files": {kind.value: path for kind, path in one.files.items()},
        "instructions": one.instructions,
        "values": one.values,
        "allocations": one.allocations,
        "reserved_bytes": one.reserved_bytes,
        "printed": printed,
    }
    if Part.DONATION in one.parts:
        known["donation"] = one.donation and asdict(one.donation)
    return known | {"memory_spaces": [_json_space(space, one) for space in one.spaces]}


def _json_space(space: SpaceReport, one: Report) -> dict[str, Any]:
    peak = space.peak
    known: dict[str, Any] = {
        "color": space.color,
        "reserved_bytes": space.reserved_bytes,
        "peak_step": peak.step if peak else None,
        "peak_instruction": peak.instruction if peak else None,
        "peak_live_bytes": (peak.live_bytes if peak else 0) if one.has_live_ranges else None,
        "live_bytes_at_printed_peak": space.live_at_printed_peak,
    }
    if Part.LIVE in one.parts:
        known["live_at_peak"] = [asdict(value) for value in peak.values] if peak else []
    if one.asked_step is not None:
        known["at_step"] = space.at_step and _json_live_set(space.at_step)
    parts = {
        Part.CURVE: ("curve", space.curve),
        Part.SOURCE: ("sources", space.sources and asdict(space.sources)),
        Part.ALIVE: ("alive_at_peak", [asdict(value) for value in space.alive or ()]),
        Part.PADDING: ("padding", space.padding and asdict(space.padding)),
        Part.ARENAS: ("arenas", [asdict(arena) for arena in space.arenas or ()]),
        Part.BIOGRAPHY: ("arenas", [asdict(arena) for arena in space.arenas or ()]),
        Part.BUDGET: ("budget", space.budget and asdict(space.budget)),
    }
    return known | {name: content for part, (name, content) in parts.items() if part in one.parts}


def _json_live_set(live: LiveSet) -> dict[str, Any]:
    return {
        "step": live.step,
        "instruction": live.instruction,
        "live_bytes": live.live_bytes,
        "live": [asdict(value) for value in live.values],
    }
