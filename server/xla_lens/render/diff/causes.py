"""The causes of a change in words."""

from xla_lens.model.diff.causes import CauseKind, ChangeCause
from xla_lens.model.diff.comparison import Pair
from xla_lens.render.diff.rows import change_text
from xla_lens.render.numbers import counted, human

_NOTHING = Pair(0, 0)


def cause_text(cause: ChangeCause) -> str:
    """A cause in one sentence."""
    count, size = cause.count, cause.size_bytes or _NOTHING
    match cause.kind:
        case CauseKind.DONATION:
            return _donation(cause, count, size)
        case CauseKind.TYPE:
            types = ", ".join(f"{old} → {new}" for old, new in cause.types[:2])
            return f"Type: {counted(count.new, 'value')} at the peaks changed from {types}: {change_text(size)}."
        case CauseKind.SIZE:
            values = f"{counted(count.new, 'value')} at the peaks"
            return f"Shape: {values} have other dimensions{_dimensions(cause)}: {change_text(size)}."
        case CauseKind.REMATERIALIZED:
            return f"Rematerialization: XLA computes {_counts(count, 'instruction')} again (.remat)."
        case CauseKind.CHECKPOINT:
            return f"Checkpointing: jax.checkpoint computes {_counts(count, 'value')} again."
        case CauseKind.ASYNCHRONOUS:
            return f"Collectives: {_counts(count, 'collective')} asynchronous, holding buffers until done."
        case CauseKind.PADDING:
            return f"Padding at the peak: {human(size.old)} before, {human(size.new)} now: {change_text(size)}."
        case CauseKind.OUTPUTS:
            word, change = ("more", size.change) if count.change > 0 else ("fewer", -size.change)
            return f"Outputs: {abs(count.change):,} {word} with {human(change)}."
        case CauseKind.FUSION:
            return _fusion(cause, count, size)
        case CauseKind.SCHEDULE:
            return f"Schedule: the same buffers in another order; {counted(count.new, 'value')} moved in time."


def _dimensions(cause: ChangeCause) -> str:
    """The dimensions that changed most: `` (512 → 1024)``."""
    changed = ", ".join(f"{old} → {new}" for old, new in cause.types[:2])
    return f" ({changed})" if changed else ""


def _fusion(cause: ChangeCause, count: Pair, size: Pair) -> str:
    split = f"{counted(count.new, 'value')} with {human(size.new)} now outside of fusions" if count.new else ""
    fused = f"{counted(count.old, 'value')} with {human(size.old)} now inside of fusions" if count.old else ""
    names = ", ".join(dict.fromkeys(name.rpartition("/")[2] for name, _ in cause.types[:4]))
    return f"Fusion: {', '.join(filter(None, (split, fused)))} ({names})."


def _donation(cause: ChangeCause, count: Pair, size: Pair) -> str:
    fewer, more = cause.copies
    lost = f"{counted(count.old, 'parameter')} with {human(size.old)} no longer donated" if count.old else ""
    gained = f"{counted(count.new, 'parameter')} with {human(size.new)} newly donated" if count.new else ""
    if more:
        lost += f", copied by {_names(more)} instead"
    if fewer:
        gained += f", no longer copied by {_names(fewer)}"
    return f"Donation: {', '.join(filter(None, (lost, gained)))}."


def _names(names: tuple[str, ...]) -> str:
    """The first names of instructions, and how many there are besides."""
    shown, others = ", ".join(names[:2]), len(names) - 2
    return f"{shown} and {others:,} more" if others > 0 else shown


def _counts(count: Pair, noun: str) -> str:
    return f"{counted(count.new, noun)} ({count.old:,} before)"
