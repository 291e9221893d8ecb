"""A document as the editor has it open."""

from dataclasses import dataclass
from pathlib import Path

from xla_lens.text.document import Document
from xla_lens.text.edits import Edit


@dataclass(frozen=True, slots=True, eq=False)
class OpenDocument:
    """A document that the editor has open. `opening` tells this time that it was opened from others; `edits` are
    those since `analysed`, the text that the last analysis is of; None if there is none of it.
    """

    uri: str
    path: Path
    version: int
    document: Document
    opening: object
    analysed: Document | None = None
    edits: tuple[Edit, ...] = ()
