"""The sentences and numbers of comparisons: changes, causes, what makes dumps hard to compare, and violated limits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from xla_lens.blocks.blocks import Inline, Name, Role, Text, joined
from xla_lens.diff.compare import Diff, LimitedNumber, Violation
from xla_lens.model.diff.breakdowns import Pair
from xla_lens.model.diff.causes import ChangeCause
from xla_lens.model.diff.comparable import Difference, DifferenceKind
from xla_lens.model.flags import CHIP, DEVICE_MEMORY, Setting
from xla_lens.words.messages import worded
from xla_lens.words.numbers import MINUS, apart, counted, human, signed

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


def more_or_fewer(change: int) -> str:
    """How many things were added: ``2 more``, or removed: ``2 fewer``."""
    return f"{abs(change):,} {'more' if change > 0 else 'fewer'}"


# ---------------------------------------------------------------- causes


def cause_text(cause: ChangeCause) -> str:
    """A cause in one sentence."""
    count, size = cause.count, cause.size_bytes or Pair(0, 0)
    examples = ", ".join(cause.examples[:_MAX_EXAMPLES])
    fewer, more = (", ".join(names[:_MAX_EXAMPLES]) for names in cause.copies)
    facts = {
        "count": count,
        "size": size,
        "change": change_text(size),
        "types": examples,
        "examples": f" ({examples})" if examples else "",
        "more": more_or_fewer(count.change),
        "changed": abs(size.change),
        "copied": f", copied by {more} instead" if more else "",
        "uncopied": f", no longer copied by {fewer}" if fewer else "",
    }
    parts = [worded(text, facts) for side, text in _PARTS.get(cause.kind, ()) if getattr(count, side)]
    return worded(_CAUSES[cause.kind], {**facts, "parts": ", ".join(parts)})


_MAX_EXAMPLES: Final = 3

_PARTS: Final = {
    "donation": (
        ("old", "{count.old:# parameter|# parameters} with {size.old:human} no longer donated{copied}"),
        ("new", "{count.new:# parameter|# parameters} with {size.new:human} newly donated{uncopied}"),
    ),
    "fusion": (
        ("new", "{count.new:# operation|# operations} with {size.new:human} now outside of fusions"),
        ("old", "{count.old:# operation|# operations} with {size.old:human} now inside of fusions"),
    ),
}
"""What a cause says of each dump, if it is about something there."""

_CAUSES: Final = {
    "donation": "Donation: {parts}.",
    "outputs": "Outputs: {more} with {changed:human}.",
    "type": "Type: {count.new:# value|# values} at the peaks changed from {types}: {change}.",
    "size": (
        "Shape: {count.new:# value at the peaks has|# values at the peaks have} other dimensions{examples}: {change}."
    ),
    "fusion": "Fusion: {parts}{examples}.",
    "checkpoint": "Checkpointing: jax.checkpoint computes {count.new:# value|# values} ({count.old:,} before) again.",
    "rematerialized": (
        "Rematerialization: XLA computes {count.new:# instruction|# instructions} ({count.old:,} before) again "
        "(.remat)."
    ),
    "asynchronous": (
        "Collectives: {count.new:# collective|# collectives} ({count.old:,} before) asynchronous, holding buffers "
        "until done."
    ),
    "padding": "Padding at the peak: {size.old:human} before, {size.new:human} now: {change}.",
    "schedule": ("Schedule: the same buffers in another order; {count.new:# value|# values} moved in time."),
}


# ---------------------------------------------------------------- what makes two dumps hard to compare


def is_serious(difference: Difference) -> bool:
    """Whether a comparison has to start with a difference, because its numbers may mean little, or because it explains
    them.
    """
    return difference.kind not in ("rewritten", "parameters")


def difference_text(difference: Difference) -> Text:
    """A difference in one sentence."""
    words, facts = _DIFFERENCES[difference.kind], difference.facts
    return worded(words, {**facts, "whose": _whose(**facts)}) if isinstance(words, str) else words(**facts)


_MAX_SETTINGS: Final = 6


def _flags(changes: Sequence[Setting]) -> Text:
    return _settings("Flags: ", changes)


def _device(changes: Sequence[Setting]) -> Text:
    return _settings("Device: ", changes)


def _settings(title: str, changes: Sequence[Setting]) -> Text:
    texts: list[Text] = [
        (
            *_SETTING_NAMES.get(change.name, (Name(change.name), " ")),
            _value(change.name, change.old),
            " → ",
            _value(change.name, change.new),
        )
        for change in changes[:_MAX_SETTINGS]
    ]
    if len(changes) > _MAX_SETTINGS:
        texts.append(f"and {counted(len(changes) - _MAX_SETTINGS, 'other')}")
    return (title, *joined(texts, ", "), ".")


_SETTING_NAMES: Final[Mapping[str, tuple[Inline, ...]]] = {DEVICE_MEMORY: ("memory ",), CHIP: ()}
"""The names of properties in words, if they are not those in the file."""


def _value(name: str, value: str | None) -> Inline:
    if not value:
        return "default" if value is None else "none"
    return human(int(value)) if name == DEVICE_MEMORY and value.isdecimal() else Name(value)


def _whose(*, is_old: bool = False, is_new: bool = False, **_: object) -> str:
    return "Both dumps have" if is_old and is_new else f"The {'old' if is_old else 'new'} dump has"


def _parameters(old: tuple[int, int, str | None], new: tuple[int, int, str | None], first: int) -> Text:
    counts = (
        "Other parameters: {old[0]:,} with {old[1]:human} before, {new[0]:,} with {new[1]:human} now; "
        "the first that differs is parameter {first}, "
    )
    before, after = (Name(side[2], role=Role.SHAPE) if side[2] is not None else "none" for side in (old, new))
    return (worded(counts, {"old": old, "new": new, "first": first}), before, " before, ", after, " now.")


_DIFFERENCES: Final[Mapping[DifferenceKind, str | Callable[..., Text]]] = {
    "unreadable": lambda file, reason: (Name(file), f" {reason}."),
    "backend": (
        "Hard to compare: the old dump is for {old:backend}, the new one for {new:backend}, and each backend fuses and "
        "places buffers by its own rules."
    ),
    "devices": (
        "Hard to compare: the old module is compiled for {old:# device|# devices}, the new one for "
        "{new:# device|# devices}. Sizes are those of one device."
    ),
    "other program": (
        "Hard to compare: only {fraction:percent} of the bytes at the peaks belong to values that both dumps have. "
        "These may be different programs."
    ),
    "rewritten": ("Only {fraction:percent} of the bytes at the peaks belong to values that both dumps have."),
    "no live ranges": "{whose} no live ranges, so the change of the peak is unknown.",
    "incomplete": ("{whose} missing or contradictory parts: run `xla-lens check` for the details."),
    "parameters": _parameters,
    "compiler": "Compiler: libtpu of changelist {old} before, {new} now.",
    "device": _device,
    "flags": _flags,
    "library": lambda old, new, library, flag: (
        f"Fusions: {library} executes {counted(new, 'fusion') if new else 'none'} now, {old or 'none'} before (",
        Name(flag),
        ").",
    ),
}


# ---------------------------------------------------------------- limits


_LIMITS: Final = {
    LimitedNumber.NEEDED: ("max-memory-increase", "What a program needs of", "needed {}"),
    LimitedNumber.PEAK: ("max-peak-increase", "The peak of", "{} peak"),
}
"""For each number that can be limited the option, and what it is of a memory space."""


def violation_rule(violation: Violation) -> tuple[str, str]:
    """The stable name of a limit, which is that of its option, and what the limit means."""
    option, what, _ = _LIMITS[violation.number]
    return option, f"{what} a memory space grew by more than is allowed"


def violation_text(diff: Diff, violation: Violation) -> str:
    """A violated limit in one line: ``jit_f: HBM peak grew by +64.00 MiB (+1.6 %), from 4.00 GiB to 4.06 GiB; …``."""
    option, _, what = _LIMITS[violation.number]
    subject = f"{diff.name or diff.new.label}: {what.format(violation.space.name)}"
    if (sizes := violation.sizes) is None:
        change, allowed = "cannot be compared, because a dump is incomplete", "counts as exceeded"
    else:
        change = f"grew by {change_text(sizes)}, from {apart(*sizes)} to {human(sizes.new)}"
        allowed = "allows less"
    return f"{subject} {change}; --{option} {violation.limit.text} {allowed}"
