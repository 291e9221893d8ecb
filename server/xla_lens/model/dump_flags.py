"""The flags of XLA that leave facts out of a dump."""

from collections.abc import Mapping
from typing import Final

from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.text_proto import read_text_proto

_LEFT_OUT: Final[Mapping[str, tuple[str, tuple[FileKind, ...]]]] = {
    "xla_dump_buffer_assignment_analysis": ("false", (FileKind.VALUES, FileKind.LIVE_RANGE)),
    # The names in the module stay, but it has no source lines.
    "xla_dump_disable_metadata": ("true", (FileKind.HLO,)),
}
"""The value of a flag that leaves something out, and the files whose facts are missing then."""


def left_out_by_flags(debug_options: str) -> dict[FileKind, str]:
    """Return the flag because of which the facts of a file are missing, ``--xla_dump_disable_metadata=true``, by the
    flags that differ from their defaults.
    """
    flags = read_text_proto(debug_options)
    return {
        kind: f"--{name}={value}"
        for name, (value, kinds) in _LEFT_OUT.items()
        for kind in kinds
        if flags.text(name) == value
    }


def formats_of_modules(debug_options: str) -> list[str]:
    """Return the flags that say in which formats XLA writes modules, ``xla_dump_hlo_as_text``, by the flags that differ
    from their defaults. Only texts come with the memory of a module.
    """
    flags = read_text_proto(debug_options)
    return [name for name in flags if name.startswith("xla_dump_hlo_as_") and flags.text(name) == "true"]
