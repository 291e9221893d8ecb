"""Commands on damaged dumps: they end with a status and say what is wrong, never with an exception."""

import io
import json
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from fuzzing.texts import damaged
from samples import TPU_LOG
from xla_lens.cli.main import main
from xla_lens.report.options import Part

_FORMATS = ("text", "markdown", "json", "html")
_CI = ("github", "gitlab", "junit", "sarif")


def play_commands(
    chance: random.Random, folder: Path, dumps: Sequence[Mapping[str, bytes]], count: int, *, is_each: bool = False
) -> int:
    """Damage dumps and run commands on pairs of them, some or each one. Return the number of damaged dumps."""
    for number in range(count):
        old, new = (folder / f"{number}" / side for side in ("old", "new"))
        one = chance.choice(dumps)
        _write(chance, old, one, dumps)
        _write(chance, new, one if chance.random() < 0.8 else chance.choice(dumps), dumps)
        commands = [*_commands(old, new)]
        for arguments in commands if is_each else chance.sample(commands, 6):
            _run(arguments)
        shutil.rmtree(folder / f"{number}")
    return 2 * count


def _write(
    chance: random.Random, folder: Path, dump: Mapping[str, bytes], dumps: Sequence[Mapping[str, bytes]]
) -> None:
    folder.mkdir(parents=True)
    for name, data in dump.items():
        if chance.random() < 0.05:
            continue
        # One damaged file of several shows more than if all of them are.
        is_damaged = chance.random() < max(0.4, 1 / len(dump))
        other = chance.choice([*chance.choice(dumps).values()])
        (folder / name).write_bytes(damaged(chance, data, other) if is_damaged else data)
        # Commands wait for what XLA seems to be writing.
        os.utime(folder / name, (1, 1))


def _commands(old: Path, new: Path) -> Iterator[list[str]]:
    paths = [str(old), str(new)]
    every = ",".join(part for part in Part if part is not Part.BUDGET)
    for output_format in _FORMATS:
        yield ["diff", *paths, "--output-format", output_format]
        yield ["diff", *reversed(paths), "--output-format", output_format]
        yield ["report", paths[1], "--output-format", output_format]
        yield ["report", *paths, "--output-format", output_format, "--all"]
    for output_format in ("text", "json"):
        yield ["report", paths[1], "--part", every, "--at", "1", "--stacks", "--output-format", output_format]
        yield ["report", paths[1], "--part", "budget", "--budget", "1KiB", "--output-format", output_format]
        yield ["advise", paths[1], "--budget", "1MiB", "--output-format", output_format]
        yield ["check", *paths, "--output-format", output_format]
        yield ["unknown", *paths, "--output-format", output_format]
        yield ["oom", str(TPU_LOG), *paths, "--output-format", output_format]
    for output_format in _CI:
        yield ["check", *paths, "--max-peak", "1KiB", "--output-format", output_format]
        yield ["diff", *paths, "--max-peak-increase", "1%", "--output-format", output_format]
    yield ["annotate", __file__, paths[1]]


def _run(arguments: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            status = main(arguments)
    except BaseException as error:
        error.add_note(" ".join(arguments))
        raise
    what = f"{' '.join(arguments)}: {status} {err.getvalue()}"
    assert status in (0, 1) or (status == 2 and not out.getvalue() and len(err.getvalue().splitlines()) == 1), what
    if status != 2 and "json" in arguments:
        json.loads(out.getvalue())
