"""Which dumps of two folders belong together: those of modules with the same name.

Where several modules have one name, those with the same parameters and equally many instructions come first, then those
with the same parameters, then the others, each in their order.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from xla_lens.model.analysis import Analysis
from xla_lens.model.diff.comparable import entry_parameters

_Module = TypeVar("_Module")

Fingerprint = tuple[Hashable, Hashable]
"""What two compilations of one module have in common, from strict to lenient."""


def fingerprint(analysis: Analysis) -> Fingerprint:
    """Return the fingerprint of a dump."""
    parameters = tuple(sorted(entry_parameters(analysis.dump).items()))
    return (parameters, len(analysis.dump.schedule)), parameters


def paired(
    old: Sequence[_Module],
    new: Sequence[_Module],
    name: Callable[[_Module], str],
    fingerprint_of: Callable[[_Module], Fingerprint],
) -> tuple[list[tuple[_Module, _Module]], list[_Module], list[_Module]]:
    """Pair the modules of two folders. Returns the pairs, in the order of the new folder, and the modules that only the
    old and only the new folder has. Calls `fingerprint_of` only where a name is not unique.
    """
    counts = Counter(map(name, old)), Counter(map(name, new))

    def keys(module: _Module) -> tuple[Hashable, ...]:
        """What the partner of a module has, from strict to lenient."""
        of_old, of_new = (count[name(module)] for count in counts)
        has_choice = of_old and of_new and of_old + of_new > 2
        return (*(fingerprint_of(module) if has_choice else (None, None)), name(module))

    left_old, left_new = (dict(enumerate(map(keys, side))) for side in (old, new))
    pairs: dict[int, int] = {}
    for level in range(3):
        for number, wanted in [*left_new.items()]:
            same = (other for other, found in left_old.items() if found[level:] == wanted[level:])
            if (partner := next(same, None)) is not None:
                pairs[number] = partner
                del left_old[partner], left_new[number]
    return (
        [(old[pairs[number]], new[number]) for number in sorted(pairs)],
        [old[number] for number in left_old],
        [new[number] for number in left_new],
    )
