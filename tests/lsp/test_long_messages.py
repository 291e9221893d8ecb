"""Long messages are decoded in chunks to the same texts as by `json.loads`."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lsp.wire import Process
from samples import SEED
from xla_lens.lsp import long_messages
from xla_lens.lsp.long_messages import LongText, decode, utf8
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import encode


@pytest.fixture(autouse=True, scope="module")
def _short_chunks() -> Any:
    """Treat every message as long, and decode a few bytes at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_messages, "_LONG", 0)
        patch.setattr(long_messages, "_CHUNK", 20)
        yield


def _open(text: str, **more: Any) -> dict[str, Any]:
    document = {"uri": "file:///a", **more, "text": text, "version": 1}
    return {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}}


_PIECES = [
    "\n",
    "\\",
    '"',
    "\\n",
    "a",
    "é",
    "\U0001f680",
    "\ud83d",
    "\ude00",
    "\u2028",
    "\r\n",
    "\t",
    "text",
    '"text": "',
]
_TEXTS = st.lists(st.sampled_from(_PIECES)).map("".join) | st.text()


@given(_TEXTS, st.booleans(), st.sampled_from([None, 2]))
def test_chunks_give_the_same_text(text: str, is_ascii: bool, indent: int | None) -> None:
    message = _open(text)
    body = json.dumps(message, ensure_ascii=is_ascii, indent=indent).encode("utf-8", "surrogatepass")
    found = decode(body)
    in_message = found["params"]["textDocument"]["text"]
    assert isinstance(in_message, LongText)
    assert utf8(in_message) == encode(json.loads(body)["params"]["textDocument"]["text"])
    found["params"]["textDocument"]["text"] = text
    assert found == message


@given(_TEXTS, _TEXTS)
def test_text_of_the_first_change_is_long(first: str, second: str) -> None:
    changes = [{"text": first}, {"text": second}]
    message = {"method": "textDocument/didChange", "params": {"contentChanges": changes}}
    long, short = decode(json.dumps(message).encode())["params"]["contentChanges"]
    assert (utf8(long["text"]), short["text"]) == (
        encode(json.loads(json.dumps(first))),
        json.loads(json.dumps(second)),
    )


@pytest.mark.parametrize(
    "message",
    [
        _open("a\nb", languageId={"text": "another\ntext"}),
        _open("a\nb", uri={"text": "first\n"}),
        {"method": "textDocument/hover", "params": {"textDocument": {"text": "a\nb"}}},
        {"method": "textDocument/didOpen", "params": [{"text": "a\nb"}]},
        {"text": "a\nb"},
        [{"text": "a"}],
        {"method": "textDocument/didChange", "params": {"contentChanges": []}, "text": "a\n"},
    ],
)
def test_other_strings_stay_strings(message: Any) -> None:
    found = decode(json.dumps(message).encode())
    assert found == message
    assert "LongText" not in str(list(map(type, _strings(found))))


def _strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in _strings(item)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize(
    "text",
    ["a\\n", "a\\n\\nabcdefghijkl", "a\\", "\\ud83d\\nabcdefghijklm", "a\\xb", "a\nb", "a\\u12\\nabcdefghi", "\xff"],
)
@pytest.mark.parametrize("end", ["", '"', '"}}', '"}}}}'])
def test_malformed_messages_are_rejected_as_by_json(text: str, end: str) -> None:
    body = f'{{"method": "textDocument/didOpen", "params": {{"textDocument": {{"text": "{text}{end}'.encode("latin-1")
    assert not any(_is_valid(load, body) for load in (json.loads, decode))


def _is_valid(load: Callable[[bytes], Any], body: bytes) -> bool:
    try:
        load(body)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("encoding", [*Encoding])
async def test_long_document_is_opened(server: Process, encoding: Encoding) -> None:
    text = SEED.read_text() + "allocation é🚀:\n" * 200_000
    await server.initialize({"general": {"positionEncodings": [encoding.value]}})
    uri = (Path.cwd() / "long-buffer-assignment.txt").as_uri()
    document = {"uri": uri, "languageId": "xla-dump", "version": 1, "text": text}
    server.notify("textDocument/didOpen", {"textDocument": document})
    await server.until(lambda: bool(server.diagnostics.get(uri)))
    unknown = [found["range"]["end"] for found in server.diagnostics[uri] if found["code"] == "syntax"]
    width = {Encoding.UTF8: 6, Encoding.UTF16: 3, Encoding.UTF32: 2}[encoding]
    assert unknown[0] == {"line": text.count("\n") - 1, "character": len("allocation :") + width}
