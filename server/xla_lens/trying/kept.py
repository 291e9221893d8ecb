"""Keeps the results of trials beside the dump, where the advice finds them when the dump is opened again."""

from msgspec import json

from xla_lens.disk.sets import SetFiles
from xla_lens.disk.tried import tried_path, write_tried
from xla_lens.model.tried import Tried
from xla_lens.trying.tried_json import TriedModule


def tried_of(found: TriedModule, files: SetFiles) -> Tried:
    """Return what was tried on a dump as the advice reads it."""
    tried = json.decode(json.encode(found), type=Tried)
    return tried.read_from(str(tried_path(files.stem)), is_stale=False)


def keep(found: TriedModule, files: SetFiles) -> str:
    """Write what was tried on a dump beside it, and return the path. Raises `OSError`."""
    return write_tried(files, json.format(json.encode(found), indent=2) + b"\n").as_posix()
