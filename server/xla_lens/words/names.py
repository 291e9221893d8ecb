"""Messages about names that are not among those allowed."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches

_MAX_LISTED = 20
"""Maximum number of names that a message lists."""


def nearest(name: str, allowed: Iterable[str], similarity: float = 0.6) -> str | None:
    """Return the allowed name that is most similar to a name, None if none is similar enough (0 to 1)."""
    close = get_close_matches(name, list(map(str, allowed)), 3, similarity)
    # Letters in the wrong order are the most frequent mistake.
    return next((other for other in close if sorted(other) == sorted(name)), close[0] if close else None)


def unknown_name(noun: str, name: str, allowed: Collection[str], all_are: str = "") -> str:
    """Return the message that a name is unknown: the nearest name, and those allowed.

    ``unknown part 'lnie'; did you mean 'line'? The parts are totals, peak``. `all_are` replaces the list if it is long.
    """
    close = nearest(name, allowed)
    near = f"; did you mean {close!r}?" if close else "."
    return f"unknown {noun} {name!r}{near} {allowed_names(noun, allowed, all_are)}".rstrip()


def allowed_names(noun: str, allowed: Collection[str], all_are: str = "") -> str:
    """Return the sentence that lists the allowed names. `all_are` replaces it if there are many."""
    return f"The {noun}s are {', '.join(allowed)}" if len(allowed) <= _MAX_LISTED else all_are
