"""Lists the strings about memory in the libraries of a compiler that `xla-lens oom` does not read.

    .venv/bin/python tests/oom_strings.py …/site-packages/libtpu/libtpu.so

Run it by hand for a new release of libtpu or of a plugin for GPUs. What it prints are candidates for a row of
`_SENTENCES` in `server/xla_lens/syntax/oom.py`: many are help texts and checks that no user sees. Compilers put some
sentences together from several strings, so a row may read a string that is listed here as a part.
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
    r"(?i)out of (?:\w+ )?memory|\boom\b|not possible\. "
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
    """Whether `xla-lens oom` reads a string, with sizes in place of its arguments."""
    return any(read_oom_log([_ARGUMENT.sub(size, text).encode()]).messages for size in ("1.00G", "1024", "hbm"))


def main() -> None:
    """Print the strings, those that are read first."""
    for path in map(Path, sys.argv[1:]):
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = [(not is_read(text), text) for text in sentences(data)]
        for is_missing, text in sorted(found):
            print("MISSING" if is_missing else "read   ", text)
        print(f"{path.name}: {sum(is_missing for is_missing, _ in found):,} of {len(found):,} are not read")


if __name__ == "__main__":
    main()
