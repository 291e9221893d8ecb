"""What findings say: the numbers, the rule, and what it usually means."""

from typing import Final

from xla_lens.model.checks.findings import Finding
from xla_lens.render.messages import allocations, form, limits, peaks, steps, values

_WORDINGS: Final = {
    **form.WORDINGS,
    **allocations.WORDINGS,
    **values.WORDINGS,
    **steps.WORDINGS,
    **peaks.WORDINGS,
    **limits.WORDINGS,
}


def message(finding: Finding) -> str:
    """The message of a finding, plain text on one line."""
    return _WORDINGS[finding.code](finding.facts)


def related_message(what: str) -> str:
    """What stands at a related place of a finding."""
    return _RELATED[what]


_RELATED: Final = {
    "allocation": "The allocation",
    "displaced": "Also out of place",
    "first": "The first time",
    "instruction": "The instruction, as the dump quotes it",
    "live range": "Live at that step",
    "mention": "Also mentioned here",
    "other name": "What the other list says",
    "output": "The allocation of the output",
    "overlapped": "Shares bytes with it",
    "peak": "The true peak",
    "slice": "The value in its allocation",
    "step": "The step",
    "swapped": "The other one",
    "total": "The total",
    "use": "Who reads it",
    "value": "The value that quotes it",
}
