"""Messages with the text of a whole dump.

`json.loads` holds the interpreter's lock until it is done, which blocks the event loop for a tenth of a second if the
text has 60 MB. The text is therefore decoded here in chunks, straight to the UTF-8 that documents consist of.
"""

import json
import re
from typing import Any, Final

_LONG: Final = 1 << 21
"""Messages with fewer bytes are decoded at once."""

_CHUNK: Final = 1 << 20
_HEAD: Final = 1 << 16
"""The text is looked for in so many bytes. Editors send it after the URI and the version."""

_TEXT: Final = re.compile(rb'"text"[ \t\r\n]*:[ \t\r\n]*"')
_PLACEHOLDER: Final = "\N{OBJECT REPLACEMENT CHARACTER} text"
_DECODER: Final = json.JSONDecoder()
_LONGEST_ESCAPE: Final = 12
"""Length of the longest sequence that must not be cut: two surrogates, such as ``\\ud83d\\ude80``."""


class LongText(str):
    """The text of a document that is decoded already: as a string it is a placeholder, `data` is the text in UTF-8."""

    data: bytes


def utf8(text: str) -> bytes:
    """Return a text of a message in UTF-8."""
    from xla_lens.text.positions import encode

    return text.data if isinstance(text, LongText) else encode(text)


def decode(body: bytes) -> Any:
    """Return what `json.loads` returns, but with a `LongText` for the text in a long message about a document. Raises
    `ValueError` and `RecursionError`.
    """
    found = _TEXT.search(body, 0, _HEAD) if len(body) >= _LONG else None
    if found:
        data, end = _decode_string(body, found.end())
        message = json.loads(b"%b%b%b" % (body[: found.end()], _PLACEHOLDER.encode(), body[end:]))
        if _replace_placeholder(message, data):
            return message
    return json.loads(body)


def _decode_string(body: bytes, start: int) -> tuple[bytes, int]:
    """The string of a JSON text that starts behind the quote before `start`, and the offset of the quote behind it."""
    # Imported here, because it imports numpy, for which the answer to `initialize` does not wait.
    from xla_lens.text.positions import encode

    parts: list[bytes] = []
    while True:
        end = _end_of_chunk(body, start)
        chunk = body[start:end].decode("utf-8", "surrogatepass")
        text, behind = _DECODER.raw_decode(f'"{chunk}"')
        parts.append(encode(text))
        if behind < len(chunk) + 2:
            return b"".join(parts), start + len(encode(chunk[: behind - 2]))
        if end == len(body):
            raise ValueError("a string has no end")
        start = end


def _end_of_chunk(body: bytes, start: int) -> int:
    """An offset that cuts neither an escape sequence nor a pair of surrogates nor a character in two."""
    size = _CHUNK
    while start + size < len(body):
        end = start + size
        while end > start:
            backslash = body.rfind(b"\\", max(start, end - _LONGEST_ESCAPE), end)
            if backslash != -1:
                end = backslash
            elif body[end] & 0xC0 == 0x80:
                end -= 1
            else:
                return end
        size *= 2
    return len(body)


def _replace_placeholder(message: Any, data: bytes) -> bool:
    """Put a text where its placeholder is. Return whether it is the text of a document."""
    match message:
        case {"method": "textDocument/didOpen", "params": {"textDocument": {"text": str(found)} as place}}:
            pass
        case {"method": "textDocument/didChange", "params": {"contentChanges": [{"text": str(found)} as place, *_]}}:
            pass
        case _:
            return False
    if found != _PLACEHOLDER:
        return False
    text = LongText(_PLACEHOLDER)
    text.data = data
    place["text"] = text
    return True
