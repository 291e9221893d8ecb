"""Dumps are not trusted: their text never becomes markup, a command or a path to read, and never shifts a position."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.reading import Reader, copied, lines, sibling
from lsp.wire import FULL, Process
from samples import PEAK_NAMES, SEED, SPLIT
from words.test_markdown import HOSTILE, check_structure, outside_of_code
from xla_lens.syntax.file_names import FlagFile

_WORDS = re.compile(r"[\w .,:;()%+=…█▁▂▃▄▅▆▇/'|&#^*·–-]*")
"""Text that XLA Lens itself writes."""

_QUOTE = (
    ' from instruction:%negate.0 = f32[64,16]{1,0} negate(f32[64,16]{1,0} %cublas-gemm.1), metadata={op_type="neg" '
)


def _with_metadata(text: str, folder: Path, name: str = "op_name") -> Path:
    """Write a dump with a text in its metadata, escaped as XLA does."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    old = {"op_name": "parallelize(func_shard_parallel)/neg", "source_file": "test_auto_sharding_basic.py"}[name]
    path = copied(SEED, folder)
    line = next(line for line in lines(path.read_text()) if line.startswith(_QUOTE))
    path.write_text(path.read_text().replace(line, line.replace(old, escaped)))
    return path


def _strings(answer: Any) -> Iterator[str]:
    """Return all strings in an answer."""
    match answer:
        case str():
            yield answer
        case list():
            for one in answer:
                yield from _strings(one)
        case dict():
            for one in answer.values():
                yield from _strings(one)


# ---------------------------------------------------------------- markup


async def _check_markup(reader: Reader, uri: str, row: int) -> list[str]:
    """Return the lines of a hover, after a check that they and the report contain no markup of the dump."""
    hover = await reader.ask("hover", uri, position={"line": row, "character": 6})
    for line in lines(hover["contents"]["value"]):
        assert _WORDS.fullmatch(outside_of_code(line)), line
    check_structure(lines(await reader.run("report", {"uri": uri}))[1:])
    return lines(hover["contents"]["value"])


@pytest.mark.parametrize("text", HOSTILE)
async def test_text_of_a_dump_never_becomes_markup(reader: Reader, tmp_path: Path, text: str) -> None:
    await reader.start()
    uri = reader.open(_with_metadata(text, tmp_path))
    found = await _check_markup(reader, uri, lines(reader.text(uri)).index("    negate.0{}:5-7"))
    assert [outside_of_code(line) for line in found if line.startswith("- op_name ")] == ["- op_name CODE"]


@pytest.mark.parametrize("text", ["`", "a`b``c", "``", "**c**", "_d_", "~~e~~", "#a", "![x]", "$x", "\\", "'", "/x/"])
async def test_name_in_a_dump_never_becomes_markup(reader: Reader, tmp_path: Path, text: str) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas-gemm.1", f"cublas{text}.1"))
    row = next(row for row, line in enumerate(lines(reader.text(uri))) if line.startswith("    cublas"))
    assert (await _check_markup(reader, uri, row))[0].startswith("**`")


async def test_tooltip_of_a_link_never_becomes_markup(reader: Reader, tmp_path: Path) -> None:
    """VS Code renders tooltips as Markdown."""
    await reader.start()
    texts = [*HOSTILE, "_a_b_.py", "**b**", "![x](https://example.com/y.png)", "www.example.com"]
    for number, text in enumerate(texts):
        links = await reader.ask(
            "documentLink", reader.open(_with_metadata(text, tmp_path / str(number), "source_file"))
        )
        (tooltip,) = (link["tooltip"] for link in links if link["tooltip"].endswith(":53"))
        plain = "".join(character if character.isprintable() else "�" for character in " ".join(text.split())) + ":53"
        assert re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", tooltip) == plain
        active = re.sub(r"\\[^a-zA-Z0-9\s]", " ", tooltip)
        assert not re.search(r"[][<>*`~#!|\\$&@]|://|\bwww\.\w|(?<!\w)_|_(?!\w)", active), tooltip


async def test_text_of_a_dump_never_adds_lines(reader: Reader, tmp_path: Path) -> None:
    """Titles, labels, names and tooltips stay on one line, whatever the dump contains."""
    await reader.start()
    for path in (_with_metadata("a\nb\tc\x1b[31m\u2028d", tmp_path), sibling(PEAK_NAMES, "live-range")):
        uri = reader.open(path)
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
        found = [
            await reader.ask("documentSymbol", uri),
            await reader.ask("documentLink", uri),
            await reader.ask("inlayHint", uri, range=whole),
            await reader.ask("codeAction", uri, range=whole, context={"diagnostics": []}),
            await reader.editor.request("workspace/symbol", {"query": ""}),
            await reader.ask("codeLens", uri),
        ]
        for text in _strings(found):
            assert text.isprintable(), text


