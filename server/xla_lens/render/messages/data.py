"""Findings as JSON."""

from typing import Any

from xla_lens.model.checks.findings import Finding
from xla_lens.model.places.places import Place
from xla_lens.render.messages import message, related_message
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding in the schema of `xla-lens check --output-format json`; rows and columns count from 1."""
    place = finding.place
    return {
        "code": finding.code.value,
        "severity": finding.severity.value,
        "message": message(finding),
        "filename": place.file.label,
        "location": _location(place, place.start),
        "end_location": _location(place, place.end),
        "related": [
            {
                "filename": related.place.file.label,
                "location": _location(related.place, related.place.start),
                "message": related_message(related),
            }
            for related in finding.related
        ],
    }


def _location(place: Place, offset: int) -> dict[str, int]:
    row, column = to_position(place.file.document, offset, Encoding.UTF32)
    return {"row": row + 1, "column": column + 1}
