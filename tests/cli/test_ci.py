"""`--output-format github`, `gitlab`, `sarif` and `junit` of `check` and `diff`, and `--output-file`."""

import json
import re
import shlex
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from commands import run
from samples import DUMPS, ROOT
from xla_lens.cli.ci_formats import Annotation, CiPlace, ci_text, fingerprints
from xla_lens.cli.main import parse_arguments
from xla_lens.model.checks.codes import Severity
from xla_lens.report.options import CiFormat

OLD = next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt"))
NEW = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt"))
GPU = next(DUMPS.glob("gpu-*/*/*-buffer-assignment.txt"))

_LINE = "def f(x): ...\n" * 300


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, a repository with the user's program and a folder of dumps that is not part of it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "programs.py").write_text(_LINE)
    monkeypatch.chdir(tmp_path / "train")
    return tmp_path


def _diff(output_format: str, *arguments: object) -> str:
    status, out, err = run("diff", OLD, NEW, "--max-peak-increase", "100", "--output-format", output_format, *arguments)
    assert status == 1
    assert err.count("\n") == 1
    return out


# ---------------------------------------------------------------- places


@pytest.mark.parametrize("mapping", ["/home/user/programs=train", "/home/user/programs={}/train", "/home/user=."])
def test_limit_is_annotated_at_the_mapped_source_line_that_grew_most(mapping: str, repository: Path) -> None:
    if mapping.endswith("."):
        (repository / "programs").mkdir()
        (repository / "programs" / "programs.py").write_text(_LINE)
    out = _diff("github", "--path-mapping", mapping.format(repository))
    file = "programs/programs.py" if mapping.endswith(".") else "train/programs.py"
    # The numbers are those of the golden comparison in docs/diff.md.
    assert out == (
        f"::error file={file},line=277,title=xla-lens%3A max-peak-increase::jit_f: host memory peak grew by +200 B "
        "(+0.8 %25), from 24.9 KiB to 25.1 KiB; --max-peak-increase 100 allows less. This line grew most at the peak, "
        "by 4.7 KiB.\n"
    )


def test_source_file_is_found_by_the_end_of_its_path(repository: Path) -> None:
    (repository / "programs.py").write_text(_LINE)
    assert "file=programs.py,line=277," in _diff("github")
    (repository / "programs").mkdir()
    (repository / "programs" / "programs.py").write_text(_LINE)
    assert "file=programs/programs.py,line=277," in _diff("github")


@pytest.mark.usefixtures("repository")
def test_limit_is_annotated_at_the_dump_if_the_source_file_is_unknown() -> None:
    out = _diff("github")
    assert out.startswith(f"::error file={NEW},title=")
    assert out.endswith(". /home/user/programs/programs.py:277 grew most at the peak, by 4.7 KiB.\n")


def test_peak_above_a_limit_is_annotated_at_the_line_that_owns_most(repository: Path) -> None:
    dump = repository / "dumps" / NEW.name
    dump.parent.mkdir()
    dump.write_bytes(NEW.read_bytes())
    options = ("--max-peak", "1KiB", "--path-mapping", "/home/user/programs=train", "--output-format", "github")
    status, out, _ = run("check", dump, "--ignore", "peak-understated", *options)
    assert status == 1
    (row,) = (number for number, line in enumerate(NEW.read_text().splitlines(), 1) if line.startswith("    10:"))
    assert out == (
        "::error file=train/programs.py,line=277,title=xla-lens%3A max-peak::25.1 KiB (25,720 bytes) of host memory "
        "are live at step 10, more than the limit of 1 KiB (1,024 bytes). This line owns the most, 20.7 KiB. See "
        f"dumps/{NEW.name}:{row}.\n"
    )


def test_finding_about_an_instruction_is_annotated_at_its_source_line(repository: Path) -> None:
    """A value whose live range starts too early, at the line of its instruction; a line that is no part of a dump, at
    the dump.
    """
    text = NEW.read_text()
    # All other instructions are at line 277.
    line = next(line for line in text.splitlines() if "%convert.16 = " in line)
    broken = text.replace(line, line.replace("source_line=277", "source_line=31"))
    broken = broken.replace("convert.16{}:9-12", "convert.16{}:8-12")
    broken = broken.replace("BufferAssignment:", "BufferAssignment:\nnonsense", 1)
    (repository / NEW.name).write_text(broken)
    options = ("--path-mapping", "/home/user/programs=train", "--output-format", "gitlab")
    _, out, _ = run("check", repository / NEW.name, "--select", "live-range-start,syntax", *options)
    found = [(one["check_name"], one["location"]) for one in json.loads(out)]
    places = {(name, place["path"], place["lines"]["begin"]) for name, place in found}
    assert places == {("live-range-start", "train/programs.py", 31), ("syntax", NEW.name, 2)}


# ---------------------------------------------------------------- formats

_TRICKY = [
    Annotation("max-peak", "Why, now?", Severity.WARNING, "50% of\r\nit: a, b", "m_1", CiPlace("a,b:c%/ü x.py", 3), 10),
    Annotation("syntax", "Why", Severity.INFORMATION, "seen", "m_1", CiPlace("d.txt")),
    Annotation("max-peak", "Why, now?", Severity.ERROR, '<less> & "more" \x00', "m_2", CiPlace("/t/d.txt", 4, 2), 1),
    Annotation("max-peak", "Why, now?", Severity.ERROR, "most", "m_2", CiPlace("/t/d.txt", 4, 2), 9),
]


