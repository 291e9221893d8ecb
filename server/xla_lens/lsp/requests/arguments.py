"""The object that a command is given."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcInvalidParams

from xla_lens.lsp.reach import state_asked_for
from xla_lens.lsp.requests.content import state_of_page
from xla_lens.lsp.requests.context import Context, context_of
from xla_lens.lsp.session import DumpSetState
from xla_lens.lsp.sync import path_of
from xla_lens.model.analysis import Analysis

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer

_T = TypeVar("_T")

_GREATEST: Final = (1 << 53) - 1
"""The greatest number that each reader of JSON can tell from the next one."""


@dataclass(frozen=True, slots=True)
class Arguments:
    """The object that a command is given."""

    server: "XlaLensServer"
    given: Mapping[str, Any]

    def get(self, name: str, wanted: type[_T], default: _T) -> _T:
        """An argument, which need not be there. Raises `JsonRpcInvalidParams` for one that is of no use."""
        value = self.given.get(name)
        if value is None:
            return default
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise JsonRpcInvalidParams(message=f"{name}: {wanted.__name__} wanted, not {type(value).__name__}")
        found: _T = value
        return found

    def need(self, name: str, wanted: type[_T]) -> _T:
        """An argument that has to be there. Raises `JsonRpcInvalidParams` if it is not."""
        if self.given.get(name) is None:
            raise JsonRpcInvalidParams(message=f"{name} is missing")
        value: _T = self.get(name, wanted, self.given[name])
        return value

    def number(self, name: str) -> int | None:
        """An argument that is a number from 0, None if it is not there."""
        value = self.get(name, int, 0) if self.given.get(name) is not None else None
        if value is not None and not 0 <= value <= _GREATEST:
            raise JsonRpcInvalidParams(message=f"{name}: a number from 0 to {_GREATEST}")
        return value

    def need_number(self, name: str) -> int:
        """An argument that has to be there, and to be a number from 0."""
        self.need(name, int)
        return self.number(name) or 0

    def path(self) -> Path:
        """The file of the argument `uri`."""
        uri = self.need("uri", str)
        found = self.server.session.find(uri)
        return found[1] if found else path_of(uri)

    async def analysed(self) -> tuple[DumpSetState, Analysis]:
        """The set of the argument `uri`: of a document that is open, of a page, or of a file on disk."""
        uri = self.need("uri", str)
        state, path = self.server.session.find(uri) or (state_of_page(self.server, uri), None)
        state = state or await state_asked_for(self.server, path_of(uri))
        analysis = await _analysis(state, path or state.path) if state else None
        if state is None or analysis is None:
            raise JsonRpcInvalidParams(message=f"{uri} is neither open nor a dump")
        return state, analysis

    async def context(self) -> Context:
        """The context of a request about the argument `uri`, which has to be open."""
        context = await self.server.context(lsp.WORKSPACE_EXECUTE_COMMAND, self.need("uri", str))
        if context is None:
            raise JsonRpcInvalidParams(message=f"{self.given['uri']} is not open")
        return context

    async def context_of_file(self) -> Context:
        """The context of a request about the argument `uri`, which need not be open."""
        uri = self.need("uri", str)
        if self.server.session.find(uri):
            return await self.context()
        state, _ = await self.analysed()
        path = self.path()
        if state.file(path) is None:
            await state.module_for(path)
        context = context_of(state, path, self.server.client, self.server.settings, lambda _: None)
        if context is None:
            raise JsonRpcInvalidParams(message=f"{uri} cannot be read")
        return context

    def position(self) -> lsp.Position:
        """The argument `position`."""
        try:
            return self.server.protocol.typed(self.need("position", dict), lsp.Position)
        except (ValueError, TypeError, ExceptionGroup) as error:
            raise JsonRpcInvalidParams(message="position is no position") from error


async def _analysis(state: DumpSetState, path: Path) -> Analysis | None:
    analysis = await state.analysis_for(path)
    if analysis is None:
        # An HLO module is read after its dump.
        await state.module_for(path)
        analysis = await state.analysis_for(path)
    return analysis
