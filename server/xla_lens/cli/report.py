"""`xla-lens report`: where the memory goes, for people and for programs."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.sets import LoadedSet, count_of, load_sets, sets_at, size_of
from xla_lens.features.memory_map import memory_map
from xla_lens.features.overview import overview
from xla_lens.features.report import report
from xla_lens.features.report.facts import DEFAULT_PARTS, Part, Report, ReportOptions
from xla_lens.files import load_module, page_sources
from xla_lens.render.memory_map.data import memory_map_data
from xla_lens.render.memory_map.page import PAGE_TOP, memory_map_page
from xla_lens.render.report import report_markdown, report_text
from xla_lens.render.report.data import report_data

_TOP: Final = 20
_WIDTH_OF_FILES: Final = 200


def add_report(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "report",
        help="show where the memory goes",
        description="Shows where the memory goes: totals, the true and the printed peak, what is live there, where it "
        "comes from, why it is there, and what might be saved.",
        epilog=f"parts: {', '.join(Part)}; without --part all but {Part.CURVE}, {Part.STACKS} and {Part.BIOGRAPHY}",
    )
    parser.add_argument("path", metavar="PATH", type=Path, help="a file of a dump, or a folder of dumps")
    parser.add_argument(
        "--output-format",
        choices=("text", "markdown", "json", "html"),
        default="text",
        help="default: text; html is the memory map of one dump, as a page that needs nothing else",
    )
    parser.add_argument("--part", metavar="PARTS", type=_parts, help="show these parts only, separated by commas")
    parser.add_argument(
        "--top", metavar="N", type=count_of, help=f"so many values of each list; default: {_TOP}, all as JSON"
    )
    parser.add_argument("--at", metavar="STEP", type=count_of, help="also show what is live at this step")
    parser.add_argument(
        "--budget",
        metavar="SIZE",
        type=size_of,
        help="also show which values would have to go for the default memory space to stay within it, such as 16GiB",
    )
    parser.add_argument(
        "--stacks",
        action="store_const",
        const=frozenset({Part.LINE, Part.STACKS}),
        default=frozenset(),
        help=f"also show which calls led to each line: as the parts {Part.LINE},{Part.STACKS}",
    )
    parser.set_defaults(run=run_report)


def run_report(options: argparse.Namespace) -> int:
    """Runs the command; gives the exit status."""
    if options.output_format == "html":
        print("\n".join(_page(options.path)))
        return 0
    is_json = options.output_format == "json"
    parts = (options.part or DEFAULT_PARTS) | options.stacks
    wanted = ReportOptions(
        top=_TOP if options.top is None and not is_json else options.top,
        at_step=options.at,
        parts=parts | {Part.BUDGET} if options.budget is not None else parts - {Part.BUDGET},
        budget_bytes=options.budget,
    )
    reports = (_report(loaded, wanted) for loaded in load_sets([options.path]))
    if is_json:
        print(json.dumps([report_data(one) for one in reports], indent=2, ensure_ascii=False))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_FILES
    for number, one in enumerate(reports):
        lines = report_text(one, width) if options.output_format == "text" else report_markdown(one)
        print("\n" * bool(number) + "\n".join(lines))
    return 0


def _report(loaded: LoadedSet, wanted: ReportOptions) -> Report:
    module = load_module(loaded.files, {}, None, lambda: False) if Part.LINE in wanted.parts else None
    files = {kind: path.as_posix() for kind, path in loaded.files.paths.items()}
    return report(loaded.analysis, files, wanted, module.module if module else None)


def _page(path: Path) -> Iterator[str]:
    """The page of the only set at a path."""
    found = sets_at([path])
    if len(found) > 1:
        one = next(iter(found[0].paths.values()))
        raise CannotRun(f"{path}: {len(found):,} dumps, and a page shows one: choose one of them, such as {one}")
    (loaded,) = load_sets([path])
    read = load_module(loaded.files, {}, None, lambda: False)
    module = read.module if read else None
    data = memory_map_data(memory_map(loaded.analysis, module))
    text = json.dumps(data, separators=(",", ":")).encode()
    return memory_map_page(overview(loaded.analysis, module, PAGE_TOP), text, *page_sources())


def _parts(text: str) -> frozenset[Part]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Part)]
    if unknown or not names:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(unknown)}" if unknown else "no parts")
    return frozenset(Part(name) for name in names)
