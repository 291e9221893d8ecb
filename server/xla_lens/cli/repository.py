"""The repository that a command runs in: paths relative to it, and the user's files in it."""

import argparse
import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from xla_lens.features.sources_of_findings import SourceLine
from xla_lens.render.ci import CiPlace
from xla_lens.text.paths import mapped


@dataclass(frozen=True, slots=True, eq=False)
class Repository:
    """The repository that the command runs in. `mapping` has the folders of `--path-mapping`."""

    root: Path
    mapping: tuple[tuple[str, str], ...]

    def place(self, line: SourceLine | None) -> CiPlace | None:
        """Return the place of a source line in the repository, None if its file is not there.

        Where the compiling machine had the repository in another folder, that is the file with the longest end of the
        path.
        """
        if line is None:
            return None
        path = PurePosixPath(mapped(line.file, self.mapping).replace("\\", "/"))
        inside = self._inside(path) if path.is_absolute() else None
        if inside is None:
            parts = path.parts[1:] if path.is_absolute() else path.parts
            # What comes before the last `..` cannot be in the path of a file of the repository.
            first = max((number + 1 for number, part in enumerate(parts) if part == ".."), default=0)
            ends = ("/".join(parts[start:]) for start in range(first, len(parts)))
            inside = next((PurePosixPath(end) for end in ends if os.path.isfile(f"{self.root}/{end}")), None)
        return CiPlace(str(inside), line.line) if inside is not None else None

    def dump(self, place: CiPlace) -> CiPlace:
        """Return the place of a dump with its path in the repository, or its absolute path if it is elsewhere."""
        absolute = Path(os.path.abspath(place.path))
        inside = self._inside(PurePosixPath(absolute.as_posix()))
        return CiPlace(str(inside) if inside is not None else absolute.as_posix(), place.line, place.column)

    def _inside(self, path: PurePosixPath) -> PurePosixPath | None:
        """A path relative to the root, None if it is not below it."""
        root = self.root.as_posix()
        if "\0" in str(path):
            return None
        for one in (path, PurePosixPath(os.path.realpath(path))):
            if one.is_relative_to(root) and ".." not in one.parts and os.path.exists(one):
                return one.relative_to(root)
        return None


def find_repository(options: argparse.Namespace) -> Repository:
    """Find the repository around the current folder; without one, the current folder stands for it."""
    here = Path(os.path.realpath(os.getcwd()))
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    return Repository(root, tuple(options.path_mapping))
