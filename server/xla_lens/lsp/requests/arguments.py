"""The argument of commands: one object."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from lsprotocol import types as lsp
from msgspec import Struct

from xla_lens.lsp.converter import from_json
from xla_lens.lsp.documents import path_of
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.pages import is_explanation
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.lsp.state import State
from xla_lens.model.analysis import Analysis

_T = TypeVar("_T")

_GREATEST: Final = (1 << 53) - 1
"""The greatest integer that every JSON reader represents exactly."""

GREATEST_POSITION: Final = (1 << 31) - 1
"""The greatest line or column of the protocol."""


class Arguments(Struct, frozen=True):
    """The object that a command is given. Methods raise `InvalidParams` for a value of the wrong type."""

    state: State
    given: Mapping[str, Any]

    def get(self, name: str, wanted: type[_T], default: _T) -> _T:
        """Return an optional property."""
        value = self.given.get(name)
        if value is None:
            return default
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InvalidParams(f"{name}: expected {wanted.__name__}, not {type(value).__name__}")
        found: _T = value
        return found

    def need(self, name: str, wanted: type[_T]) -> _T:
        """Return a required property."""
        if self.given.get(name) is None:
            raise InvalidParams(f"{name} is missing")
        value: _T = self.get(name, wanted, self.given[name])
        return value

    def number(self, name: str, greatest: int = _GREATEST) -> int | None:
        """Return an optional non-negative integer, None if it is missing."""
        value = self.get(name, int, 0) if self.given.get(name) is not None else None
        if value is not None and not 0 <= value <= greatest:
            raise InvalidParams(f"{name}: expected an integer from 0 to {greatest}")
        return value

    def need_number(self, name: str) -> int:
        """Return a required non-negative integer."""
        self.need(name, int)
        return self.number(name) or 0

    def position(self) -> lsp.Position:
        """Return the property `position`."""
        try:
            return from_json(self.need("position", dict), lsp.Position)
        except (ValueError, TypeError, ExceptionGroup) as error:
            raise InvalidParams("position: expected an object with line and character") from error

    @property
    def uri(self) -> str:
        """The required property `uri`."""
        return self.need("uri", str)

    def path(self) -> Path:
        """Return the path of the property `uri`."""
        found = self.state.sets.find(self.uri)
        return found[1] if found else path_of(self.uri)

    async def analysed(self, name: str = "uri") -> tuple[DumpSetState, Analysis]:
        """Return the set of a property, which may be an open document, a page, or a file on disk, and its analysis on
        the user's device.
        """
        uri, state = self.need(name, str), self.state
        dump_set, path = state.sets.find(uri) or (state.set_for_page(uri), path_of(uri))
        dump_set = dump_set or await state.set_for_command(path)
        # A file may be the HLO module, which is loaded last.
        analysis = await dump_set.analysis_for(path) or await dump_set.loaded_for(path) if dump_set else None
        if dump_set is None or analysis is None:
            raise InvalidParams(_no_dump(uri))
        return dump_set, analysis.on_device(state.settings.device_memory)

    async def loaded(self) -> tuple[DumpSetState, Analysis]:
        """Return what `analysed` returns, with the HLO module."""
        dump_set, analysis = await self.analysed()
        await dump_set.module_for(dump_set.path)
        # The set may have been loaded again while its module was awaited.
        if dump_set.analysis and dump_set.has_files:
            analysis = dump_set.analysis.on_device(self.state.settings.device_memory)
        return dump_set, analysis

    async def snapshot(self) -> Snapshot:
        """Return a snapshot of the property `uri`, which may be an open document or a file on disk."""
        dump_set, _ = await self.analysed()
        path = self.path()
        if dump_set.file(path) is None:
            await dump_set.module_for(path)
        snapshot = self.state.snapshot_now(dump_set, path, lambda _: None)
        if snapshot is None:
            raise InvalidParams(f"{path} cannot be read")
        return snapshot


def _no_dump(uri: str) -> str:
    if is_explanation(uri):
        log = path_of(uri).name.removesuffix("-explained.md")
        return (
            f"{log}: no dump belongs to this message. Put the files of the dump beside the log, and explain it again."
        )
    return f"{uri} is neither open nor a dump"
