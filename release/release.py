"""Commits a release in a clean checkout: sets the version and the address of the repository, and dates the changelog.

python release.py VERSION

With `--check`, nothing is committed: the command fails unless every file has the version of this tag already.
"""

import argparse
import datetime
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent

_VERSIONS: Final = {
    "server/xla_lens/__init__.py": r'(?<=^__version__ = ")[^"]+',
    "vscode-extension/package.json": r'(?<=^  "version": ")[^"]+',
    "vscode-extension/package-lock.json": r'(?<="name": "xla-lens",\n)(?P<indent> +)"version": "[^"]+',
    "grammar/tree-sitter.json": r'(?<=^    "version": ")[^"]+',
    "grammar/package.json": r'(?<=^  "version": ")[^"]+',
    "grammar/Cargo.toml": r'(?<=^version = ")[^"]+',
    "grammar/pyproject.toml": r'(?<=^version = ")[^"]+',
}
"""The files with the version, and a pattern that finds it."""

_LINKS: Final = {
    "vscode-extension/package.json": '  "repository": "{0}",\n  "bugs": "{0}/issues",\n  "homepage": "{0}",\n',
    "grammar/tree-sitter.json": '    "links": {{"repository": "{0}"}},\n',
    "grammar/package.json": '  "repository": "{0}",\n',
    "grammar/Cargo.toml": 'repository = "{0}"\n',
    "grammar/pyproject.toml": 'urls = {{ Repository = "{0}" }}\n',
}
"""The lines with the address of the repository in each file. They follow the line with the license."""


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    one_of = parser.add_mutually_exclusive_group(required=True)
    one_of.add_argument("version", type=_version, nargs="?", help="such as 0.2.0")
    one_of.add_argument("--check", metavar="TAG", help="such as v0.2.0")
    options = parser.parse_args()
    if options.check:
        sys.exit("\n".join(other_versions(ROOT, options.check.removeprefix("v"))) or None)
    version = options.version
    if changed := _run("git", "status", "--porcelain"):
        sys.exit(f"Commit or remove these changes first:\n{changed}")
    if _run("git", "tag", "--list", f"v{version}"):
        sys.exit(f"The tag v{version} exists. Choose a later version.")
    date_changelog(ROOT / "CHANGELOG.md", version, datetime.datetime.now(datetime.UTC).date())
    set_version(ROOT, version)
    set_repository(ROOT)
    _run("git", "commit", "--all", "--quiet", "--message", f"Release {version}")
    print(f"Committed {version}. When dist/ is built and you have looked at it, publish it:")
    print(f"  git tag v{version} && git push origin HEAD v{version}")


def set_version(root: Path, version: str) -> None:
    """Set the version in every file that has it. Exits with an error if a file has no version."""
    for name in _VERSIONS:
        (root / name).write_text(_with_version(root, name, version), "utf-8")


def other_versions(root: Path, version: str) -> list[str]:
    """Return a message for each file that does not have this version. Exits with an error if a file has none."""
    names = [name for name in _VERSIONS if _with_version(root, name, version) != (root / name).read_text("utf-8")]
    return [f"{name} does not have the version {version}" for name in names]


def _with_version(root: Path, name: str, version: str) -> str:
    text, count = re.subn(
        _VERSIONS[name], lambda found: _replaced(found, version), (root / name).read_text("utf-8"), flags=re.MULTILINE
    )
    return text if count else sys.exit(f"{name} has no version")


def set_repository(root: Path) -> None:
    """Write the address of the repository, a constant in pyproject.toml, into every file that has links.

    Without an address, the files have none.
    """
    url = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["xla-lens"]["repository"]
    for name, lines in _LINKS.items():
        path = root / name
        license_line = r'^( *"?license"?(?: =|:) .*\n)(?: *"?(?:repository|bugs|homepage|links|urls)\b.*\n)*'
        linked = r"\g<1>" + (lines.format(url) if url else "")
        text = re.sub(license_line, linked, path.read_text("utf-8"), flags=re.MULTILINE)
        path.write_text(text, "utf-8")


def _replaced(found: re.Match[str], version: str) -> str:
    indent = found.groupdict().get("indent")
    return version if indent is None else f'{indent}"version": "{version}'


def date_changelog(path: Path, version: str, date: datetime.date) -> None:
    """Give the unreleased changes a version and a date. Exits with an error if there are none."""
    text = path.read_text("utf-8")
    heading = re.search(r"^## Unreleased\n+(?!## )(?=\S)", text, re.MULTILINE)
    if not heading:
        sys.exit(f"{path.name} has no unreleased changes")
    path.write_text(text.replace("## Unreleased", f"## {version} ({date})", 1), "utf-8")


def _version(text: str) -> str:
    # The marketplace accepts three numbers only.
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", text):
        raise argparse.ArgumentTypeError(f"expected a version such as 0.2.0, not {text}")
    return text


def _run(*command: str) -> str:
    """Run a command in the root of the project, and return its output. Exits with its errors if it fails."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


if __name__ == "__main__":
    main()
