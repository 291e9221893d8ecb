"""Build the package's description from README.md; everything else is in pyproject.toml.

A package index shows the description away from the repository, where relative links and images are broken. They become
absolute if `tool.xla-lens.repository` in pyproject.toml is set. Until it is, links become plain text and images are
dropped.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

_ROOT = Path(__file__).parent


def description(text: str, repository: str) -> str:
    """Return README text whose links work anywhere. `repository` is the URL of the public repository, or empty."""

    def absolute(match: re.Match[str]) -> str:
        image, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group()
        if not repository:
            return "" if image else label
        return f"{image}[{label}]({repository}/{'raw' if image else 'blob'}/HEAD/{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, text)


if __name__ == "__main__":
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=description(readme, project["tool"]["xla-lens"]["repository"]),
        long_description_content_type="text/markdown",
    )
