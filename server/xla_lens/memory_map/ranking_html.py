"""The ranking of the modules of a folder as HTML, with a link to the map of each."""

from collections.abc import Iterator
from html import escape

from xla_lens.blocks.blocks import plain_text
from xla_lens.blocks.html import section_html
from xla_lens.report.ranking import Ranking
from xla_lens.report.ranking_table import ranking_outline


def ranking_html(ranking: Ranking, folder: str, budget_bytes: int | None) -> Iterator[str]:
    """Yield the ranking as lines of HTML with a link to the map of each module that it shows."""
    outline = ranking_outline(ranking, folder, budget_bytes)
    yield '<details class="index" open>'
    yield f"<summary>{escape(plain_text(outline.title))}</summary>"
    yield from (f"<p>{escape(plain_text(sentence))}</p>" for sentence in outline.answer)
    yield from (line for part in outline.parts for section in part for line in section_html(section))
    yield "</details>"
