"""The dump sets that are found by a path: those that are open, in the workspace, or were asked for by the user."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from xla_lens.files import NotADump, find_set
from xla_lens.lsp.loading import set_key
from xla_lens.lsp.threads import in_thread

if TYPE_CHECKING:
    from xla_lens.lsp.server import XlaLensServer
    from xla_lens.lsp.session import DumpSetState


async def state_asked_for(server: "XlaLensServer", path: Path) -> "DumpSetState | None":
    """The set of a file that the user asks for by a command, wherever it is on disk; None if it is no dump."""
    state = server.session.find_set(path)
    if state is not None:
        return state
    try:
        key = (await in_thread(find_set, path)).stem
    except (NotADump, OSError):
        return None
    server.asked_for.add(key)
    return server.session.visit(key, path)


def state_in_reach(server: "XlaLensServer", path: Path) -> "DumpSetState | None":
    """The set of a file that is open, in the workspace, or was asked for; else None."""
    state = server.session.find_set(path)
    key = set_key(path, None)
    if state is None and os.path.isfile(path) and (key in server.asked_for or _is_in_workspace(server, path)):
        return server.session.visit(key, path)
    return state


def _is_in_workspace(server: "XlaLensServer", path: Path) -> bool:
    return any(path.resolve().is_relative_to(folder.resolve()) for folder in server.folders)
