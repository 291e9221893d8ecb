"""`xla-lens check`: verify dumps and print findings as a linter does."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from xla_lens.cli.sets import load_sets, names_in, paragraphs, size_argument
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.findings import Finding
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.places.places import Place
from xla_lens.render.messages import message, related_message
from xla_lens.render.messages.data import finding_data
from xla_lens.render.numbers import counted
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


def add_check(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "check",
        help="verify dumps",
        description=paragraphs(
            "Verify dumps: report every place where a dump contradicts itself or XLA's own rules.",
            "The exit status is 0 without errors and warnings, 1 if there are any, and 2 if the command could not run.",
        ),
        epilog=paragraphs(f"codes: {', '.join(Code)}"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a file of a dump, or a folder of dumps")
    parser.add_argument("--output-format", choices=("text", "json"), default="text", help="text (default) or json")
    parser.add_argument("--select", metavar="CODES", type=_codes, help="report only these codes, separated by commas")
    parser.add_argument("--ignore", metavar="CODES", type=_codes, default=frozenset(), help="do not report these codes")
    limits = {
        "peak": "report an error if the peak of HBM (on CPU: host memory) exceeds this size, such as 16GiB",
        "reserved": "report an error if more HBM (on CPU: host memory) than this size is reserved, such as 16GiB",
    }
    for name, words in limits.items():
        parser.add_argument(f"--max-{name}", metavar="SIZE", type=size_argument, help=words)
    parser.set_defaults(run=run_check)


def run_check(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    selected = (set(Code) if options.select is None else set(options.select)) - set(options.ignore)
    findings: list[Finding] = []
    sets = 0
    for loaded in load_sets(options.paths):
        sets += 1
        limits = over_limits(loaded.analysis.dump, loaded.analysis.memory, options.max_peak, options.max_reserved)
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
    names = names_in(text)
    unknown = [name for name in names if name not in set(Code)]
    if unknown or not names:
        problem = f"unknown code {', '.join(map(repr, unknown))}" if unknown else "no code given"
        raise argparse.ArgumentTypeError(f"{problem}; `xla-lens check --help` lists all codes")
    return frozenset(map(Code, names))


def _text(finding: Finding) -> Iterator[str]:
    yield f"{_position(finding.place)}: {finding.severity}[{finding.code}] {message(finding)}"
    for related in finding.related:
        yield f"  {_position(related.place)}: {related_message(related)}"


def _position(place: Place) -> str:
    row, column = to_position(place.file.document, place.start, Encoding.UTF32)
    return f"{place.file.label}:{row + 1}:{column + 1}"


def _summary(findings: list[Finding], sets: int) -> str:
    checked = f"{counted(sets, 'dump')} checked"
    if not findings:
        return f"{checked}, no findings"
    counts = Counter(finding.severity for finding in findings)
    by_severity = (
        # The noun `information` has no plural.
        f"{counts[kind]:,} {kind}" if kind is Severity.INFORMATION else counted(counts[kind], kind.value)
        for kind in Severity
        if counts[kind]
    )
    return f"{checked}: {', '.join(by_severity)}"
