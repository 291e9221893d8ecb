"""Numbers and texts as people read them."""

import re
from typing import Final

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def human(size_bytes: int) -> str:
    """A size in a unit that fits: ``1.42 TiB``."""
    if abs(size_bytes) < 1024:
        return f"{size_bytes} B"
    power = 1
    while abs(size_bytes) >= 1024 ** (power + 1) and power < len(_UNITS):
        power += 1
    return f"{size_bytes / 1024**power:.{1 if power == 1 else 2}f} {_UNITS[power - 1]}"


def exact(size_bytes: int) -> str:
    """A size in a unit that fits, followed by the bytes if that is another unit: ``1.5 KiB (1,536 bytes)``."""
    return f"{size_bytes} B" if abs(size_bytes) < 1024 else f"{human(size_bytes)} ({size_bytes:,} bytes)"


def percent(part: int, whole: int) -> str:
    """A share: ``12.5 %``."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 value``, ``2,170 values``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def capitalized(text: str) -> str:
    """A text with a capital first letter, for the start of a sentence or title."""
    return text[:1].upper() + text[1:]


def shortened(text: str, width: int) -> str:
    """A text of at most `width` characters, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


_SIZE: Final = re.compile(r"\s*(\d{1,20}(?:\.\d+)?)\s*(?:([KMGTPE])i?B?|B)?\s*", re.IGNORECASE)


def parse_size(text: str) -> int | None:
    """The bytes of a size as people write it: ``16GiB``, ``16G``, ``1.5 MiB`` or ``4096``, always in powers of 1024;
    None if the text is not a size.
    """
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    power = "KMGTPE".index(match[2].upper()) + 1 if match[2] else 0
    return int(float(match[1]) * 1024**power) if "." in match[1] else int(match[1]) * 1024**power
