"""The sentences and numbers of comparisons: changes, causes, what makes dumps hard to compare, and violated limits."""

from collections.abc import Callable, Mapping
from typing import Final

from xla_lens.features.diff.facts import Diff, Violation
from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.causes import CauseKind, ChangeCause
from xla_lens.model.diff.comparable import Difference, DifferenceKind
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.messages import worded
from xla_lens.render.numbers import MINUS, apart, counted, human, signed
from xla_lens.render.report.blocks import Inline, Name, Role, Text, joined

BIG_BYTES: Final = 1 << 16
"""Memory spaces other than the default one are shown if they reserve this many bytes, and the breakdowns of their peak
if it changed by as many. JSON has all of them.
"""


def change_text(pair: Pair) -> str:
    """A change in bytes and in percent: ``+22.50 MiB (+14.3 %)``."""
    share = signed_percent(pair)
    return signed(pair.change) + (f" ({share})" if share else "")


def signed_percent(pair: Pair) -> str:
    """A change in percent: ``+14.3 %``, or as a factor if it is large: ``× 12.5``. Empty if there was nothing before,
    and if the change is less than what is shown.
    """
    share = abs(pair.change) / pair.old if pair.old else 0
    if share < _SMALLEST_CHANGE:
        return ""
    if pair.new > _LARGEST_PERCENT * pair.old:
        return f"× {pair.new / pair.old:,.1f}"
    return f"{'+' if pair.change > 0 else MINUS}{100 * share:,.1f} %"


_SMALLEST_CHANGE: Final = 0.0005
_LARGEST_PERCENT: Final = 10


def grown_text(pair: Pair, unchanged: str) -> str:
    """Sizes before and after, and their change: ``157.54 MiB → 180.04 MiB, +22.50 MiB (+14.3 %)``; if they look the
    same, `unchanged` with the size in place of braces.
    """
    if human(pair.old) == human(pair.new) and not signed_percent(pair):
        return unchanged.format(human(pair.new))
    return f"{apart(*pair)} → {human(pair.new)}, {change_text(pair)}"


def steps_longer(steps: int, less: str) -> str:
    """How much longer a value lives, or less if that is negative: ``30 steps less``."""
    return f"{counted(abs(steps), 'step')} {'longer' if steps > 0 else less}"


# ---------------------------------------------------------------- causes


def cause_text(cause: ChangeCause) -> str:
    """A cause in one sentence."""
    count, size = cause.count, cause.size_bytes or Pair(0, 0)
    examples = ", ".join(cause.examples[:_MAX_EXAMPLES])
    fewer, more = (", ".join(names[:_MAX_EXAMPLES]) for names in cause.copies)
    facts = {
        "count": count.new,
        "before": count.old,
        "old": size.old,
        "new": size.new,
        "change": change_text(size),
        "types": examples,
        "examples": f" ({examples})" if examples else "",
        "more": f"{abs(count.change):,} {'more' if count.change > 0 else 'fewer'}",
        "changed": abs(size.change),
        "copied": f", copied by {more} instead" if more else "",
        "uncopied": f", no longer copied by {fewer}" if fewer else "",
    }
    parts = [worded(text, facts) for name, text in _PARTS.get(cause.kind, ()) if facts[name]]
    return worded(_CAUSES[cause.kind], {**facts, "parts": ", ".join(parts)})


_MAX_EXAMPLES: Final = 3

_PARTS: Final = {
    CauseKind.DONATION: (
        ("before", "{before:# parameter|# parameters} with {old:human} no longer donated{copied}"),
        ("count", "{count:# parameter|# parameters} with {new:human} newly donated{uncopied}"),
    ),
    CauseKind.FUSION: (
        ("count", "{count:# operation|# operations} with {new:human} now outside of fusions"),
        ("before", "{before:# operation|# operations} with {old:human} now inside of fusions"),
    ),
}
"""What a cause says of the old and of the new dump, if the fact with the first name is not 0."""

_CAUSES: Final = {
    CauseKind.DONATION: "Donation: {parts}.",
    CauseKind.OUTPUTS: "Outputs: {more} with {changed:human}.",
    CauseKind.TYPE: "Type: {count:# value|# values} at the peaks changed from {types}: {change}.",
    CauseKind.SIZE: (
        "Shape: {count:# value at the peaks has|# values at the peaks have} other dimensions{examples}: {change}."
    ),
    CauseKind.FUSION: "Fusion: {parts}{examples}.",
    CauseKind.CHECKPOINT: (
        "Checkpointing: jax.checkpoint computes {count:# value|# values} ({before:,} before) again."
    ),
    CauseKind.REMATERIALIZED: (
        "Rematerialization: XLA computes {count:# instruction|# instructions} ({before:,} before) again (.remat)."
    ),
    CauseKind.ASYNCHRONOUS: (
        "Collectives: {count:# collective|# collectives} ({before:,} before) asynchronous, holding buffers until done."
    ),
    CauseKind.PADDING: "Padding at the peak: {old:human} before, {new:human} now: {change}.",
    CauseKind.SCHEDULE: ("Schedule: the same buffers in another order; {count:# value|# values} moved in time."),
}


