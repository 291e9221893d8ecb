"""What holds for every command in every format."""

import gc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace

from commands import on_terminal, run
from oom_texts import TPU_LIST
from samples import SEED, SPLIT
from xla_lens.model.analysis import analyse
from xla_lens.model.checks.codes import Severity
from xla_lens.report.options import FORMATS, CiFormat

CHECKS = [
    ("check",),
    ("check", "--color", "always"),
    *(("check", "--output-format", name) for name in ("json", *CiFormat)),
]
REPORTS = [
    ("report", "--all"),
    ("report", "--all", "--color", "always"),
    *(("report", "--output-format", name) for name in ("json", "markdown", "html")),
]

SHOWN = {
    Severity.ERROR: ("error", "::error ", '"critical"', '"level": "error"', "<failure "),
    Severity.WARNING: ("warning", "::warning ", '"major"', '"level": "warning"', "<failure "),
    Severity.INFORMATION: ("information", "::notice ", '"info"', '"level": "note"', "<testcase "),
    Severity.HINT: ("hint", "::notice ", '"info"', '"level": "note"', "<testcase "),
}
"""What each severity is called: in text and JSON, for GitHub, for GitLab, in SARIF and in JUnit XML."""


def _id(arguments: tuple[str, ...]) -> str:
    return " ".join(arguments)


@pytest.mark.parametrize("severity", Severity)
@pytest.mark.parametrize("arguments", [*CHECKS, *REPORTS], ids=_id)
def test_every_severity_is_printed_in_every_format(
    arguments: tuple[str, ...],
    severity: Severity,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def analyse_as(*files: Any, **options: Any) -> Any:
        found = analyse(*files, **options)
        assert found.findings
        return replace(found, findings=tuple(replace(one, severity=severity) for one in found.findings))

    monkeypatch.setattr("xla_lens.disk.loading.analyse", analyse_as)
    status, out, err = run(*arguments, SEED)
    assert err == ""
    is_alarm = severity is Severity.ERROR or (arguments[0] == "check" and severity is Severity.WARNING)
    assert status == int(is_alarm)
    if arguments[0] == "check":
        names = SHOWN[severity]
        number = (
            ("github", "gitlab", "sarif", "junit").index(arguments[-1]) + 1 if arguments[-1] in set(CiFormat) else 0
        )
        assert names[number] in out
        assert number != 4 or ("<failure " in out) == is_alarm


# ---------------------------------------------------------------- names that want to control the terminal

EVIL = "\x1b]8;;https://example.com\x1b\\x\x1b[31m\x1b]0;t\x07\b\x7f\x85\x9b1m\u061c\u200f\u2028\u202e\u2066"
"""Escape sequences with ESC and with C1, other control characters, and characters that reverse the order of writing."""

BYTES = EVIL.encode() + b"\x9b31m\xff"

CONTROL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe]")

