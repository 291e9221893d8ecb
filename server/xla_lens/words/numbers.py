"""Numbers and texts as people read them."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from xla_lens.text.patterns import lazy_pattern

MINUS: Final = "−"

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMALS: Final = {1: 1, 2: 2, 3: 2}


def human(size_bytes: int) -> str:
    """A size in a unit that fits: ``1.42 GiB``, and from TiB on with a third decimal, so that it shows 10 GiB."""
    if abs(size_bytes) < 1024:
        return f"{size_bytes} B"
    power = 1
    while abs(size_bytes) >= 1024 ** (power + 1) and power < len(_UNITS):
        power += 1
    return f"{size_bytes / 1024**power:.{_DECIMALS.get(power, 3)}f} {_UNITS[power - 1]}"


def signed(size_bytes: int) -> str:
    """A size that is added to others: ``+1.53 MiB``, ``−660.8 KiB`` or ``0 B``."""
    return f"{'+' if size_bytes > 0 else MINUS}{human(abs(size_bytes))}" if size_bytes else "0 B"


def apart(size_bytes: int, other_bytes: int) -> str:
    """A size beside another one: ``4.61 MiB``, or ``4.61 MiB − 4 B`` if it is 4 bytes smaller than the other one and
    both would look the same.
    """
    text, difference = human(size_bytes), size_bytes - other_bytes
    if not difference or text != human(other_bytes):
        return text
    return f"{text} {'+' if difference > 0 else MINUS} {human(abs(difference))}"


def exact(size_bytes: int) -> str:
    """A size in a unit that fits, followed by the bytes if that is another unit: ``1.5 KiB (1,536 bytes)``."""
    return f"{size_bytes} B" if abs(size_bytes) < 1024 else f"{human(size_bytes)} ({size_bytes:,} bytes)"


def percent(part: int, whole: int) -> str:
    """A share: ``12.5 %``."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def is_visible(part: int, whole: int) -> bool:
    """Whether a share does not round to ``0.0 %``."""
    return bool(whole) and percent(part, whole) not in ("0.0 %", "-0.0 %")


def sparkline(sizes: Iterable[int], most: int) -> str:
    """Sizes as a row of bars, the highest for `most`: ``▃▅█``. Only 0 has no height."""
    steps = len(_BARS) - 1
    return "".join(_BARS[min(steps, -(-size * steps // most)) if most else 0] for size in sizes)


_BARS: Final = " ▁▂▃▄▅▆▇█"


def counted(number: int, noun: str) -> str:
    """A number of things: ``1 value``, ``2,170 values``."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def enumerated(texts: Sequence[str]) -> str:
    """A list of at least one text in words: ``1, 3 and 5``."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def capitalized(text: str) -> str:
    """A text with a capital first letter, for the start of a sentence or title."""
    return text[:1].upper() + text[1:]


def shortened(text: str, width: int) -> str:
    """A text of at most `width` characters, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= width else text[: max(0, width - 1)] + "…"


def differing_parts(one: str, other: str, width: int) -> tuple[str, str]:
    """Two texts of at most `width` characters each, on one line. Longer texts are cut around the first difference."""
    one, other = (" ".join(text.split()) for text in (one, other))
    both = enumerate(zip(one, other, strict=False))
    same = next((place for place, (left, right) in both if left != right), min(len(one), len(other)))
    longest, start = max(len(one), len(other)), 0
    if longest > width and same >= width // 2:
        # At least a third of the width shows what both texts have in front of the difference.
        start = min(same - width // 3, longest - width + 1)
    first, second = ("…" * bool(start) + text[start:] for text in (one, other))
    return shortened(first, width), shortened(second, width)


class Size(int):
    """A size in bytes that somebody wrote down. `text` is how, with a space before the unit: ``16 GB``."""

    text = ""


def as_given(size_bytes: int) -> str:
    """A size with the digits and the unit that somebody wrote: ``15.75 GiB``, ``16 GB (14.90 GiB)``; other sizes in a
    unit that fits.
    """
    if not isinstance(size_bytes, Size) or not size_bytes:
        return human(size_bytes)
    return f"{size_bytes.text} ({human(size_bytes)})" if _is_decimal(size_bytes.text) else size_bytes.text


def exact_as_given(size_bytes: int) -> str:
    """A size as somebody wrote it, followed by the bytes: ``16 GB (16,000,000,000 bytes)``."""
    if not isinstance(size_bytes, Size):
        return exact(size_bytes)
    in_bytes = f"{size_bytes:,} bytes"
    return in_bytes if size_bytes.text == in_bytes else f"{size_bytes.text} ({in_bytes})"


_SIZE: Final = lazy_pattern(r"(\d{1,20}(?:\.\d+)?)\s*(?:([KMGTPE])(i?B?)|B)?", re.IGNORECASE)


def parse_size(text: str) -> Size | None:
    """The size that people write as ``16GiB``, ``1.5 MiB``, ``16GB`` or ``4096``; None if the text is not a size.

    ``GiB`` is 2^30 bytes and ``GB`` is 10^9. ``G`` alone is 2^30, as in the messages of XLA.
    """
    text = text.strip()
    match = _SIZE.fullmatch(text)
    if not match:
        return None
    power = "KMGTPE".index(match[2].upper()) + 1 if match[2] else 0
    unit = int((1000 if _is_decimal(text) else 1024) ** power)
    size = Size(int(float(match[1]) * unit + 0.5) if "." in match[1] else int(match[1]) * unit)
    size.text = f"{match[1]} {text[len(match[1]) :].strip()}" if text[-1] in "bB" else text
    if text.isdecimal():
        size.text = f"{size:,} bytes"
    return size


def _is_decimal(text: str) -> bool:
    """Whether the unit of a size is a power of 1000, as in ``16GB``."""
    match = _SIZE.fullmatch(text)
    return bool(match and match[2] and match[3].upper() == "B")
