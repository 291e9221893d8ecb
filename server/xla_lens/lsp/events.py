"""What happens to dump sets, and who is told of it."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xla_lens.lsp.session import DumpSetState


def _ignore(_state: "DumpSetState") -> None:
    pass


@dataclass(frozen=True, slots=True)
class Events:
    """Who is told of what happens. `loaded` is called when a set was loaded, and `module_loaded` when its HLO module
    was; `closed` when the editor has closed it, `let_go` when one of which nothing was open is not kept any longer;
    `vanished` when files of a set are gone; `loading` is around each load.
    """

    loaded: Callable[["DumpSetState"], None]
    vanished: Callable[["DumpSetState", list[Path]], None]
    loading: Callable[["DumpSetState"], AbstractAsyncContextManager[None]]
    module_loaded: Callable[["DumpSetState"], None] = _ignore
    closed: Callable[["DumpSetState"], None] = _ignore
    let_go: Callable[["DumpSetState"], None] = _ignore
