"""Build the package's description from README.md, and pass Microsoft's compiler its own options; everything else is in
pyproject.toml.

A package index shows the description away from the repository, where relative links and images are broken. They become
absolute if `tool.xla-lens.repository` in pyproject.toml is set. Until it is, links become plain text and images are
dropped.
"""

import re
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

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


class BuildPython(build_py):
    """Copies the modules for a wheel to an empty folder. That of an earlier build has modules that are gone since."""

    def run(self) -> None:
        """Empty the folder, then copy."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class BuildExtension(build_ext):
    """Builds the extension module with options that the compiler knows."""

    def build_extensions(self) -> None:
        """Replace the options of pyproject.toml, which are those of GCC and Clang, for Microsoft's compiler."""
        if self.compiler.compiler_type == "msvc":
            for extension in self.extensions:
                extension.extra_compile_args = ["/std:c11", "/O2", "/utf-8"]
        super().build_extensions()


if __name__ == "__main__":
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    repository = project["tool"]["xla-lens"]["repository"]
    setup(
        cmdclass={"build_py": BuildPython, "build_ext": BuildExtension},
        project_urls={"Repository": repository, "Issues": f"{repository}/issues"} if repository else {},
        long_description=description(readme, repository),
        long_description_content_type="text/markdown",
    )
