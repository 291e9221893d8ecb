"""What can be done at a place, in words."""

from typing import Final

from xla_lens.features.actions import Action, Explain, GoToPeak, GoToRelated, GoToSource, ShowPage
from xla_lens.model.places.pages import HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.messages import related_message
from xla_lens.render.numbers import human, shortened


def action_title(action: Action) -> str:
    """What an action does, plain text on one line."""
    match action:
        case Explain(finding):
            return f"Explain {finding.code}"
        case GoToRelated(_, related):
            document = related.place.file.document
            return f"Go to line {document.row(related.place.start) + 1:,}: {related_message(related)}"
        case ShowPage(page):
            return f"Show {_page(page)}"
        case GoToPeak(space, step, live_bytes):
            return f"Go to the true peak of {space_name(space)}: {human(live_bytes)} at step {step}"
        case GoToSource(frame):
            line = f":{frame.line}" if frame.line is not None else ""
            function = f" in {shortened(frame.function, _WIDEST)}" if frame.function else ""
            return f"Go to Python source: {shortened(_file_name(frame.file), _WIDEST)}{line}{function}"


_WIDEST: Final = 80


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2] or path


def _page(page: Page) -> str:
    match page:
        case SummaryPage():
            return "where the memory goes"
        case LiveSetPage(step):
            return f"what is live at step {step}"
        case HistoryPage(allocation):
            return f"who holds which bytes of allocation {allocation} when"
        case ReportPage():
            return "the report as Markdown"
