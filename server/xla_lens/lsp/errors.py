"""Errors as responses to requests. The message of each is one line, whatever text of a request it quotes."""

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams


class SourceNotFound(JsonRpcException):
    """A source file that a dump names is not here. `data` has its path in the dump, so that an editor can ask where
    the file is.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(_line(message), lsp.LSPErrorCodes.RequestFailed.value, {"source": path})


class InvalidParams(JsonRpcInvalidParams):
    """The parameters of a request are wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(_line(message))


def _line(message: str) -> str:
    return "".join(character if character.isprintable() else ascii(character)[1:-1] for character in message)
