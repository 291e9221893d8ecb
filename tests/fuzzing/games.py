"""Games: sequences of random documents, edits and requests, with checks of the answers."""

import asyncio
import json
import logging
import random
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from fuzzing.params import Maker
from fuzzing.positions import ENCODINGS, Text, positions_in
from fuzzing.sameness import differences
from fuzzing.texts import damaged
from lsp.wire import BARE, FULL, PULLING, Editor, InProcess, RequestFailed, Violation
from xla_lens.lsp.capabilities import COMMANDS
from xla_lens.lsp.capabilities import REQUESTS as ANNOUNCED
from xla_lens.lsp.documents import path_of
from xla_lens.lsp.dump_sets import DumpSets
from xla_lens.lsp.server import Server
from xla_lens.syntax.file_names import split_name
from xla_lens.text.document import Document

REQUESTS = tuple(ANNOUNCED)

_WRONG_ARGUMENTS = -32602
_SOURCE_NOT_FOUND = -32803
_REFUSALS = {_WRONG_ARGUMENTS, _SOURCE_NOT_FOUND}
_CANCELLED = -32800


class Log(logging.Handler):
    """Collects log messages of the server. A game fails if there are any."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(logging.Formatter().format(record))


class Player:
    """An editor that acts at random. `dumps` are the files of dump sets by name.

    `request_counts` counts results by method.
    """

    def __init__(
        self,
        editor: Editor,
        chance: random.Random,
        folder: Path,
        encoding: str,
        dumps: Sequence[Mapping[str, bytes]],
    ) -> None:
        self.editor = editor
        self.chance = chance
        self.folder = folder
        self.encoding = encoding
        self.dumps = dumps
        self.maker = Maker(chance, COMMANDS)
        self.versions: dict[str, int] = {}
        self.request_counts: Counter[str] = Counter()

    # ---------------------------------------------------------------- documents

    @property
    def texts(self) -> dict[str, Text]:
        """The open documents by URI."""
        return self.maker.texts

    def open(self, path: Path, text: str) -> str:
        """Open a document."""
        uri = path.as_uri()
        self.versions[uri] = 1
        self.texts[uri] = Text(text, self.encoding)
        document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": text}
        self.editor.notify("textDocument/didOpen", {"textDocument": document})
        return uri

    def close(self, uri: str) -> None:
        """Close a document."""
        del self.texts[uri]
        self.editor.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def edit(self, uri: str, changes: list[Any]) -> None:
        """Change a document."""
        self.versions[uri] += 1
        for change in changes:
            self.texts[uri] = self.texts[uri].edited(change)
        document = {"uri": uri, "version": self.versions[uri]}
        self.editor.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})

    def some_changes(self, uri: str) -> list[Any]:
        """Return random changes of a document, each relative to the text after those before it."""
        if self.chance.random() < 0.2:
            return self._many_changes(self.texts[uri])
        text, changes = self.texts[uri], []
        for _ in range(self.chance.choice((0, 1, 1, 1, 2, 5))):
            changes.append(self._some_change(text))
            text = text.edited(changes[-1])
        return changes

    def _some_change(self, text: Text) -> Any:
        if self.chance.random() < 0.03:
            return {"text": as_sent(text.text[: self.chance.randint(0, len(text.text))])}
        place = text.some_range(self.chance)
        if self.chance.random() < 0.8:
            # Most edits are small.
            end = text.position(min(len(text.text), text.index(place["start"]) + self.chance.randint(0, 30)))
            place["end"] = max(end, place["start"], key=lambda at: tuple(at.values()))
        return {"range": place, "text": self._some_text(text)}

    def _many_changes(self, text: Text) -> list[Any]:
        """Return disjoint changes as in a "replace all", mostly from the end of the text to its start."""
        count = min(len(text.text), self.chance.choice((1, 2, 30, 60)))
        places = sorted(self.chance.choices(range(len(text.text) + 1), k=2 * count), reverse=True)
        changes = []
        for end, start in zip(places[::2], places[1::2], strict=True):
            place = {"start": text.position(start), "end": text.position(end)}
            changes.append({"range": place, "text": self._some_text(text)})
        return changes

    def _some_text(self, text: Text) -> str:
        start = self.chance.randint(0, len(text.text))
        copied = text.text[start : start + self.chance.choice((1, 3, 40, 400))]
        odd = (
            "",
            "",
            "\n",
            "\r",
            "\r\n",
            "\n\n",
            "é",
            "🚀",
            "\ud800",
            "\udc00",
            "\0",
            "9",
            "{0}",
            " ",
            "\t",
            "x" * 300,
        )
        return as_sent(self.chance.choice((*odd, copied, copied, copied)))

    # ---------------------------------------------------------------- requests

    async def ask_all(self) -> None:
        """Make each request once and check the answers."""
        for method in self.chance.sample(REQUESTS, len(REQUESTS)):
            await self.ask(method)

    async def ask(self, method: str) -> None:
        """Make a request and check the answer."""
        params = self.maker.params(method)
        try:
            result = await self.editor.request(method, params)
        except RequestFailed as refused:
            is_refusal = method == lsp.WORKSPACE_EXECUTE_COMMAND and refused.code in _REFUSALS
            if not is_refusal or not str(refused).isprintable():
                failure = f"{method} {json.dumps(params)[:1000]}: {str(refused)[:300]} {str(refused.data)[-1000:]}"
                raise AssertionError(failure) from None
            return
        # In a long game the recorded messages would fill the memory.
        self.editor.messages.clear()
        self.request_counts[method] += 1
        self.maker.learn(method, result)
        if method == lsp.WORKSPACE_EXECUTE_COMMAND:
            # The result of a command may be from before an edit.
            return
        uri = params.get("textDocument", {}).get("uri", "")
        for where, position in positions_in(result, uri):
            if where in self.texts and not self.texts[where].has(position):
                raise Violation(f"{method} {json.dumps(params)[:1000]}: {position} is not in {where}")

    def check_diagnostics(self) -> None:
        """Check the positions of the last diagnostics."""
        for uri, diagnostics in self.editor.diagnostics.items():
            for where, position in positions_in(diagnostics, uri):
                if where in self.texts and not self.texts[where].has(position):
                    raise Violation(f"a diagnostic of {uri}: {position} is not in {where}")

    # ---------------------------------------------------------------- the state of the server

    @property
    def server(self) -> Server:
        """A server in this process."""
        assert isinstance(self.editor, InProcess)
        return self.editor.server

    async def compare(self) -> None:
        """Check that texts, tables and findings equal those of a new server with the same texts."""
        fresh = DumpSets()
        for uri, text in self.texts.items():
            fresh.open_document(uri, path_of(uri), 1, Document(text.data))
        for uri, text in self.texts.items():
            states = []
            for sets in (self.server.state.sets, fresh):
                found = sets.find(uri)
                assert found, f"{uri} is not open"
                state, path = found
                await state.checked()
                assert state.open[path].document.data == text.text.encode("utf-8", "surrogatepass"), (
                    f"another text of {uri}"
                )
                states.append(state.analysis)
            ours, theirs = states
            assert ours, f"{uri} was not analysed"
            assert theirs
            assert not (different := list(islice(differences(ours, theirs), 5))), different
        fresh.close()


@asynccontextmanager
async def playing(chance: random.Random, folder: Path, dumps: Sequence[Mapping[str, bytes]]) -> AsyncIterator[Player]:
    """Run a game with a server of its own and `folder` as the workspace. The server must not log anything."""
    log = Log()
    logging.getLogger().addHandler(log)
    try:
        editor, encoding = InProcess(), chance.choice(ENCODINGS)
        editor.settings = chance.choice(_SETTINGS)
        capabilities = {**chance.choice((BARE, FULL, FULL, PULLING)), "general": {"positionEncodings": [encoding]}}
        folders = [{"uri": folder.as_uri(), "name": "dumps"}]
        await editor.initialize(capabilities, workspaceFolders=folders)
        yield Player(editor, chance, folder, encoding, dumps)
        await editor.stop()
    finally:
        logging.getLogger().removeHandler(log)
    assert not log.lines, log.lines[:3]


_SETTINGS: tuple[Any, ...] = (
    None,
    {},
    {"inlayHints": {"enable": False}, "codeLens": {"enable": False}},
    {"references": {"limit": 1}, "diagnostics": {"workspace": True}},
    {"diagnostics": {"maxPeak": "1KiB", "maxMemory": "1B", "ignore": ["syntax"]}},
    {"diagnostics": {"maxPeak": [], "ignore": "everything"}},
)


# ---------------------------------------------------------------- games


async def play_requests(player: Player, number: int, files: Mapping[str, bytes]) -> int:
    """Open some files of a dump, make all requests, and close them. Return the number of files."""
    chance, folder = player.chance, player.folder / str(number)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    for name in chance.sample(list(files), chance.randint(1, len(files))):
        player.open(folder / name, decoded(chance, files[name]))
    await player.ask_all()
    player.check_diagnostics()
    for uri in list(player.texts):
        player.close(uri)
    shutil.rmtree(folder)
    return len(files)


async def play_damage(player: Player, number: int) -> int:
    """Make all requests about a damaged dump. Return the number of files."""
    return await play_requests(player, number, _damaged_set(player))


async def play_edits(player: Player, number: int, rounds: int) -> int:
    """Edit files of a dump repeatedly and compare with a fresh load. Return the number of edits."""
    chance, folder = player.chance, player.folder / str(number)
    files = _damaged_set(player) if chance.random() < 0.3 else chance.choice(player.dumps)
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)
    # Skip files that are recognized by content only: after edits that destroy the header, such a file stays in its set,
    # while a fresh load would not recognize it.
    names = [name for name in files if split_name(name)[1] is not None or "optimizations" not in name] or list(files)
    for name in chance.sample(names, chance.randint(1, min(2, len(names)))):
        player.open(folder / name, decoded(chance, files[name]))
    count = 0
    for _ in range(rounds):
        for _ in range(chance.choice((1, 1, 3))):
            uri = chance.choice(list(player.texts))
            changes = player.some_changes(uri)
            player.edit(uri, changes)
            count += len(changes)
        await player.ask(chance.choice(REQUESTS))
        await player.compare()
        player.check_diagnostics()
    for uri in list(player.texts):
        player.close(uri)
    shutil.rmtree(folder)
    return count


async def play_chaos(player: Player, steps: int) -> int:
    """Open, edit, close, request and cancel without waiting. In the end every request must have a valid response.
    Return the number of steps.
    """
    chance, folder, editor = player.chance, player.folder, player.editor
    files = [(f"{number}-{name}", data) for number in range(3) for name, data in chance.choice(player.dumps).items()]
    files = [(name, data) for name, data in files if "optimizations.txt" not in name]
    asked: list[int] = []
    cancelled: set[int] = set()
    for _ in range(steps):
        name, data = chance.choice(files)
        path = folder / name
        uri = path.as_uri()
        match chance.randrange(12):
            case 0 | 1:
                player.open(path, decoded(chance, data))
            case 2 if uri in player.texts:
                player.close(uri)
            case 3 if asked:
                number = asked[-1] if chance.random() < 0.5 else chance.choice(asked)
                cancelled.add(number)
                editor.cancel(number)
            case 4:
                path.write_bytes(damaged(chance, data, data))
            case 5:
                path.unlink(missing_ok=True)
            case 6:
                editor.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": uri, "type": 2}]})
            case 7:
                editor.settings = chance.choice(_SETTINGS)
                editor.notify("workspace/didChangeConfiguration", {"settings": editor.settings})
            case 8:
                await asyncio.sleep(chance.choice((0, 0, 0.001, 0.01, 0.1)))
            case 9 | 10 if uri in player.texts:
                player.edit(uri, player.some_changes(uri))
            case _:
                method = chance.choice(REQUESTS)
                asked.append(editor.ask(method, player.maker.params(method)))
    # The server answers in order, so it then has all edits.
    asked.append(editor.ask(lsp.TEXT_DOCUMENT_HOVER, player.maker.params(lsp.TEXT_DOCUMENT_HOVER)))
    for number in asked:
        try:
            await editor.answer(number)
        except RequestFailed as refused:
            if refused.code not in _REFUSALS and (refused.code != _CANCELLED or number not in cancelled):
                raise
    for _ in range(2):
        # A change on disk is loaded at the second poll.
        await player.server.state.sets.poll()
    await player.compare()
    for uri in list(player.texts):
        player.close(uri)
    assert not player.server.state.sets.open
    for path in folder.iterdir():
        path.unlink()
    return steps


def decoded(chance: random.Random, data: bytes) -> str:
    """Decode a file as an editor does, sometimes with lone surrogates."""
    text = data.decode("utf-8", "replace")
    return as_sent(text.replace("\ufffd", "\ud800")) if chance.random() < 0.3 else text


def as_sent(text: str) -> str:
    """Return a text as it arrives: JSON joins adjacent surrogates to pairs."""
    return str(json.loads(json.dumps(text)))


def _damaged_set(player: Player) -> dict[str, bytes]:
    """Return the files of a dump, at least one of them damaged."""
    chance = player.chance
    files, other = dict(chance.choice(player.dumps)), chance.choice(player.dumps)
    for name in chance.sample(list(files), chance.randint(1, len(files))):
        files[name] = damaged(chance, files[name], chance.choice(list(other.values())))
    if chance.random() < 0.1:
        del files[chance.choice(list(files))]
    return files or {"empty-buffer-assignment.txt": b""}
