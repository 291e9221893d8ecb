"""Lists the strings about memory in the libraries of a compiler that `xla-lens oom` does not read.

    .venv/bin/python tests/oom_strings.py …/site-packages/libtpu/libtpu.so …/xla_cuda12/xla_cuda_plugin.so

Run it by hand for a new release of libtpu or of a plugin for GPUs. What it prints are candidates for a row of
`_SENTENCES` in `server/xla_lens/syntax/oom.py`, and an example in `tests/syntax/oom/sentences.txt`. Compilers put some
sentences together from several strings, so a string that is a part of an example is read. `tests/oom_strings.txt` lists
those that need no row: help texts, internal checks and messages of other libraries. Add to it what you have looked at.
"""

import mmap
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from xla_lens.syntax.oom import read_oom_log

_STRING: Final = re.compile(rb"[\x20-\x7e]{20,600}")
_ABOUT_MEMORY: Final = re.compile(
    r"(?i)out of (?:\w+ )?memory|\boom\b|not possible\. |OUT_OF_MEMORY|not enough .{0,30}\bmemory|enough device memory"
    r"|not fit .{0,40}\b(?:hbm|[vs]mem|\w*spmem|memory|available)\b|OOM kill|base limit|ALLOC_FAILED"
    r"|exceed\w*.{0,60}\b(?:hbm|[vs]mem|spmem|memory|capacity)\b"
    r"|\b(?:hbm|[vs]mem|spmem|memory)\b.{0,60}\bexceed|failed to alloc|could not allocate|unlikely to have"
)
_SENTENCE: Final = re.compile(r"[A-Za-z]+(?: [\w$%()'-]+){3}")
"""Flags and symbols have no blanks."""

_ARGUMENT: Final = re.compile(r"%(?:ll|l|z)?[dusv]|\$\d")


def sentences(data: bytes | mmap.mmap) -> Iterator[str]:
    """Yield the strings of a library that are sentences about memory, each once."""
    found = (string[0].decode() for string in _STRING.finditer(data))
    yield from sorted({text for text in found if _ABOUT_MEMORY.search(text) and _SENTENCE.search(text)})


def is_read(text: str) -> bool:
    """Whether `xla-lens oom` reads a string, with sizes in place of its arguments, or as a part of an example."""
    return text in EXAMPLES or any(
        read_oom_log([_ARGUMENT.sub(size, text).encode()]).messages for size in ("1.00G", "1024", "hbm")
    )


_TESTS: Final = Path(__file__).parent
EXAMPLES: Final = (_TESTS / "syntax" / "oom" / "sentences.txt").read_text(encoding="utf-8")
SEEN: Final = frozenset((_TESTS / "oom_strings.txt").read_text(encoding="utf-8").split("\n"))


def main() -> None:
    """Print the strings that are neither read nor known to need no row, then the counts."""
    for path in map(Path, sys.argv[1:]):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = [*sentences(data)]
        seen = [text for text in found if text in SEEN]
        missing = [text for text in found if text not in SEEN and not is_read(text)]
        for text in missing:
            print(text)
        read = len(found) - len(seen) - len(missing)
        print(f"{path.name}: {read:,} of {len(found):,} are read, {len(seen):,} need no row, {len(missing):,} are new")


if __name__ == "__main__":
    main()
