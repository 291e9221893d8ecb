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


class DocumentClosed(InvalidParams):
    """A document was closed while a request about it was handled. A request about the document then finds nothing, and
    a command fails.
    """

    def __init__(self, uri: str) -> None:
        super().__init__(f"{uri} is not open")


def _line(message: str) -> str:
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in message)
