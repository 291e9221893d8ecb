"""What a compiler said about changes of the program of a dump: the part that the advice needs of the file beside the
dump (`disk/tried.py`).
"""

from msgspec import Struct
from msgspec.structs import replace


class TriedChange(Struct, frozen=True):
    """A change of the program, alone: `change` says in words what is changed.

    `rule` is that of the advice that says it, with the name of a `policy` of `jax.checkpoint` if one is taken, and
    `flag` is the flag of the compiler that is changed; None for others. The program then needs `needed_bytes`, and its
    peak is `peak_bytes`, first at `peak_step`; None if that is not measured.
    """

    change: str
    rule: str | None
    policy: str | None
    flag: str | None
    needed_bytes: int | None
    peak_bytes: int | None
    peak_step: int | None


class TriedTogether(Struct, frozen=True):
    """Changes that are taken together, by their rows, and what the program needs after each of them and all before."""

    changes: tuple[int, ...]
    needed_bytes: tuple[int, ...]


class Tried(Struct, frozen=True):
    """What was tried on the program of a dump, which needs `needed_bytes` in the dump.

    `measured_needed_bytes` is what it needs as the compiler of the trials compiles it without a change. `dump_digest`
    is that of the dump. `file` has all of it, and `is_stale` says that the dump is another one by now.
    """

    dump_digest: str | None
    needed_bytes: int
    measured_needed_bytes: int | None
    changes: tuple[TriedChange, ...]
    plan: TriedTogether | None
    file: str = ""
    is_stale: bool = False

    @property
    def is_of_dump(self) -> bool:
        """Whether the numbers are about the program in the dump: it is the same, and so was the compiler."""
        return not self.is_stale and self.measured_needed_bytes == self.needed_bytes

    def read_from(self, file: str, *, is_stale: bool) -> "Tried":
        """Return the same with its file."""
        return replace(self, file=file, is_stale=is_stale)
