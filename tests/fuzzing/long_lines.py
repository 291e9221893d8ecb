"""Read dumps with one very long line by every command and request.

`python -m fuzzing.long_lines FOLDER SEED CASES BYTES` prints a line before it reads each dump. With seed 0, it begins
with the lines that once took quadratic time.
"""

import asyncio
import random
import re
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout, suppress
from io import StringIO
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from fuzzing.games import REQUESTS, playing
from fuzzing.texts import dump_sets
from lsp.wire import RequestFailed
from samples import DUMPS
from xla_lens.cli.main import main as command
from xla_lens.lsp.capabilities import COMMANDS

_COMMANDS: Final = (("report",), ("report", "--output-format", "html"), ("check",), ("unknown",))
_CHARACTERS: Final = "aZ09 ,.:;()[]{}<>\"\\%=#/*-_@+|'\t\0é"
_KNOWN: Final = (
    (b"{file_name_id=1 ", b"a"),
    (b'op_name="', b"["),
    (b", metadata={", b'x="\\" '),
    (b", calls=", b"{a, calls="),
    (b"fusion(%", b"#0"),
    (b"fusion(%", b"a["),
    (b"f32[", b"a["),
    (b", maybe-live-out", b", maybe-live"),
    (b", maybe-live-out", b", m 4"),
)
"""A text in a dump, and the text to repeat after it."""
_WORD: Final = re.compile(rb"[\w.-]+|.", re.DOTALL)
_SMALL: Final = 40_000
_ROUNDS: Final = 3
"""Number of times that each request is made, at random places."""


def lengthened(chance: random.Random, text: bytes, size_bytes: int) -> bytes:
    """Repeat some characters, or a part of a line, in a line until it has `size_bytes` more bytes."""
    lines = text.splitlines(keepends=True)
    number = chance.choice([number for number, line in enumerate(lines) if line.strip()])
    line = lines[number]
    words = [match.start() for match in _WORD.finditer(line)]
    place = chance.choice(words)
    if chance.random() < 0.5:
        unit = "".join(chance.choices(_CHARACTERS, k=chance.choice((1, 1, 2, 3)))).encode()
    else:
        unit = line[place : place + chance.choice((1, 2, 5, 13, 40))].rstrip(b"\n") or b"a"
    lines[number] = line[:place] + unit * (size_bytes // len(unit)) + line[place:]
    return b"".join(lines)


def read(folder: Path, dump: dict[str, bytes]) -> None:
    """Run every command on a dump, and make every request at a few random places of its longest file."""
    for path in folder.iterdir():
        path.unlink()
    for name, data in dump.items():
        (folder / name).write_bytes(data)
    for name, *options in _COMMANDS:
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            command([name, str(folder), *options])
    longest = max(dump, key=lambda name: len(dump[name]))
    asyncio.run(_request(folder, longest, dump[longest].decode("utf-8", "replace")))


async def _request(folder: Path, name: str, text: str) -> None:
    """Checks no positions in the answers, which would take longer than to answer."""
    async with playing(random.Random(0), folder, []) as player:
        here = {"uri": player.open(folder / name, text)}
        asked = [(method, player.maker.params(method)) for method in REQUESTS * _ROUNDS]
        asked += [(lsp.WORKSPACE_EXECUTE_COMMAND, {"command": name, "arguments": [here]}) for name in COMMANDS]
        for method, params in asked:
            with suppress(RequestFailed):
                player.maker.learn(method, await player.editor.request(method, params))


def known(size_bytes: int) -> Iterator[dict[str, bytes]]:
    """Yield a dump for each of the known long lines."""
    for marker, unit in _KNOWN:
        name, dump = next((name, dump) for dump in dump_sets(DUMPS, _SMALL) for name in dump if marker in dump[name])
        before, _, after = dump[name].partition(marker)
        yield dump | {name: before + marker + unit * (size_bytes // len(unit)) + after}


def random_dump(seed: int, size_bytes: int) -> dict[str, bytes]:
    """Return a dump in which one line is long."""
    chance = random.Random(f"long lines {seed}")
    dump = chance.choice(dump_sets(DUMPS, _SMALL))
    name = chance.choice(list(dump))
    return dump | {name: lengthened(chance, dump[name], size_bytes)}


def main(folder: str, seed: str, cases: str, size_bytes: str) -> None:
    """Read the dumps, and print the number of each before."""
    numbers = range(int(seed), int(seed) + int(cases))
    dumps = [] if numbers.start else list(known(int(size_bytes)))
    for number, dump in enumerate(dumps):
        print("known case", number, flush=True)
        read(Path(folder), dump)
    for number in numbers:
        print("seed", number, flush=True)
        read(Path(folder), random_dump(number, int(size_bytes)))
    print("done", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
