"""The tree-sitter grammars of XLA Lens: `xla_dump` for the memory dumps of XLA, `hlo` for HLO text."""

from tree_sitter_xla_dump._binding import language_hlo, language_xla_dump, read_rows

__all__ = ["language_hlo", "language_xla_dump", "read_rows"]
