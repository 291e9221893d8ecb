"""What findings about limits say."""

from typing import Final

from xla_lens.model.checks.findings import Code
from xla_lens.render.messages.words import Facts, Wording
from xla_lens.render.numbers import exact


def _max_peak(facts: Facts) -> str:
    limit = exact(int(facts["limit_bytes"]))
    if not facts["is_known"]:
        return f"Whether the peak is within {limit} is not known: the dump has no live ranges, or no allocations."
    size = exact(int(facts["size_bytes"]))
    return f"At step {facts['step']} {size} of the default memory space are live, more than the limit of {limit}."


def _max_reserved(facts: Facts) -> str:
    limit = exact(int(facts["limit_bytes"]))
    if not facts["is_known"]:
        return f"Whether what is reserved is within {limit} is not known: the dump has no allocations."
    size = exact(int(facts["size_bytes"]))
    return f"{size} of the default memory space are reserved, more than the limit of {limit}. This is the biggest part."


WORDINGS: Final[Wording] = {
    Code.MAX_PEAK: _max_peak,
    Code.MAX_RESERVED: _max_reserved,
}
