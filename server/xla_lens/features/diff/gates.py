"""Limits on how much memory a program may grow, for continuous integration."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.options import Increase
from xla_lens.model.diff.comparison import Pair
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.backend import SpaceId


@dataclass(frozen=True, slots=True)
class IncreaseLimit:
    """A limit on the growth of the needed bytes or of the peak of some memory spaces; no spaces mean the default
    one.
    """

    increase: Increase
    is_needed: bool
    spaces: Collection[SpaceId]

    def is_about(self, space: SpaceId) -> bool:
        """Whether the limit applies to a memory space."""
        return space in self.spaces if self.spaces else space.color == DEFAULT_COLOR


@dataclass(frozen=True, slots=True)
class Violation:
    """A memory space that grew by more than a limit allows. `sizes` is None if the dumps do not determine the change,
    so that the limit cannot be checked.
    """

    limit: IncreaseLimit
    space: SpaceId
    sizes: Pair | None


def violations(one: Diff, limits: Iterable[IncreaseLimit]) -> Iterator[Violation]:
    """Yield the limits that a comparison violates."""
    for limit in limits:
        for space in one.memory_spaces:
            sizes = space.exact("needed_bytes" if limit.is_needed else "peak_live_bytes")
            is_exceeded = sizes is None or limit.increase.is_exceeded(sizes.old, sizes.new)
            if is_exceeded and limit.is_about(space.id):
                yield Violation(limit, space.id, sizes)
