"""Grammars for the memory dumps of the XLA compiler: `xla_dump` for the dumps, `hlo` for HLO text."""

from importlib.resources import files
from typing import Final

from tree_sitter_xla._binding import language_hlo, language_xla_dump

__all__ = ["LANGUAGES", "language_hlo", "language_xla_dump", "query"]

LANGUAGES: Final = {"xla_dump": language_xla_dump, "hlo": language_hlo}
"""The grammars by name; each is a function that returns a pointer for `tree_sitter.Language`."""


def query(grammar: str, name: str) -> str:
    """Return a query of a grammar: "highlights", "injections", "folds" or "tags"."""
    return (files(__name__) / grammar / f"{name}.scm").read_text("utf-8")
