"""What can be done at a place, in words."""

from xla_lens.features.actions import Action, Explain, GoToPeak, GoToRelated, ShowPage
from xla_lens.model.pages import BiographyPage, LiveSetPage, Page, ReportPage, SummaryPage
from xla_lens.render.messages import related_message
from xla_lens.render.numbers import human, space_name


def action_title(action: Action) -> str:
    """What an action does, plain text on one line."""
    match action:
        case Explain(finding):
            return f"Explain {finding.code}"
        case GoToRelated(_, related):
            document = related.place.member.document
            return f"Go to line {document.row(related.place.start) + 1:,}: {related_message(related.what)}"
        case ShowPage(page):
            return f"Show {_page(page)}"
        case GoToPeak(color, step, live_bytes):
            return f"Go to the true peak of {space_name(color)}: {human(live_bytes)} at step {step}"


def _page(page: Page) -> str:
    match page:
        case SummaryPage():
            return "where the memory goes"
        case LiveSetPage(step):
            return f"what is live at step {step}"
        case BiographyPage(allocation):
            return f"who holds which bytes of allocation {allocation} when"
        case ReportPage():
            return "the report as Markdown"
