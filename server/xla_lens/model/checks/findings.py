"""Findings: contradictions in a dump set, each with the places that show it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.problems import Occurrence, Problem
from xla_lens.model.places.places import Place

MAXIMUM_RELATED: Final = 10
"""Maximum number of related locations of one finding."""


class Relation(StrEnum):
    """How a related location is related to its finding, as editors show it."""

    OTHER_OCCURRENCE = "Other occurrence"
    """The other of two lines that repeat each other."""
    ALLOCATION = "Allocation"
    """The header of the value's allocation."""
    SLICE = "Value in its allocation"
    """The value's row in its allocation."""
    OVERLAPPED_SLICE = "Overlapping value"
    OTHER_LIST = "Same value in the other list"
    QUOTED_INSTRUCTION = "Quoted instruction"
    STEP = "Scheduled here"
    LIVE_RANGE = "Live at this step"
    """The live range of a value that is live at the peak."""
    PEAK = "Real peak"
    MODULE_INSTRUCTION = "Instruction in the HLO module"
    DIFFERENCE = "Also differs"


@dataclass(frozen=True, slots=True)
class Related:
    """Another location that has to do with a finding."""

    place: Place
    relation: Relation


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem, the place it is reported at, and the places that help to understand it."""

    severity: Severity
    place: Place
    problem: Occurrence
    related: tuple[Related, ...] = ()

    @property
    def code(self) -> Code:
        """The code of the problem."""
        return self.problem.kind.code


Findings: TypeAlias = Iterator[Finding]
"""What a check yields."""


def of_another_compilation(found: Sequence[Finding], kind: Problem) -> Finding:
    """Replace findings by one at the place of the first: there are so many that the files are of two compilations."""
    first, *others = found
    related = tuple(Related(other.place, Relation.DIFFERENCE) for other in others[:MAXIMUM_RELATED])
    return Finding(Severity.ERROR, first.place, kind(len(found)), related)


def error(place: Place, problem: Occurrence) -> Finding:
    """A finding for something that XLA never prints."""
    return Finding(Severity.ERROR, place, problem)
