"""The tree-sitter grammars of XLA Lens: `xla_dump` for the memory dumps of XLA, `hlo` for HLO text."""

from tree_sitter_xla_dump._binding import (
    covered_changes,
    differences,
    instruction_forms,
    instruction_sources,
    language_hlo,
    language_xla_dump,
    next_peaks,
    number_texts,
    read_module,
    read_quotes,
    read_rows,
    release_memory,
    report_rows_agree,
    split_lists,
)

__all__ = [
    "covered_changes",
    "differences",
    "instruction_forms",
    "instruction_sources",
    "language_hlo",
    "language_xla_dump",
    "next_peaks",
    "number_texts",
    "read_module",
    "read_quotes",
    "read_rows",
    "release_memory",
    "report_rows_agree",
    "split_lists",
]
