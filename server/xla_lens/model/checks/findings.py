"""Findings: contradictions in a dump set, each with the places that show it."""

from enum import Enum, auto
from typing import Final

from xla_lens.model.checks.codes import Code, Severity
from xla_lens.model.checks.problems import Problem
from xla_lens.model.places.places import Place
from xla_lens.records import dataclass

MAXIMUM_RELATED: Final = 10
"""Maximum number of related locations of one finding."""


class Relation(Enum):
    """What a related location has to do with a finding."""

    OTHER_OCCURRENCE = auto()
    """The other of two lines that repeat each other."""
    ALLOCATION = auto()
    """The header of the value's allocation."""
    SLICE = auto()
    """The value's row in its allocation."""
    OVERLAPPED_SLICE = auto()
    """A value that occupies the same bytes at the same time."""
    OUTPUT = auto()
    """The allocation that does hold the output."""
    TOTAL = auto()
    """The printed total of all allocations."""
    OTHER_LIST = auto()
    """The same value in the other list: its allocation or the used values."""
    QUOTED_INSTRUCTION = auto()
    """The instruction as the dump quotes it."""
    QUOTING_VALUE = auto()
    """The used value that quotes an instruction."""
    USE = auto()
    """The use that names the instruction."""
    STEP = auto()
    """The step at which the instruction runs."""
    LIVE_RANGE = auto()
    """The live range of a value that is live at the peak."""
    PEAK = auto()
    """The step of the real peak."""
    OUT_OF_ORDER = auto()
    """Another row that is out of order."""
    SWAPPED = auto()
    """The other of two swapped instructions."""
    MENTION = auto()
    """Another line that names the instruction."""
    MODULE_INSTRUCTION = auto()
    """The instruction in the HLO module."""
    DIFFERENCE = auto()
    """Another difference between the dump and the module."""


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
    problem: Problem
    related: tuple[Related, ...] = ()

    @property
    def code(self) -> Code:
        """The code of the problem."""
        return self.problem.code


def error(place: Place, problem: Problem, *related: Related) -> Finding:
    """A finding for something that XLA never prints."""
    return Finding(Severity.ERROR, place, problem, related)


def hint(place: Place, problem: Problem, *related: Related) -> Finding:
    """A finding for something unusual that is known to happen."""
    return Finding(Severity.HINT, place, problem, related)


def warning(place: Place, problem: Problem, *related: Related) -> Finding:
    """A finding for something that no known dump has, although XLA's code does not rule it out."""
    return Finding(Severity.WARNING, place, problem, related)
