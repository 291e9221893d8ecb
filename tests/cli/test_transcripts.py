"""What commands print, as transcripts in `tests/cli/transcripts`.

A line that begins with `$ ` is a command. The lines below it are its output and then its errors, up to the next command
or comment. `(exit 1)` is its exit status if that is not 0. `...` stands for any text. `$SEED` and the other names of
`_PATHS` stand for paths, in commands and in what they print.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path
from string import Template
from typing import Any, NamedTuple

import pytest

import oom_texts
from commands import run
from samples import DUMPS, ROOT, SEED, SPLIT, TPU, TPU_LOG
from xla_lens.cli.parser import VARIABLES

_PATHS = {
    "DUMPS": DUMPS,
    "README": ROOT / "README.md",
    "SEED": SEED,
    "SPLIT": SPLIT,
    "TPU_LOG": TPU_LOG,
    "TPU": TPU,
    "TPU_MLP": next(DUMPS.glob("tpu-v5e2x2-*/mlp_train/*-buffer-assignment.txt")),
    "OLD_MODULES": DUMPS / "cpu-jaxlib0.4.20" / "donation",
    "OLD": next(DUMPS.glob("cpu-jaxlib0.4.20/donation/*jit_f.*-buffer-assignment.txt")),
    "NEW_MODULES": DUMPS / "cpu-jaxlib0.6.2" / "donation",
    "NEW": next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt")),
    "NO_SCHEDULE": next(DUMPS.glob("cpu-tf2.5.3/while/*-buffer-assignment.txt")),
    "PROGRAM": DUMPS / "programs" / "programs.py",
}


class _Command(NamedTuple):
    """A command of a transcript: the words before it that set variables, its arguments, what it prints and its exit
    status, empty for 0.
    """

    variables: str
    arguments: str
    expected: str
    status: str


def _commands() -> Iterator[Any]:
    for path in sorted((Path(__file__).parent / "transcripts").glob("*.txt")):
        text = re.sub(r"(?m)^#.*\n", "", path.read_text(encoding="utf-8"))
        for found in re.findall(r"(?m)^\$ (.*?)xla-lens(.*)\n((?:(?!\$ |\(exit ).*\n)*)(?:\(exit (\d)\)\n)?", text):
            yield pytest.param(_Command(*found), id=f"{path.stem}: {found[0]}{found[1].strip()}")


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The paths of the transcripts: dumps, logs, and a dump without its module."""
    folder = tmp_path_factory.mktemp("made")
    found = {**_PATHS, "NO_MODULE": folder / "dump", "NOTHING": folder / "nothing"}
    found["NO_MODULE"].mkdir()
    for path in SPLIT.parent.glob("module_0000*-*.txt"):
        shutil.copy(path, found["NO_MODULE"])
    for name in ("TPU_LIST", "TPU_RUNTIME", "TPU_TENSORFLOW", "TPU_TORCH", "TPU_VMEM", "GPU_LIST"):
        found[name] = folder / name
        found[name].write_text(getattr(oom_texts, name), encoding="utf-8")
    return found


@pytest.mark.parametrize("command", [*_commands()])
def test_commands_print_what_their_transcripts_say(
    command: _Command, paths: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for word in shlex.split(command.variables):
        monkeypatch.setenv(*word.split("=", 1))
    status, out, err = run(*shlex.split(Template(command.arguments).substitute(paths)))
    for name, path in sorted(paths.items(), key=lambda one: -len(str(one[1]))):
        out, err = (text.replace(str(path), f"${name}") for text in (out, err))
    assert status == int(command.status or 0), err
    expected = command.expected.strip("\n")
    assert expected.endswith(err.rstrip("\n"))
    printed = re.sub(r"(?m) +$", "", f"{out}{err}").strip("\n")
    assert OutputChecker().check_output(f"{expected}\n", f"{printed}\n", ELLIPSIS), printed
