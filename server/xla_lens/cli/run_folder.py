"""The folder of one `xla-lens run`: the dumps that the program wrote, and the files among them that can be deleted."""

import os
import re
import time
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from xla_lens.cli.inside.sitecustomize import CACHE_OFF, FOLDERS, MEASURED
from xla_lens.cli.output import CannotRun
from xla_lens.disk.reading import SMALL_FILE, file_time, read_file, walk
from xla_lens.syntax.file_names import MODULE_FILE, FlagFile, module_name
from xla_lens.text.patterns import lazy_pattern


class RunFolder(NamedTuple):
    """The folder of a run. Each process dumps to a folder in it, and `log` has what the program wrote to standard
    error. `made` are the folders that did not exist before, the innermost first, `started` is the time of the start in
    seconds, and `chosen` the folder to which the user's flags dump.
    """

    path: Path
    made: tuple[Path, ...]
    started: float
    chosen: Path | None

    @property
    def log(self) -> Path:
        """A copy of the standard error of the program."""
        return self.path / "stderr.log"

    def remove_if_empty(self) -> None:
        """Remove the folders that were made for the run, where they are empty."""
        with suppress(OSError):
            for folder in self.made:
                folder.rmdir()

    def remove_log(self) -> None:
        """Remove the log."""
        # The program may have made a folder in its place.
        with suppress(OSError):
            self.log.unlink()

    def remove_notes(self, *, is_measured_kept: bool) -> bool:
        """Remove the notes of processes, and return whether one would have used JAX's compilation cache. What they
        measured is kept beside their dumps, if there are any.
        """
        is_cache_off = os.path.lexists(self.path / CACHE_OFF)
        for name in (FOLDERS, CACHE_OFF, *([] if is_measured_kept else [MEASURED])):
            with suppress(OSError):
                (self.path / name).unlink()
        return is_cache_off

    def dump_folders(self) -> Iterator[Path]:
        """Yield the folders with dumps of this run, each once. Other runs may have dumped to those that were chosen."""
        yield self.path
        noted = list[str]()
        with suppress(OSError):
            noted += os.fsdecode(read_file(self.path / FOLDERS, SMALL_FILE)).splitlines()
        # The program can write into the folder of the run, too: any text, and any number of lines.
        paths = [path for path in dict.fromkeys(noted) if path and "\0" not in path]
        others = [*([str(self.chosen)] if self.chosen else []), *paths[:_MOST_FOLDERS]]
        for other in dict.fromkeys(map(os.path.realpath, others)):
            if os.path.isdir(other):
                yield _as_shown(Path(other))

    def unfinished_module(self) -> str | None:
        """Return the name of the module that XLA was compiling when the program ended, None if there is none. Its last
        file is the module before optimizations.
        """
        folders = chain.from_iterable(map(walk, self.dump_folders()))
        paths = [Path(folder, match.string) for folder, _, names in folders for match in _unfinished(names)]
        last = max(paths, key=file_time, default=None)
        return module_name(last.name) if last and file_time(last) >= self.started else None

    def tidy(self, *, is_everything_kept: bool) -> None:
        """Remove what XLA Lens does not read, unless it is all to be kept, and the timestamps in the names of modules
        that are the only ones of their name.
        """
        for folder, folders, names in reversed([*walk(self.path)]):
            if not is_everything_kept:
                for name in folders:
                    if _MODULE.match(name):
                        _tidy_module(Path(folder, name))
                # XLA Lens takes a module without a buffer assignment for one from a compilation cache, unless the
                # module is also there as it was before optimizations.
                unfinished = {match.string for match in _unfinished(names)}
                for name in filter(_MODULE.match, names):
                    if not (_NEEDED.search(name) or name in unfinished):
                        with suppress(OSError):
                            os.unlink(os.path.join(folder, name))
            left: list[str] = []
            with suppress(OSError):
                left += os.listdir(folder)
            modules = [match for match in map(_MODULE.match, left) if match and match["time"]]
            times = Counter(module for module, _ in {(match["module"], match["time"]) for match in modules})
            for match in modules:
                target = os.path.join(folder, match.string[match.start("module") :])
                if times[match["module"]] == 1 and not os.path.exists(target):
                    with suppress(OSError):
                        os.rename(os.path.join(folder, match.string), target)


def _remove(folder: str) -> None:
    """Remove a folder. `shutil.rmtree` of Python 3.11 fails where folders are nested a thousand deep."""
    for here, folders, names in reversed([*walk(folder)]):
        # What is left of the folders are links.
        for name in (*names, *folders):
            with suppress(OSError):
                os.unlink(os.path.join(here, name))
        with suppress(OSError):
            os.rmdir(here)


def _as_shown(folder: Path) -> Path:
    """A folder relative to the current one if it is inside that."""
    with suppress(OSError):
        # The program may have removed the current folder.
        return Path(os.path.relpath(folder)) if folder.is_relative_to(Path.cwd()) else folder
    return folder


_MOST_FOLDERS: Final = 1000
"""The most folders that the program is believed to have chosen for its dumps."""


def create_folder(path: Path, chosen: Path | None) -> RunFolder:
    """Make the folder of a run. Raises `CannotRun` if that is impossible or if the folder is not empty."""
    made = tuple(folder for folder in (path, *path.parents) if not os.path.exists(folder))
    try:
        with suppress(FileNotFoundError):
            # A path that cannot be fails before any folder is made.
            os.stat(path)
        # With its parents, `mkdir` would call itself once for each.
        for folder in reversed(made):
            folder.mkdir(exist_ok=True)
        is_empty = not any(path.iterdir())
    except OSError as error:
        raise CannotRun(
            f"{path}: cannot be created: {error.strerror or error}. Choose another folder with --out"
        ) from error
    if not is_empty:
        raise CannotRun(f"{path}: not empty. Choose a new folder, so that the dumps of two runs are not mixed")
    # Some file systems store whole seconds.
    return RunFolder(path, made, float(int(time.time())), chosen)


_MODULE: Final = lazy_pattern(r"(?:(?P<time>\d{10,})\.)?(?P<module>module_\d{4,}\.)")
"""The start of the names of all files and folders that XLA writes for a module."""

_BEFORE: Final = ".before_optimizations.txt"
"""The end of the name of the first file that XLA writes for a module."""


def _unfinished(names: Collection[str]) -> Iterator[re.Match[str]]:
    """The names in a folder of modules as they were before optimizations, of which there is no buffer assignment."""
    assigned = [name for name in names if name.endswith("-buffer-assignment.txt")]
    for match in filter(None, map(_MODULE.match, names)):
        if match.string.endswith(_BEFORE) and not any(match["module"] in name for name in assigned):
            yield match


_NEEDED: Final = lazy_pattern(
    r"after_optimizations(-[a-z-]+)?\.txt$|\.(?:" + "|".join(map(re.escape, (*FlagFile, MODULE_FILE))) + ")$"
)
"""The ends of the names of files that XLA Lens reads."""


def _tidy_module(folder: Path) -> None:
    """Remove what XLA Lens does not read from the folder of a module, and the folder if that is all."""
    with suppress(OSError):
        for name in os.listdir(folder):
            if not _NEEDED.search(f".{name}"):
                try:
                    os.unlink(folder / name)
                except OSError:
                    _remove(os.path.join(folder, name))
        folder.rmdir()
