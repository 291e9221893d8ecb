"""Annotations in each of the formats."""

from collections.abc import Sequence

from xla_lens.render.ci.annotations import Annotation, worst_first
from xla_lens.render.ci.github import github_text
from xla_lens.render.ci.gitlab import gitlab_text
from xla_lens.render.ci.junit import junit_text
from xla_lens.render.ci.options import CiFormat
from xla_lens.render.ci.sarif import sarif_text


def ci_text(annotations: Sequence[Annotation], checked: Sequence[str], output_format: CiFormat) -> str:
    """Return annotations in a format, the worst first. `checked` are the names of all dumps that were checked."""
    ordered = worst_first(annotations)
    match output_format:
        case CiFormat.GITHUB:
            return github_text(ordered)
        case CiFormat.GITLAB:
            return gitlab_text(ordered)
        case CiFormat.SARIF:
            return sarif_text(ordered)
        case CiFormat.JUNIT:
            return junit_text(ordered, checked)
