"""Which dumps of two folders belong together: those of modules with the same name.

Where several modules have one name, those with the same parameters and equally many instructions come first, then those
with the same parameters, then the others, each in their order.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

from xla_lens.model.analysis import Analysis
from xla_lens.model.diff.comparable import entry_parameters

_Module = TypeVar("_Module")

Fingerprint = tuple[Hashable, ...]
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
    by_name: tuple[defaultdict[str, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for side, modules in zip(by_name, (old, new), strict=True):
        for number, module in enumerate(modules):
            side[name(module)].append(number)
    partner: dict[int, int] = {}
    for key in by_name[0].keys() & by_name[1].keys():
        first, second = by_name[0][key], by_name[1][key]
        if len(first) == len(second) == 1:
            partner[second[0]] = first[0]
            continue
        old_prints = {number: fingerprint_of(old[number]) for number in first}
        new_prints = {number: fingerprint_of(new[number]) for number in second}
        partner |= _closest(old_prints, new_prints)
    used = set(partner.values())
    return (
        [(old[partner[number]], new[number]) for number in sorted(partner)],
        [module for number, module in enumerate(old) if number not in used],
        [module for number, module in enumerate(new) if number not in partner],
    )


def _closest(old: dict[int, Fingerprint], new: dict[int, Fingerprint]) -> dict[int, int]:
    """The old partner of each new number, by the strictest part of the fingerprints that two have in common."""
    found: dict[int, int] = {}
    left = list(old)
    strictness = len(next(iter(old.values())))
    for level in range(strictness + 1):
        for number in sorted(new.keys() - found.keys()):
            same = (one for one in left if level == strictness or old[one][level] == new[number][level])
            one = next(same, None)
            if one is not None:
                found[number] = one
                left.remove(one)
    return found
