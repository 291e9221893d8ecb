"""Arguments that the caller does not donate although an output could use their buffers (`model/advice/donation.py`).

After donation an argument is live only until it is read for the last time.
"""

from collections.abc import Iterator
from typing import Final

from xla_lens.model.advice.actions import Certainty
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.donation import Fit, missed_donations
from xla_lens.model.advice.rules.facts import Draft, Facts

_CERTAINTIES: Final = {
    Fit.FREE: Certainty.PROVEN,
    Fit.IN_PLACE: Certainty.ESTIMATED,
    Fit.SHARED: Certainty.POSSIBLE,
}


def donate(facts: Facts) -> Iterator[Draft]:
    """Find arguments to donate, one draft for each certainty."""
    missed = missed_donations(facts.dump)
    for fit, certainty in _CERTAINTIES.items():
        color, allocation = facts.dump.values.color, facts.dump.values.allocation
        rows = [row for row in missed if row.fit is fit and color[row.parameter] == facts.space.color]
        edit = {
            row.parameter: (facts.piece(row.parameter, facts.start(row.parameter), _last(row.last_read, row.birth)),)
            for row in rows
        }
        if edit:
            outputs = (int(allocation[row.output]) for row in rows if color[row.output] == facts.space.color)
            yield Draft(Rule.DONATE, certainty, edit, outputs=tuple(outputs))


def _last(last_read: int | None, birth: int) -> int:
    """The last step at which the argument needs bytes of its own. At the step that writes in place, both share them."""
    return min(birth - 1, last_read if last_read is not None else birth - 1)
