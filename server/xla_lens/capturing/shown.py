"""Captures of programs in words: as text, as the picture of a notebook, and what does not fit."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from msgspec.structs import replace

from xla_lens.blocks.blocks import Header, Name, Outline, Section, Table, Text, more, plain_text
from xla_lens.blocks.entities import running
from xla_lens.blocks.html import html_lines, section_html
from xla_lens.blocks.terminal import Terminal
from xla_lens.blocks.text import section_lines, terminal_lines
from xla_lens.diff.compare import Diff
from xla_lens.diff.outline import diff_outline
from xla_lens.memory_map.comparison_html import small_comparison_page
from xla_lens.memory_map.page import memory_map_page
from xla_lens.model.analysis import Analysis
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound, Quantity
from xla_lens.report.answer import needs, savings
from xla_lens.report.facts import Report
from xla_lens.report.outline import report_outline
from xla_lens.report.sections import live_at_peak_sections
from xla_lens.text.printable import printable
from xla_lens.words.numbers import capitalized, counted, human, shortened
from xla_lens.words.warrants import peak_size, reasons, suffix

WIDTH: Final = 120
"""Maximum characters of a line of text."""

MOST_ROWS: Final = 20
"""Maximum rows of a table that are shown."""

MOST_MAP: Final = 4 << 20
"""Maximum characters of a memory map in a notebook, which is saved with it."""

# ---------------------------------------------------------------- a capture


def capture_text(report: Report, error: Exception | None) -> str:
    """Return the summary of a capture as text, with sentences that wrap."""
    return _text(_outline(report, error), report.dump)


def capture_html(report: Report, analysis: Analysis, error: Exception | None, sources: tuple[str, str]) -> str:
    """Return the picture of a capture in a notebook: the summary, which notebooks that are not trusted keep, and the
    memory map in a frame without any rights but to run its script. `sources` are the script and the style of the map.
    """
    page = memory_map_page(analysis, *sources, is_script_packed=True)
    return _picture(_outline(report, error), report.module, page, "report FOLDER")


def comparison_html(diff: Diff, sources: tuple[str, str]) -> str:
    """Return the picture of a comparison in a notebook: the report, and both memory maps."""
    return _picture(diff_outline(diff), diff.name, small_comparison_page(diff, *sources), "diff OLD NEW")


def comparison_text(diff: Diff) -> str:
    """Return a comparison as text, with sentences that wrap."""
    return _text(diff_outline(diff), diff.new.analysis.dump)


def _text(outline: Outline, dump: DumpSet) -> str:
    return printable("\n".join(terminal_lines(outline, dump, Terminal(WIDTH, has_colors=False))))


def _picture(outline: Outline, module: str | None, map_page: Iterable[str], command: str) -> str:
    """A report as HTML and the page of a map in a frame. `command` writes the map to a file."""
    name, page = escape(module or ""), "\n".join(map_page)
    lines = [f'<div class="xla-lens"><style>{_STYLE}</style>', *html_lines(outline)]
    if len(page) > MOST_MAP:
        lines.append(f"<p>The memory map is too big for a notebook ({human(len(page))}). Write it to a file with")
        lines.append(f"<code>xla-lens {command} --output-format html</code>.</p>")
    else:
        lines.append(
            f'<iframe sandbox="allow-scripts" title="Memory map of {name}" width="100%" height="640" frameborder="0" '
            f'srcdoc="{page.replace("&", "&amp;").replace(chr(34), "&quot;")}"></iframe>'
        )
    return "\n".join([*lines, "</div>"])


_STYLE: Final = (
    ".xla-lens h1{font-size:1.2em}.xla-lens h2,.xla-lens h3{font-size:1em}"
    ".xla-lens article{overflow-x:auto}.xla-lens td,.xla-lens th{padding:0 .6em}.xla-lens tr *{white-space:nowrap}"
    ".xla-lens .text{text-align:left!important}.xla-lens .number{text-align:right!important}"
)
"""Notebooks align all cells to the right."""


def _outline(report: Report, error: Exception | None) -> Outline:
    outline = report_outline(report)
    return replace(outline, answer=(_failure(error), *outline.answer)) if error else outline


def _failure(error: Exception) -> str:
    return f"The compiler ran out of memory: {shortened(str(error), 2 * WIDTH)}"


def peak_text(analysis: Analysis, space: MemorySpace) -> str:
    """Return the peak of a memory space in one line."""
    size = peak_size(space)
    words = suffix(analysis.warrants.live)
    if not words and space.peak_step is None:
        size = "nothing is ever live"
    elif not words and space.peak_step is not None:
        words = f" at step {space.peak_step}{plain_text(running(analysis.dump, space.peak_step))}"
    return f"{space.id.name} peak: {size}{words}"


# ---------------------------------------------------------------- tables


_TITLES: Final = {
    "live_at_peak": "Live at the {} peak",
    "lines": "{} peak by source line",
    "opcodes": "{} peak by opcode",
    "kinds": "{} peak by kind of allocation",
    "peaks": "Peaks",
    "advice": "What would lower the peak",
}


def table_title(name: str, space: str = "") -> str:
    """Return the title of a table of a capture."""
    return capitalized(_TITLES[name].format(space))


Rows = Sequence[Mapping[str, Any]]


def table_text(title: str, rows: Rows, bound: Bound) -> str:
    """Return the first rows of a table as text."""
    return section_text(_table(title, rows, bound))


def table_html(title: str, rows: Rows, bound: Bound) -> str:
    """Return the first rows of a table as HTML."""
    return picture_of_section(_table(title, rows, bound))


def section_text(section: Section) -> str:
    """Return a section as text."""
    return printable("\n".join(section_lines(section, WIDTH)))


def picture_of_section(section: Section) -> str:
    """Return a section as HTML."""
    return "\n".join([f'<div class="xla-lens"><style>{_STYLE}</style>', *section_html(section), "</div>"])


def _table(title: str, rows: Rows, bound: Bound) -> Section:
    shown = rows[:MOST_ROWS]
    names = list(shown[0]) if shown else []
    header = (Header(name, not any(isinstance(row[name], int | float) for row in shown)) for name in names)
    cells = tuple(tuple(_cell(name, row[name]) for name in names) for row in shown)
    known = {Bound.EXACT: "", Bound.AT_LEAST: ", at least: the dump is incomplete"}.get(bound, ", unknown")
    table = (Table(tuple(header), cells),) if cells else ()
    return Section(f"{title}: {counted(len(rows), 'row')}{known}", (*table, *more(len(rows) - len(shown), "more row")))


def _cell(name: str, cell: Any) -> Text:
    if cell is None:
        return ""
    if isinstance(cell, int | float):
        return human(int(cell)) if name.endswith("_bytes") else f"{cell}"
    if isinstance(cell, list | tuple):
        return f"{len(cell):,}"
    return Name(str(cell))


# ---------------------------------------------------------------- limits


def fit_problems(module: str, error: Exception | None, problems: Sequence[str]) -> str:
    """Return the message of a program that does not fit."""
    failures = [f"{module} did not compile. {_failure(error)}"] if error else []
    return "\n\n".join([*failures, *problems])


_MOST_ACTIONS: Final = 3
"""The actions that the message of a program that does not fit names, those first after which it needs least."""


def budget_problem(report: Report, space: MemorySpace) -> str:
    """Return by how much a program exceeds the budget of a report in a memory space, and what is live at the peak."""
    one = next(each_space for each_space in report.spaces if each_space.space is space)
    lines = [*needs(report, one, report.module or "The program")]
    if why := reasons(report.warrants.of(Quantity.RESERVED).gaps):
        lines.append(f"{capitalized(why)}.")
    for section in live_at_peak_sections(report, one):
        lines += section_lines(section, WIDTH)
    if one is report.hbm:
        lines += map(plain_text, savings(report, one, _MOST_ACTIONS))
    return "\n".join(lines)