# ---------------------------------------------------------------- paths


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("/etc/passwd", "file:///etc/passwd#L53"),
        ("../../../../etc/passwd", "{folder}/../../../../etc/passwd#L53"),
        ("//host/share/x.py", None),
        ("\\\\host\\share\\x.py", "{folder}/%5C%5Chost%5Cshare%5Cx.py#L53"),
        ("command:workbench.action.quit", "{folder}/command%3Aworkbench.action.quit#L53"),
        ("https://example.org/x?y#z", "{folder}/https%3A/example.org/x%3Fy%23z#L53"),
        ("file:///etc/passwd", "{folder}/file%3A/etc/passwd#L53"),
        ("javascript:alert(1)", "{folder}/javascript%3Aalert%281%29#L53"),
        ("a b/ü🚀.py", "{folder}/a%20b/%C3%BC%F0%9F%9A%80.py#L53"),
        ("<stdin>", "{folder}/%3Cstdin%3E#L53"),
        ("a" * 9999, None),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_link_to_a_source_is_always_a_file_uri(
    reader: Reader, tmp_path: Path, path: str, target: str | None
) -> None:
    """A link has no target if the file does not exist."""
    if target and not (tmp_path / path).exists():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    await reader.start(FULL, tmp_path)
    uri = reader.open(_with_metadata(path, tmp_path, "source_file"))
    links = await reader.ask("documentLink", uri)
    (link,) = (link for link in links if '" source_line=53' in reader.text_at(uri, link["range"]))
    assert "target" not in link
    assert len(link["tooltip"]) <= 210
    found = await reader.editor.request("documentLink/resolve", link)
    assert found.get("target") == (target.format(folder=tmp_path.as_uri()) if target else None)


_WATCHED = """
import sys
from pathlib import Path
log = open(sys.argv[1], "a", buffering=1)
bad = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "urllib.", "subprocess.", "os.exec",
       "os.posix_spawn", "os.system")
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes, Path)):
        log.write(f"open {arguments[0]}\\n")
    elif event.startswith(bad):
        log.write(f"{event} {arguments}\\n")
sys.addaudithook(watch)
from xla_lens.cli.main import main
sys.exit(main(["server"]))
"""


async def test_only_files_of_the_set_are_read(tmp_path: Path) -> None:
    """The server opens no connection and starts no program."""
    inside, outside, log = tmp_path / "inside", tmp_path / "outside", tmp_path / "log"
    outside.mkdir()
    (outside / "secret.py").write_text("secret")
    path = _with_metadata(str(outside / "secret.py"), inside, "source_file")
    copied(SPLIT, inside / "set")
    copied(SPLIT, outside / "set")
    (inside / "notes.txt").write_text("not a dump")
    command = (sys.executable, "-c", _WATCHED, str(log))
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=PIPE)
    server = Process(process, process.stdout or asyncio.StreamReader(), process.stdin)
    folder = {"uri": inside.as_uri(), "name": "inside"}
    await server.initialize(FULL, workspaceFolders=[folder])
    document = {"uri": path.as_uri(), "languageId": "xla-dump", "version": 1, "text": path.read_text()}
    server.notify("textDocument/didOpen", {"textDocument": document})
    here = {"textDocument": {"uri": path.as_uri()}}
    for link in await server.request("textDocument/documentLink", here):
        await server.request("documentLink/resolve", link)
    for command_, argument in (("report", {"uri": path.as_uri()}), ("explain", {"code": "syntax"})):
        await server.request("workspace/executeCommand", {"command": f"xla-lens.{command_}", "arguments": [argument]})
    assert len(await server.request("workspace/symbol", {"query": ""})) > 2
    await server.stop()
    events = [line for line in log.read_text().splitlines() if not re.search(r"\.(py|pyc|so|pth)$|/__pycache__/", line)]
    # The interpreter opens files of its own, none of them in the folders of the test.
    assert not [event for event in events if not event.startswith("open ")]
    opened = {event.removeprefix("open ") for event in events}
    assert not [name for name in opened if name.startswith(str(outside))]
    read = {Path(name).relative_to(inside) for name in opened if name.startswith(str(inside))}
    assert read >= {Path("set") / SPLIT.name}
    # The description of the GPU, if there is one, states the capacity of the device.
    others = (SEED.name, "notes.txt", FlagFile.TARGET_CONFIG)
    assert all(name.name.startswith("module_0000") or name.name in others for name in read)
    assert any(name.endswith("explanations/syntax.md") for name in opened)
    await server.kill()


# ---------------------------------------------------------------- characters


async def test_invalid_utf8_counts_as_replacement_characters(reader: Reader, tmp_path: Path) -> None:
    """The server counts the replacement characters that editors show."""
    await reader.start()
    path = copied(SPLIT, tmp_path)
    values = sibling(path, "buffer-assignment-values")
    values.write_bytes(values.read_bytes().replace(b"Used values:\n", b"Used values:\n\xff\xfe\xc3\n"))
    live = reader.open(sibling(path, "live-range"))
    reader.texts[values.as_uri()] = values.read_bytes().decode("utf-8", "replace")
    found = await reader.ask_at("definition", live, "    dot{}:35-37\n     ^")
    assert reader.shown(found) == ["buffer-assignment-values:281: <244 dot @0>"]
