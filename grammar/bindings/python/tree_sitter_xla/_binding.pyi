def language_xla_dump() -> object:
    """Return the language of the memory dumps."""

def language_hlo() -> object:
    """Return the language of HLO text."""
