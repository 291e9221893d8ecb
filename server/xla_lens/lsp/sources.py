"""Finds source files for requests. The editor opens a file when the user asks for it."""

from collections.abc import Sequence
from pathlib import Path

from xla_lens.lsp.tasks import in_thread
from xla_lens.lsp.uris import uri_of
from xla_lens.source_files import Listing, find_source


class SourceFinder:
    """Finds source files in the workspace, whose files it lists at the first search."""

    def __init__(self) -> None:
        self._listing: Listing | None = None
        self._version = 0
        """How often files have changed."""

    async def find(self, path: str, mapping: Sequence[tuple[str, str]], folders: tuple[Path, ...]) -> Path | None:
        """Return the source file of a path in a dump, None if there is none."""
        before, version = self._listing, self._version
        found, listing = await in_thread(find_source, path, mapping, folders, before)
        if self._listing is before and self._version == version:
            self._listing = listing
        return found

    def invalidate(self) -> None:
        """List the files again at the next search: files have changed."""
        self._listing = None
        self._version += 1


def source_uri(path: Path, line: int | None) -> str:
    """Return the URI of a source file, or of a line of it."""
    return uri_of(path) + (f"#L{line}" if line is not None else "")
