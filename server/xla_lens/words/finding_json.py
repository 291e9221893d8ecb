"""Findings as JSON."""

from xla_lens.model.checks.problems import Finding
from xla_lens.text.positions import position_from_1
from xla_lens.words.json_types import Finding as FindingJson
from xla_lens.words.json_types import Location, Related
from xla_lens.words.messages import message


def finding_data(finding: Finding) -> FindingJson:
    """A finding as `xla-lens check --output-format json` prints it."""
    place = finding.place
    return FindingJson(
        code=finding.code,
        severity=finding.severity,
        message=message(finding),
        filename=place.file.label,
        location=Location(**place.position_from_1),
        end_location=Location(**position_from_1(place.file.document, place.end)),
        related=[
            Related(
                filename=related.place.file.label,
                location=Location(**related.place.position_from_1),
                message=related.relation.value,
            )
            for related in finding.related
        ],
    )