def test_commands_of_github_are_escaped_and_the_worst_come_first() -> None:
    assert ci_text(_TRICKY, [], CiFormat.GITHUB).splitlines() == [
        "::error file=/t/d.txt,line=4,col=2,title=xla-lens%3A max-peak::most",
        '::error file=/t/d.txt,line=4,col=2,title=xla-lens%3A max-peak::<less> & "more" \x00',
        "::warning file=a%2Cb%3Ac%25/ü x.py,line=3,title=xla-lens%3A max-peak::50%25 of%0D%0Ait: a, b",
        "::notice file=d.txt,title=xla-lens%3A syntax::seen",
    ]


def test_junit_report_is_xml_with_all_checked_dumps() -> None:
    suites = ET.fromstring(ci_text(_TRICKY, ["m_1", "m_2", "m_3"], CiFormat.JUNIT))
    assert (suites.tag, suites.attrib["tests"], suites.attrib["failures"]) == ("testsuites", "4", "3")
    cases = suites.findall("testsuite/testcase")
    assert [(case.attrib["classname"], len(case)) for case in cases] == [("m_2", 1), ("m_2", 1), ("m_1", 1), ("m_3", 0)]
    texts = [failure.text for failure in suites.iter("failure")]
    assert texts == ["/t/d.txt:4: most", '/t/d.txt:4: <less> & "more" \ufffd', "a,b:c%/ü x.py:3: 50% of\nit: a, b"]


def test_fingerprints_ignore_numbers_and_are_unique() -> None:
    place, dump = CiPlace("a.py", 3), CiPlace("/tmp/one/d.txt", 3)
    here = [Annotation("max-peak", "", Severity.ERROR, "1.5 KiB (1,536 bytes) at step 4", "m_1", place)] * 2
    there = [Annotation("max-peak", "", Severity.ERROR, "9.25 MiB (9,699,328 bytes) at step 17", "m_9", place)] * 2
    assert [*fingerprints(here)] == [*fingerprints(there)]
    assert len({*fingerprints(here)}) == 2
    other = Annotation("max-memory", "", Severity.ERROR, "1.5 KiB (1,536 bytes) at step 4", "m_1", place)
    moved = Annotation("max-peak", "", Severity.ERROR, "x", "m_1", CiPlace("/tmp/two/d.txt", 9))
    same = Annotation("max-peak", "", Severity.ERROR, "x", "m_1", dump)
    assert {*fingerprints([other])}.isdisjoint(fingerprints(here))
    assert [*fingerprints([moved])] == [*fingerprints([same])]


def _logs() -> dict[str, dict[str, Any]]:
    checked = [DUMPS / "seeds", GPU, "--max-peak", 1, "--max-memory", 1]
    return {
        "tricky": json.loads(ci_text(_TRICKY, [], CiFormat.SARIF)),
        "none": json.loads(ci_text([], [], CiFormat.SARIF)),
        "diff": json.loads(_diff("sarif")),
        "check": json.loads(run("check", *checked, "--output-format", "sarif")[1]),
    }


def test_paths_in_sarif_are_uris_relative_to_the_repository() -> None:
    (sarif,) = json.loads(ci_text(_TRICKY, [], CiFormat.SARIF))["runs"]
    artifacts = [one["locations"][0]["physicalLocation"]["artifactLocation"] for one in sarif["results"]]
    assert artifacts[2:] == [
        {"uri": "a%2Cb%3Ac%25/%C3%BC%20x.py", "uriBaseId": "%SRCROOT%"},
        {"uri": "d.txt", "uriBaseId": "%SRCROOT%"},
    ]
    assert artifacts[0] == {"uri": "file:///t/d.txt"}


_EXTENSION = ROOT / "vscode-extension"


@pytest.mark.skipif(
    not (_EXTENSION / "node_modules/@types/sarif").is_dir(), reason="needs `npm --prefix vscode-extension ci`"
)
def test_sarif_matches_the_types_made_from_its_schema(tmp_path: Path) -> None:
    """`@types/sarif` is made from the schema of SARIF 2.1.0. In literals, TypeScript accepts no unknown property."""
    lines = ['import type { Log } from "sarif";']
    lines += [f"export const {name}: Log = {json.dumps(log)};" for name, log in _logs().items()]
    wrong = json.dumps({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x", "rule": []}}}]})
    for name, text in (("right", "\n".join(lines)), ("wrong", f"{lines[0]}\nexport const wrong: Log = {wrong};")):
        (tmp_path / f"{name}.ts").write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.json").write_text(
            json.dumps(
                {
                    "compilerOptions": {
                        "noEmit": True,
                        "strict": True,
                        "types": [],
                        "paths": {"sarif": [str(_EXTENSION / "node_modules/@types/sarif")]},
                    },
                    "files": [f"{name}.ts"],
                }
            )
        )
        compiler = [str(_EXTENSION / "node_modules/.bin/tsc"), "--project", str(tmp_path / f"{name}.json")]
        done = subprocess.run(compiler, check=False, capture_output=True, text=True)
        assert (done.returncode == 0) == (name == "right"), done.stdout


# ---------------------------------------------------------------- commands


def test_commands_of_the_documentation_are_understood() -> None:
    commands = re.findall(
        r"^.*?(xla-lens (?:check|diff|report) .*)$", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE
    )
    assert len(commands) > 10
    for command in commands:
        arguments = shlex.split(command.partition(" || ")[0].replace("$RUNNER_TEMP/", ""), comments=True)
        assert parse_arguments(arguments[1:]).command == arguments[1]
