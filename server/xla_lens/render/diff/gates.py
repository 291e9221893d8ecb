"""Violated limits in words."""

from xla_lens.features.diff.facts import Diff
from xla_lens.features.diff.gates import Violation
from xla_lens.render.diff.rows import change_text
from xla_lens.render.memory_spaces import space_name
from xla_lens.render.numbers import apart, human


def violation_rule(violation: Violation) -> tuple[str, str]:
    """The stable name of a limit, which is that of its option, and what the limit means."""
    what = "What a program needs of" if violation.limit.is_needed else "The peak of"
    return _option(violation), f"{what} a memory space grew by more than is allowed"


def _option(violation: Violation) -> str:
    return f"max-{'memory' if violation.limit.is_needed else 'peak'}-increase"


def violation_text(one: Diff, violation: Violation) -> str:
    """A violated limit in one line: ``jit_f: HBM peak grew by +64.00 MiB (+1.6 %), from 4.00 GiB to 4.06 GiB; …``."""
    limit, sizes = violation.limit, violation.sizes
    option = f"--{_option(violation)} {limit.increase.text}"
    space = space_name(violation.space)
    what = f"needed {space}" if limit.is_needed else f"{space} peak"
    name = one.name or next(iter(one.new.files.values()))
    if sizes is None:
        return f"{name}: {what} cannot be compared, because a dump is incomplete; {option} counts as exceeded"
    return (
        f"{name}: {what} grew by {change_text(sizes)}, from {apart(sizes.old, sizes.new)} to {human(sizes.new)}; "
        f"{option} allows less"
    )
