"""`xla-lens check`: verify dumps and print findings like a linter, errors first."""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator

from xla_lens.blocks.terminal import Style, StyledText, Terminal
from xla_lens.cli.json_output import print_json
from xla_lens.cli.sets import find_dumps
from xla_lens.cli.terminal import find_terminal, print_pieces
from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.limits import over_limits
from xla_lens.model.checks.problems import Finding
from xla_lens.model.places.places import Place
from xla_lens.report.options import CiFormat
from xla_lens.words.finding_json import finding_data
from xla_lens.words.messages import message
from xla_lens.words.numbers import counted


def run_check(options: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    selected = (set(Code) if options.select is None else set(options.select)) - set(options.ignore or ())
    findings: list[Finding] = []
    ci = None
    if options.output_format in set(CiFormat):
        # Imports ssl, http and email, for which other formats do not have to wait.
        from xla_lens.cli.ci import ci_report

        ci = ci_report(options)
    dumps = find_dumps(options.paths)
    for loaded in dumps.load(is_checked=True):
        analysis = loaded.analysis
        limits = over_limits(analysis.dump, analysis.memory, options.max_memory, options.max_peak, analysis.module)
        found = [finding for finding in (*loaded.analysis.findings, *limits) if finding.code in selected]
        if ci:
            ci.add_findings(loaded, found)
        findings += found
    findings.sort(key=lambda finding: [*Severity].index(finding.severity))
    if ci:
        print(ci.text(), end="")
    elif options.output_format == "json":
        print_json([finding_data(finding) for finding in findings])
    else:
        terminal = find_terminal(options.color)
        for line in _lines(findings, terminal):
            print_pieces(line, terminal, hanging=4)
        counts = Counter(finding.severity for finding in findings)
        by_severity = (
            # The noun `information` has no plural.
            f"{counts[kind]:,} {kind}" if kind is Severity.INFORMATION else counted(counts[kind], kind.value)
            for kind in Severity
            if counts[kind]
        )
        checked = f"{counted(len(dumps.files), 'dump')} checked"
        print(f"{checked}: {', '.join(by_severity)}" if findings else f"{checked}, no findings")
    return int(any(finding.severity.is_alarm for finding in findings))


def _lines(findings: Iterable[Finding], terminal: Terminal | None) -> Iterator[list[StyledText]]:
    """The lines of findings, each followed by its related places."""
    for finding in findings:
        style = Style.QUIET if finding.severity is Severity.HINT else Style[finding.severity.name]
        severity = StyledText(f"{finding.severity}", style)
        code = StyledText(f"[{finding.code}]", Style.QUIET)
        yield [_position(finding.place, terminal), StyledText(": "), severity, code, StyledText(f" {message(finding)}")]
        for related in finding.related:
            yield [StyledText("  "), _position(related.place, terminal), StyledText(f": {related.relation.value}")]


def _position(place: Place, terminal: Terminal | None) -> StyledText:
    row, column = place.position_from_1.values()
    url = terminal.url_of(place.file.label, row) if terminal else None
    return StyledText(f"{place.file.label}:{row}:{column}", Style.SOURCE, url=url)
