"""`xla-lens report`: where the memory of a dump goes, as text, Markdown, JSON or HTML."""

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.sets import LoadedSet, load_sets, sets_at
from xla_lens.features.report.facts import Report, report
from xla_lens.features.report.options import (
    DEFAULT_PARTS,
    Part,
    ReportOptions,
    report_options,
)
from xla_lens.files import load_module
from xla_lens.model.hlo.module import HloModule
from xla_lens.package_files import page_sources
from xla_lens.render.memory_map.page import memory_map_page
from xla_lens.render.report import report_markdown, report_text
from xla_lens.render.report.data import report_data

_WIDTH_OF_FILES: Final = 200


def run_report(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    if arguments.output_format == "html":
        print("\n".join(_page(arguments.path)))
        return 0
    is_json = arguments.output_format == "json"
    options = report_options(
        (arguments.part or DEFAULT_PARTS) | arguments.stacks,
        top=arguments.top,
        at_step=arguments.at,
        budget_bytes=arguments.budget,
        is_json=is_json,
    )
    reports = (_report(loaded, options) for loaded in load_sets([arguments.path]))
    if is_json:
        print(json.dumps([report_data(one) for one in reports], indent=2, ensure_ascii=False))
        return 0
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDTH_OF_FILES
    for number, one in enumerate(reports):
        lines = report_text(one, width) if arguments.output_format == "text" else report_markdown(one)
        print("\n" * bool(number) + "\n".join(lines))
    return 0


def _report(loaded: LoadedSet, options: ReportOptions) -> Report:
    files = {kind: path.as_posix() for kind, path in loaded.files.paths.items()}
    module = _module(loaded) if Part.LINE in options.parts else None
    return report(loaded.analysis, files, options, module)


def _page(path: Path) -> Iterator[str]:
    """The page of the only dump set at a path."""
    found = sets_at([path])
    if len(found) > 1:
        one = next(iter(found[0].paths.values()))
        raise CannotRun(
            f"{path}: contains {len(found):,} dumps, but an HTML page shows one. Choose one of them, such as {one}"
        )
    (loaded,) = load_sets([path])
    return memory_map_page(loaded.analysis, _module(loaded), *page_sources())


def _module(loaded: LoadedSet) -> HloModule | None:
    read = load_module(loaded.files, {}, None, lambda: False)
    return read.module if read else None