# ---------------------------------------------------------------- what makes two dumps hard to compare


def is_serious(difference: Difference) -> bool:
    """Whether a comparison has to start with a difference, because its numbers may mean little, or because it explains
    them.
    """
    return difference.kind not in (DifferenceKind.REWRITTEN, DifferenceKind.PARAMETERS)


def difference_text(difference: Difference) -> Text:
    """A difference in one sentence."""
    words, facts = _DIFFERENCES[difference.kind], difference.facts
    return worded(words, {**facts, "whose": _whose(**facts)}) if isinstance(words, str) else words(**facts)


_MAX_FLAGS: Final = 3


def _flags(old: Mapping[str, str], new: Mapping[str, str]) -> Text:
    names = [name for name in sorted({**old, **new}) if old.get(name) != new.get(name)]
    changes: list[Text] = [
        (Name(name), " ", _flag(old.get(name)), " → ", _flag(new.get(name))) for name in names[:_MAX_FLAGS]
    ]
    if len(names) > _MAX_FLAGS:
        changes.append(f"and {counted(len(names) - _MAX_FLAGS, 'other')}")
    return ("Flags: ", *joined(changes, ", "), ".")


def _flag(value: str | None) -> Inline:
    return Name(value) if value else "default"


def _whose(*, is_old: bool = False, is_new: bool = False, **_: object) -> str:
    return "Both dumps have" if is_old and is_new else f"The {'old' if is_old else 'new'} dump has"


def _parameters(old: tuple[int, int, str | None], new: tuple[int, int, str | None], first: int) -> Text:
    counts = (
        f"Other parameters: {old[0]:,} with {human(old[1])} before, {new[0]:,} with {human(new[1])} now; "
        f"the first that differs is parameter {first}, "
    )
    shapes = (Name(side[2], role=Role.SHAPE) if side[2] is not None else "none" for side in (old, new))
    before, after = shapes
    return (counts, before, " before, ", after, " now.")


_DIFFERENCES: Final[Mapping[DifferenceKind, str | Callable[..., Text]]] = {
    DifferenceKind.UNREADABLE: lambda file, reason: (Name(file), f" {reason}."),
    DifferenceKind.BACKEND: (
        "Hard to compare: the old dump is for {old:backend}, the new one for {new:backend}, and each backend fuses and "
        "places buffers by its own rules."
    ),
    DifferenceKind.DEVICES: (
        "Hard to compare: the old module is compiled for {old:# device|# devices}, the new one for "
        "{new:# device|# devices}. Sizes are those of one device."
    ),
    DifferenceKind.OTHER_PROGRAM: (
        "Hard to compare: only {fraction:percent} of the bytes at the peaks belong to values that both dumps have. "
        "These may be different programs."
    ),
    DifferenceKind.REWRITTEN: (
        "Only {fraction:percent} of the bytes at the peaks belong to values that both dumps have."
    ),
    DifferenceKind.NO_LIVE_RANGES: "{whose} no live ranges, so the change of the peak is unknown.",
    DifferenceKind.INCOMPLETE: ("{whose} missing or contradictory parts: run `xla-lens check` for the details."),
    DifferenceKind.PARAMETERS: _parameters,
    DifferenceKind.COMPILER: "Compiler: libtpu of changelist {old} before, {new} now.",
    DifferenceKind.FLAGS: _flags,
}


# ---------------------------------------------------------------- limits


def violation_rule(violation: Violation) -> tuple[str, str]:
    """The stable name of a limit, which is that of its option, and what the limit means."""
    what = "What a program needs of" if violation.limit.is_needed else "The peak of"
    option = f"max-{'memory' if violation.limit.is_needed else 'peak'}-increase"
    return option, f"{what} a memory space grew by more than is allowed"


def violation_text(one: Diff, violation: Violation) -> str:
    """A violated limit in one line: ``jit_f: HBM peak grew by +64.00 MiB (+1.6 %), from 4.00 GiB to 4.06 GiB; …``."""
    limit, sizes, space = violation.limit, violation.sizes, space_name(violation.space)
    option = f"--{violation_rule(violation)[0]} {limit.increase.text}"
    subject = f"{one.name or one.new.label}: {f'needed {space}' if limit.is_needed else f'{space} peak'}"
    if sizes is None:
        return f"{subject} cannot be compared, because a dump is incomplete; {option} counts as exceeded"
    sizes_text = f"from {apart(sizes.old, sizes.new)} to {human(sizes.new)}"
    return f"{subject} grew by {change_text(sizes)}, {sizes_text}; {option} allows less"