OURS = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\|\r\x1b\[K")
"""The escape sequences of XLA Lens itself: colors, links to files, and the erased progress bar."""


class Evil(NamedTuple):
    """Folders with dumps in which names and paths have control characters, a log and a source file."""

    dumps: Path
    broken: Path
    log: Path
    source: Path


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Evil:
    name = b"d\n::error::" + BYTES.replace(b"/", b"")
    folder = tmp_path_factory.mktemp("evil") / os.fsdecode(name)
    dumps, broken = folder / "dumps", folder / "broken"
    source = folder / "programs.py"
    for one in (dumps, broken):
        one.mkdir(parents=True)
        for file in SPLIT.parent.glob("module_0000*"):
            data = file.read_bytes()
            for name in set(re.findall(rb"\b[a-z_]*fusion\.\d+\b", data)):
                data = data.replace(name, name.replace(b"fusion", b"fus" + BYTES.replace(b" ", b"") + b"ion"))
            data = data.replace(b"/home/user/programs/programs.py", os.fsencode(source).replace(b"\n", b"\\n"))
            data = data.replace(b"mlp_apply", b"mlp" + BYTES + b"_apply").replace(
                b"/dot_general", b"/" + BYTES + b"\tdot"
            )
            if one == broken:
                data = data.replace(b"allocation 1:", b"unknown " + BYTES + b"\t1:\nallocation 1:")
                data = re.sub(rb"offset=\d+", b"offset=99999999", data)
            (one / file.name).write_bytes(data)
    source.write_text("\tf() # " + EVIL.replace("\u2028", "").replace("\x85", "") + "\n" * 60)
    log = folder / "log"
    log.write_bytes(TPU_LIST.encode().replace(b"fusion.1265", b"fus" + BYTES + b"ion").replace(b"dot_general", BYTES))
    return Evil(dumps, broken, log, source)


def commands(evil: Evil) -> list[tuple[object, ...]]:
    """Every command in every format, and many errors."""
    missing = evil.dumps / f"missing{EVIL}"
    found: list[tuple[object, ...]] = [
        *((*one, evil.broken) for one in (*CHECKS, *REPORTS)),
        *(("unknown", "--output-format", name, evil.broken) for name in ("text", "json")),
        *(("diff", evil.dumps, evil.broken, "--output-format", name) for name in FORMATS),
        *(
            ("diff", evil.dumps, evil.broken, "--max-peak-increase", "host=0", "--output-format", name)
            for name in ("text", *CiFormat)
        ),
        *((name, evil.dumps, "--color", color) for name in ("report", "advise") for color in ("always", "never")),
        *(
            (*command, "--output-format", name)
            for command in (("oom", evil.log, evil.dumps), ("oom", evil.log, evil.dumps, "--part", "totals"))
            for name in ("text", "markdown", "json")
        ),
        ("annotate", evil.source, evil.dumps),
        ("annotate", evil.log, evil.dumps),
        ("report", evil.dumps, evil.log),
        ("report", evil.dumps, "--output-file", evil.dumps / "no" / "folder"),
        ("report", evil.dumps, "--module", EVIL),
        ("explain",),
        *(("completion", shell) for shell in ("bash", "zsh", "fish")),
        ("--help",),
    ]
    for name in ("report", "check", "advise", "explain", "completion", EVIL):
        found += [(name, EVIL), (name, missing), (name, evil.log), (name, f"--{EVIL}", "x")]
    for option in ("--part", "--top", "--budget", "--output-format", "--color", "--at", "--sort", "--path-mapping"):
        found.append(("report", evil.dumps, option, EVIL))
    found += [("diff", evil.dumps, missing), ("diff", missing, evil.dumps), ("oom", missing), ("server", "--tcp", EVIL)]
    found += [("check", evil.dumps, "--select", EVIL), ("diff", evil.dumps, evil.dumps, "--max-peak-increase", EVIL)]
    return found


_ACTS = (
    *("os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.exec"),
    *("os.posix_spawn", "os.system", "os.fork", "shutil.", "tempfile.", "subprocess.", "socket.", "urllib."),
    "webbrowser.",
)


@pytest.fixture
def acts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """What the code of a test does outside of its process: it writes files, starts programs or connects."""
    found: list[object] = []
    is_watched = True
    # What other tests have left removes its folders with itself.
    gc.collect()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if is_watched and (event.startswith(_ACTS) or (event == "open" and _is_write(*arguments))):
            found.append((event, *arguments))

    # It stays until the process ends.
    sys.addaudithook(watch)
    yield found
    is_watched = False


def _is_write(path: object, _mode: object, flags: int | None) -> bool:
    return bool((flags or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC)) and path != os.devnull


def test_commands_print_no_control_character_and_write_start_and_connect_to_nothing(
    evil: Evil, acts: list[object]
) -> None:
    """All but `run`; the server is tested with the requests."""
    seen = 0
    for command in commands(evil):
        status, out, err = run(*command)
        assert status in (0, 1, 2)
        assert status != 2 or err.count("\n") == 1, (command, err)
        assert acts == [], command
        if "html" in command:
            # The script of the page has such characters in its tables.
            out = re.sub(r"<script>.*?</script>", "", out, flags=re.DOTALL)
        for text in (out, err):
            plain = OURS.sub("", text) if "always" in command else text
            assert not (found := CONTROL.search(plain)), (command, plain[max(0, found.start() - 80) : found.end() + 20])
            # No name begins a line, which GitHub would take for a command.
            if "github" not in command:
                assert not re.search("^::error", text, re.MULTILINE), command
            seen += text.count("�")
    # They were there, and show that something is missing.
    assert seen > 1000
    # The test would notice.
    run("report", evil.dumps, "--output-file", evil.log.parent / "out")
    assert acts


def test_no_control_character_comes_out_of_run(evil: Evil, tmp_path: Path) -> None:
    copy = 'mkdir -p "$0/p" && cp "$1"/* "$0/p" && cat "$2" >&2'
    out = tmp_path / f"out{EVIL.replace('/', '')}"
    for options in (("--color", "always", "--only", re.escape(EVIL)), ("--output-format", "markdown")):
        line = [sys.executable, "-m", "xla_lens", "run", "--out", str(out), *options, "--", "sh", "-c", copy]
        done = subprocess.run(
            [*line, out, evil.dumps, evil.log], capture_output=True, text=True, errors="surrogateescape", check=False
        )
        assert done.returncode == 0
        log = evil.log.read_text(errors="surrogateescape")
        assert done.stderr.startswith(log)
        report = done.stderr.removeprefix(log)
        assert not CONTROL.search(OURS.sub("", report) if "always" in options else report), report
        assert "�" in report
        shutil.rmtree(out)
    done = subprocess.run([*line[:-3], EVIL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (127, 1)
    assert not CONTROL.search(done.stderr)


def test_only_our_own_sequences_reach_a_terminal(evil: Evil) -> None:
    for command, *paths in (("check", evil.broken), ("report", evil.dumps), ("unknown", evil.broken)):
        _, text, errors = on_terminal(80, command, *paths, FORCE_HYPERLINK="1")
        assert errors == ""
        assert ("\x1b[" in text) == (command != "unknown")
        assert not CONTROL.search(OURS.sub("", text)), command
        assert "�" in text
