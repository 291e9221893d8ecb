"""`make demo`: XLA Lens on a real dump, in the terminal.

Runs `xla-lens report` and `xla-lens check`. Then starts the language server, opens a file of the dump as an editor
does, and prints hints, hovers and jumps beside the lines that they are about.
"""

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

_ROOT = Path(__file__).parent.parent
_DUMP = next(_ROOT.glob("tests/dumps/cpu-jaxlib0.12.0.1/mlp_train/module_0000*-live-range.txt"))
_COMMAND = (sys.executable, "-m", "xla_lens")
_HAS_COLORS = sys.stdout.isatty()


def main() -> None:
    """Run the demo."""
    _title("Where does the memory go?")
    _run("report", str(_DUMP.relative_to(_ROOT)), "--top", "6")
    _title("Is the dump consistent?")
    _run("check", str(_DUMP.relative_to(_ROOT)))
    with tempfile.TemporaryDirectory() as folder:
        for path in _DUMP.parent.glob("module_0000*"):
            (Path(folder) / path.name).write_bytes(path.read_bytes())
        assignment = next(Path(folder).glob("*-buffer-assignment.txt"))
        assignment.write_text(assignment.read_text().replace("(size=1605632,offset=0)", "(size=1605632,offset=64)", 1))
        _say("The same dump with one offset changed:")
        _run("check", str(assignment))
    _title("What does an editor show?")
    asyncio.run(_walk())


def _title(text: str) -> None:
    print(f"\n{_painted('1', '== ' + text + ' ' + '=' * (100 - len(text)))}\n")


def _say(text: str) -> None:
    print(_painted("36", f"# {text}"))


def _run(*arguments: str) -> None:
    print(_painted("32", f"$ xla-lens {' '.join(arguments)}"), flush=True)
    subprocess.run([*_COMMAND, *arguments], cwd=_ROOT, check=False)
    print()


async def _walk() -> None:
    client = LanguageClient("demo", "1")
    diagnosed = asyncio.Event()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def _on_diagnostics(params: lsp.PublishDiagnosticsParams) -> None:
        _say(f"diagnostics: {len(params.diagnostics) or 'none'}")
        diagnosed.set()

    await client.start_io(*_COMMAND, "server")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    text = _DUMP.read_text()
    uri = _DUMP.as_uri()
    _say(f"open {_DUMP.name}")
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "xla-dump", 1, text)))
    await diagnosed.wait()
    await _show_hints(client, uri, text)
    await _show_hover(client, uri, text, "  Live ranges at 37 (peak):", "Live")
    place = await _show_hover(client, uri, text, "    dot{}:35-37", "dot")
    await _show_jumps(client, place)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()


async def _show_hints(client: LanguageClient, uri: str, text: str) -> None:
    _say(
        "inlay hints, here in brackets: live bytes at each step, the real peak, and what is wrong with the printed one"
    )
    lines = text.split("\n")
    whole = lsp.Range(lsp.Position(0, 0), lsp.Position(len(lines), 0))
    hints = await client.text_document_inlay_hint_async(lsp.InlayHintParams(lsp.TextDocumentIdentifier(uri), whole))
    labels = {hint.position.line: hint.label for hint in hints or []}
    shown = [row for row, line in enumerate(lines) if line.startswith(("    35:", "    36:", "    37:", "    38:"))]
    shown += [row for row, line in enumerate(lines) if line.startswith(("    dot{}:35", "  Live ranges at"))]
    for row in shown:
        print(f"{row + 1:5} {lines[row]} {_painted('90', f'[{labels[row]}]')}")
    print()


async def _show_hover(
    client: LanguageClient, uri: str, text: str, line: str, word: str
) -> tuple[lsp.TextDocumentIdentifier, lsp.Position]:
    row = text.split("\n").index(line)
    place = lsp.TextDocumentIdentifier(uri), lsp.Position(row, line.index(word))
    _say(f"hover `{word}`")
    print(f"{row + 1:5} {line}\n      {' ' * line.index(word)}{_painted('33', '^' * len(word))}")
    hover = await client.text_document_hover_async(lsp.HoverParams(*place))
    if hover and isinstance(hover.contents, lsp.MarkupContent):
        for line_of_hover in hover.contents.value.split("\n"):
            print(f"      {_painted('90', '│')} {line_of_hover}")
    print()
    return place


async def _show_jumps(client: LanguageClient, place: tuple[lsp.TextDocumentIdentifier, lsp.Position]) -> None:
    answers = {
        "definition": await client.text_document_definition_async(lsp.DefinitionParams(*place)),
        "declaration": await client.text_document_declaration_async(lsp.DeclarationParams(*place)),
        "type definition": await client.text_document_type_definition_async(lsp.TypeDefinitionParams(*place)),
        "references": await client.text_document_references_async(
            lsp.ReferenceParams(lsp.ReferenceContext(include_declaration=True), *place)
        ),
    }
    for name, locations in answers.items():
        _say(f"go to {name}")
        for location in [locations] if isinstance(locations, lsp.Location) else locations or ():
            if isinstance(location, lsp.Location):
                _show_location(location)
    print()


def _show_location(location: lsp.Location) -> None:
    path = Path(location.uri.removeprefix("file://"))
    line = path.read_text().split("\n")[location.range.start.line]
    start, end = location.range.start.character, location.range.end.character
    kind = path.name.split("after_optimizations")[-1]
    shown = f"{line[:start]}{_painted('33', line[start:end])}{line[end:]}"
    print(f"      {kind}:{location.range.start.line + 1}: {shown[:130].strip()}")


def _painted(color: str, text: str) -> str:
    return f"\033[{color}m{text}\033[0m" if _HAS_COLORS else text


if __name__ == "__main__":
    main()
