"""A long session of an editor, which opens, edits and closes dumps, and makes requests about them."""

import asyncio
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from lsprotocol import types as lsp

from fuzzing.params import Maker
from fuzzing.positions import Text
from lsp.wire import Editor, Process, RequestFailed
from xla_lens.files import find_sets
from xla_lens.lsp.handlers import HANDLERS
from xla_lens.syntax.file_names import FileKind

_OPEN = 3
"""Number of sets that are open at the same time."""


def dump_sets(folder: Path, longest: int) -> list[Mapping[str, Path]]:
    """Return the files, by URI, of the dump sets in a folder that are not bigger than `longest` bytes."""
    sets = [
        {path.as_uri(): path for kind, path in found.paths.items() if kind is not FileKind.HLO}
        for found in find_sets(folder)
    ]
    return [files for files in sets if sum(path.stat().st_size for path in files.values()) <= longest]


async def round_of(
    editor: Editor, chance: random.Random, sets: Sequence[Mapping[str, Path]], opened: list[str]
) -> None:
    """Open files of a set, make requests, edit, make requests again, and close documents of earlier rounds."""
    texts: dict[str, Text] = {}
    files = chance.choice([files for files in sets if not files.keys() & set(opened)])
    for uri in chance.sample(list(files), chance.randint(1, len(files))):
        texts[uri] = Text(files[uri].read_text(), "utf-8")
        document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": texts[uri].text}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        opened.append(uri)
    maker = Maker(chance, [])
    maker.texts = dict(texts)
    await _ask(editor, maker)
    for version in range(2, chance.randint(2, 5)):
        uri = chance.choice(list(texts))
        place = maker.texts[uri].some(chance)
        change = {"range": {"start": place, "end": place}, "text": chance.choice(("\n", "9", "🚀\n", " "))}
        maker.texts[uri] = maker.texts[uri].edited(change)
        document = {"uri": uri, "version": version}
        editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        await _ask(editor, maker)
    while len(opened) > _OPEN:
        editor.notify("textDocument/didClose", {"textDocument": {"uri": opened.pop(0)}})


async def _ask(editor: Editor, maker: Maker) -> None:
    for method in maker.chance.sample([method for method in HANDLERS if method != lsp.WORKSPACE_EXECUTE_COMMAND], 5):
        number = editor.ask(method, maker.params(method))
        if maker.chance.random() < 0.1:
            editor.cancel(number)
        try:
            await editor.answer(number)
        except RequestFailed as refused:
            if refused.code != -32800:
                raise


async def close_all(editor: Editor, opened: list[str]) -> None:
    """Close all documents and give the server time to react."""
    while opened:
        editor.notify("textDocument/didClose", {"textDocument": {"uri": opened.pop()}})
    await editor.request(
        "textDocument/hover", {"textDocument": {"uri": "x:y"}, "position": {"line": 0, "character": 0}}
    )


async def soak(server: Process, sets: Sequence[Mapping[str, Path]], rounds: int, every: int) -> list[int]:
    """Return the resident bytes of a server after each `every` rounds, with nothing open."""
    chance, opened, sizes = random.Random(rounds), list[str](), list[int]()
    for number in range(rounds):
        await round_of(server, chance, sets, opened)
        server.messages.clear()
        if (number + 1) % every == 0:
            await close_all(server, opened)
            await asyncio.sleep(0.2)
            sizes.append(server.resident_bytes())
    return sizes
