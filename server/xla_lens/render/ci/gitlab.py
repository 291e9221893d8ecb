"""GitLab: a code quality report."""

import json
from collections.abc import Sequence
from typing import Final

from xla_lens.model.checks.codes import Severity
from xla_lens.render.ci.annotations import Annotation, fingerprints

_SEVERITIES: Final = {Severity.ERROR: "critical", Severity.WARNING: "major"}


def gitlab_text(annotations: Sequence[Annotation]) -> str:
    """Return a code quality report, a list in JSON."""
    data = [
        {
            "description": one.message,
            "check_name": one.rule,
            "fingerprint": fingerprint,
            "severity": _SEVERITIES.get(one.severity, "info"),
            # GitLab requires a line.
            "location": {"path": one.place.path, "lines": {"begin": one.place.line or 1}},
        }
        for one, fingerprint in zip(annotations, fingerprints(annotations), strict=True)
    ]
    return f"{json.dumps(data, indent=2)}\n"
