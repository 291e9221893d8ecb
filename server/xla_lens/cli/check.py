"""`xla-lens check`: what is wrong with dumps, as a linter prints it."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from xla_lens.cli.sets import count_of, load_sets, size_of
from xla_lens.model.checks.findings import Code, Finding, Severity
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.places.places import Place
from xla_lens.render.messages import message, related_message
from xla_lens.render.messages.data import finding_data
from xla_lens.render.numbers import counted
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


def add_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds the command to the command line."""
    parser = commands.add_parser(
        "check",
        help="verify dumps",
        description="Verifies dumps. Exit status 0: no error or warning, 1: there are some, 2: could not run.",
        epilog=f"codes: {', '.join(Code)}",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file of a dump, or a folder")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument("--select", metavar="CODES", type=_codes, help="report these codes only, separated by commas")
    parser.add_argument("--ignore", metavar="CODES", type=_codes, default=frozenset(), help="leave these codes out")
    for name, what in (("peak", "live at once"), ("reserved", "reserved")):
        parser.add_argument(
            f"--max-{name}",
            metavar="SIZE",
            type=size_of,
            help=f"also report if more of the default memory space is {what}; such as 16GiB",
        )
    parser.add_argument(
        "--all-features",
        action="store_true",
        help="make every request of an editor at every word of each file instead, and report what goes wrong",
    )
    parser.add_argument(
        "--sample", metavar="N", type=count_of, help="with --all-features: at so many words of each file only"
    )
    parser.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    """Runs the command; gives the exit status."""
    selected = (set(Code) if options.select is None else set(options.select)) - set(options.ignore)
    findings: list[Finding] = []
    sets = 0
    for loaded in load_sets(options.paths):
        sets += 1
        limits = over_limits(loaded.analysis, options.max_peak, options.max_reserved)
        found = [finding for finding in (*loaded.analysis.findings, *limits) if finding.code in selected]
        if options.output_format == "text":
            for finding in found:
                print("\n".join(_text(finding)))
        findings += found
    if options.output_format == "json":
        print(json.dumps([finding_data(finding) for finding in findings], indent=2, ensure_ascii=False))
    else:
        print(_summary(findings, sets))
    return int(any(finding.severity in (Severity.ERROR, Severity.WARNING) for finding in findings))


def _codes(text: str) -> frozenset[Code]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in set(Code)]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such code: {', '.join(unknown)}")
    if not names:
        raise argparse.ArgumentTypeError("no codes")
    return frozenset(Code(name) for name in names)


def _text(finding: Finding) -> Iterator[str]:
    yield f"{_position(finding.place)}: {finding.severity}[{finding.code}] {message(finding)}"
    for related in finding.related:
        yield f"  {_position(related.place)}: {related_message(related.what)}"


def _position(place: Place) -> str:
    row, column = to_position(place.file.document, place.start, Encoding.UTF32)
    return f"{place.file.label}:{row + 1}:{column + 1}"


def _summary(findings: list[Finding], sets: int) -> str:
    checked = f"{counted(sets, 'dump set')} checked"
    if not findings:
        return f"{checked}, nothing found"
    counts = Counter(finding.severity for finding in findings)
    # `information` has no plural.
    told = (
        f"{counts[kind]:,} {kind}" if kind is Severity.INFORMATION else counted(counts[kind], kind.value)
        for kind in Severity
        if counts[kind]
    )
    return f"{checked}: {', '.join(told)}"
