"""Errors as responses to requests, with the codes of JSON-RPC and of the Language Server Protocol."""

from enum import IntEnum
from typing import Any


class ErrorCode(IntEnum):
    """The codes that the server uses."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    SERVER_NOT_INITIALIZED = -32002
    REQUEST_FAILED = -32803
    REQUEST_CANCELLED = -32800


class ResponseError(Exception):
    """A request failed. The editor gets the code and the message, and sends them when a request to it fails."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class SourceNotFound(ResponseError):
    """A source file that a dump names is not here. `data` has its path in the dump, so that an editor can ask where
    the file is.
    """

    def __init__(self, path: str, message: str) -> None:
        super().__init__(ErrorCode.REQUEST_FAILED, message, {"source": path})


class InvalidParams(ResponseError):
    """The parameters of a request are wrong."""

    def __init__(self, message: str) -> None:
        super().__init__(ErrorCode.INVALID_PARAMS, message)


class RemoteAddress(Exception):
    """Other machines can reach the address to listen on, and the user has not allowed that."""
