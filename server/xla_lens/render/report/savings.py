"""The parts of a report that tell what might be saved."""

from collections.abc import Iterator
from typing import Final

from xla_lens.features.report.facts import BudgetReport, DonationReport, LiveSet
from xla_lens.render.numbers import counted, human
from xla_lens.render.report.blocks import Part, Section, Table, Words
from xla_lens.render.report.words import op_name_word, step_link, value_link


def budget_part(budget: BudgetReport, peak: LiveSet | None, space: str) -> Part:
    """Which values would have to go."""
    if not budget.values:
        is_within = budget.is_reached and peak is not None
        told = "The peak is within it already." if is_within else "It cannot be reached."
        return (Section(f"Budget of {human(budget.budget_bytes)} for {space}: {told}"),)
    proven = "the fewest" if budget.is_proven_smallest else f"at least {budget.at_least:,} have to"
    title = (
        f"Within {human(budget.budget_bytes)} {space} would stay without {counted(len(budget.values), 'value')} "
        f"({proven}); the peak would be {human(budget.peak_bytes)}"
    )
    rows = tuple(
        (human(value.size_bytes), value_link(value), f"{value.start_step}-{value.end_step}", op_name_word(value))
        for value in budget.values
    )
    return (Section(title, (Table(("size", "value", "live", "op_name"), rows, left=(1, 2, 3)),)),)


_FITS: Final = {
    "free": "the parameter is dead before",
    "in place": "if its last reader writes in place",
    "shared": "others are in that buffer before: less may be saved",
}


def donation_part(donation: DonationReport) -> Part:
    """What donation saves and might save, and what it costs in copies."""
    donated = f"{counted(donation.donated_count, 'parameter')} ({human(donation.donated_bytes)})"
    holding = (
        f"outputs are in the memory of {donated}" if donation.donated_count else "no parameter's memory holds outputs"
    )
    could = f"{donation.missed_count:,} more could" if donation.missed_count else "no more could, as far as can be told"
    return (Section(f"Donation: {holding}, {could}", (*_missed(donation), *_copies(donation))),)


def _missed(donation: DonationReport) -> Iterator[Words | Table]:
    if not donation.missed:
        return
    for fit, size_bytes in donation.missed_bytes.items():
        if size_bytes:
            yield f"{human(size_bytes)} at stake, {_FITS[fit]}"
    rows = tuple(
        (
            human(row.size_bytes),
            value_link(row.parameter),
            step_link(row.last_read) or "never",
            value_link(row.output),
            step_link(row.birth),
            row.fit,
        )
        for row in donation.missed
    )
    yield Table(("size", "parameter", "read last at", "output", "made at", "how sure"), rows, left=(1, 3, 5))


def _copies(donation: DonationReport) -> Iterator[Words | Table]:
    if not donation.copies:
        return
    copies = counted(donation.copies_count, "copy").replace("copys", "copies")
    yield f"{copies} ({human(donation.copies_bytes)}) keep parameters apart from outputs:"
    rows = tuple(
        (human(row.size_bytes), value_link(row.copy), ("of ", value_link(row.parameter))) for row in donation.copies
    )
    yield Table(("size", "copy", "parameter"), rows, left=(1, 2), has_plain_header=False)
