"""The formats for continuous integration, as the command line understands them. Imports nothing of the model."""

from enum import StrEnum


class CiFormat(StrEnum):
    """A format for continuous integration, as `--output-format` names it."""

    GITHUB = "github"
    GITLAB = "gitlab"
    SARIF = "sarif"
    JUNIT = "junit"
