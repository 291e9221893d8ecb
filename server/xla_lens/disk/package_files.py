"""Files that come with XLA Lens: explanations of findings and actions, and script and style of the memory map."""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).parent.parent


def explanation_path(code: str) -> Path:
    """Return the Markdown file that explains the findings of a code, or the actions of a rule."""
    return _PACKAGE / "words" / "explanations" / f"{code}.md"


def explanation(code: str) -> str:
    """Return the Markdown text that explains a code or a rule."""
    return explanation_path(code).read_text(encoding="utf-8")


def meaning(code: str) -> str:
    """Return the sentence under the title of an explanation, without its full stop."""
    return explanation(code).split("**")[1].rstrip(".")


def page_sources() -> tuple[str, str]:
    """Return the script and the style sheet of the memory map."""
    folder = _PACKAGE / "memory_map"
    script, style = ((folder / name).read_text(encoding="utf-8") for name in ("page.js", "page.css"))
    return script, style
