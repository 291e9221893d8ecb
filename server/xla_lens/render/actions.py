"""The titles of code actions."""

from typing import Final

from xla_lens.features.actions import Action, Explain, GoToPeak, GoToRelated, GoToSource, ShowPage
from xla_lens.model.places.pages import AdvicePage, HistoryPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import shortened
from xla_lens.render.warrants import bounded_size
from xla_lens.syntax.file_names import split_name


def action_title(action: Action) -> str:
    """Return the title of an action, plain text on one line."""
    match action:
        case Explain(finding):
            return f"Explain {finding.code}"
        case GoToRelated(_, related):
            document = related.place.file.document
            return f"Go to line {document.row(related.place.start) + 1:,}: {related.relation.value}"
        case ShowPage(page):
            return f"Show {_page(page)}"
        case GoToPeak(space, step, live_bytes, bound):
            return f"Go to the real {space_name(space)} peak: {bounded_size(live_bytes, bound)} at step {step}"
        case GoToSource(frame):
            line = f":{frame.line}" if frame.line is not None else ""
            function = f" in {shortened(frame.function, _MAX_NAME)}" if frame.function else ""
            return f"Go to Python source: {shortened(_file_name(frame.file), _MAX_NAME)}{line}{function}"


SELECT_FOR_COMPARE: Final = "Select this dump for comparison"
END_COMPARISON: Final = "End the comparison"


def compare_title(folder: str, file: str) -> str:
    """Return the title of the action that compares with the dump of a file."""
    return f"Compare with {shortened(f'{folder}/{split_name(file)[0]}', _MAX_NAME)}"


_MAX_NAME: Final = 80


def _file_name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2] or path


def _page(page: Page) -> str:
    match page:
        case SummaryPage():
            return "the memory summary"
        case LiveSetPage(step):
            return f"values live at step {step}"
        case HistoryPage(allocation):
            return f"the history of allocation {allocation}"
        case ReportPage():
            return "the report as Markdown"
        case AdvicePage():
            return "what would lower the peak"
