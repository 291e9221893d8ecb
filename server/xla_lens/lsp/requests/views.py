"""The commands behind an editor's views: the memory map, the overview of a dump set, the modules of the workspace, and
what a position refers to. Their answers are the types of `xla_lens.words.contract`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

import numpy as np
from lsprotocol import types as lsp

from xla_lens.disk.reading import DamagedFile, file_size
from xla_lens.disk.sets import NotADump, set_files
from xla_lens.disk.unpacking import unpack
from xla_lens.editor.hover import hover
from xla_lens.editor.overview import Locate, overview_data, value_entries
from xla_lens.editor.peak_groups import peak_groups_data
from xla_lens.lsp.convert import Converter
from xla_lens.lsp.converter import RawJson
from xla_lens.lsp.documents import OpenDocuments, path_of, texts_of, uri_in, uri_of
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.index import IndexedSet, worst_first
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.requests.hover import command_links
from xla_lens.lsp.snapshot import Snapshot
from xla_lens.lsp.tasks import in_thread
from xla_lens.memory_map.map_data import memory_map_data, space_data
from xla_lens.model.analysis import Analysis
from xla_lens.model.capacity import Capacity, given_capacity
from xla_lens.model.hlo.mentions import HloInstruction, HloMention, definition_place, meaning_of
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.places.entities import Entity, entity_target
from xla_lens.model.places.mentions import Allocation, Instruction, Mention, Step, Target, Value, step_of
from xla_lens.model.places.places import (
    Place,
    allocation_place,
    live_range_place,
    schedule_place,
    slice_place,
    step_place,
    value_place,
)
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Bound
from xla_lens.syntax.columns import NONE
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import MentionRole
from xla_lens.text.positions import encode
from xla_lens.words import contract
from xla_lens.words.warrants import gap_word, reasons

_TOP: Final = 100
"""The length of the lists of an overview, unless the client asks for another."""


async def memory_map(arguments: Arguments) -> RawJson:
    """Return the memory map of a set."""
    _, analysis = await arguments.loaded()
    return await _map(arguments, lambda: memory_map_data(analysis))


async def compared_maps(arguments: Arguments) -> RawJson:
    """Return the memory maps of both dumps of the page of a comparison, on one axis of steps."""
    from xla_lens.memory_map.comparison import compared_maps as compared_maps_data

    compared = await arguments.state.compared(arguments.uri)
    if compared is None:
        raise InvalidParams(f"{arguments.uri} is not a comparison, or one of its dumps cannot be read")
    uris = [uri_in(state.path, state.open) for state, _ in compared.sources]
    return await _map(arguments, lambda: compared_maps_data(compared.diff, *uris))


async def _map(arguments: Arguments, make: Callable[[], contract.MemoryMap | contract.ComparedMaps]) -> RawJson:
    """Return a map, or the path of a file with it: sending megabytes blocks the event loop."""
    if arguments.given.get("as_file") is not True:
        return RawJson(await in_thread(make))
    path = await in_thread(lambda: _written(make()))
    arguments.state.written.append(path)
    return RawJson({"path": str(path)})


def _written(data: Mapping[str, object]) -> Path:
    """Write JSON to a file that only this user can read. Runs in a worker thread."""
    with NamedTemporaryFile("w", prefix="xla-lens-", suffix=".json", delete=False, encoding="utf-8") as file:
        file.writelines(_encoded(data))
    return Path(file.name)


def _encoded(value: object) -> Iterator[str]:
    """Encode the columns of a map one by one: a call of `json.dumps` blocks all threads."""
    if not isinstance(value, Mapping):
        yield json.dumps(value)
        return
    for number, (name, one) in enumerate(value.items()):
        yield f"{',' if number else '{'}{json.dumps(name)}:"
        yield from _encoded(one)
    yield "}" if value else "{}"


# ---------------------------------------------------------------- an overview


async def overview(arguments: Arguments) -> RawJson:
    """Return the overview of a set."""
    top = arguments.number("top")
    # The HLO module, which takes longest to read, is not needed.
    dump_set, analysis = await arguments.analysed()
    opened = dict(dump_set.open)
    convert = arguments.state.converter(opened)
    texts = texts_of(opened)

    def made() -> RawJson:
        files = _files(set_files(dump_set.path, texts).paths, opened)
        # The files may have been deleted since.
        uri = _first(files, convert) or arguments.uri
        data = overview_data(analysis, _TOP if top is None else top, _locate(convert, analysis.dump))
        return RawJson({**data, "uri": uri, "files": files})

    return await in_thread(made)


async def peak(arguments: Arguments) -> RawJson:
    """Return what is live at the peak of a memory space of a set."""
    color = arguments.need_number("color")
    _, analysis = await arguments.loaded()
    found = await in_thread(peak_groups_data, analysis, color)
    if found is None:
        raise InvalidParams(f"nothing is ever live in memory space {color}")
    return RawJson(found)


async def values(arguments: Arguments) -> RawJson:
    """Return some values of a set by their rows, in the order given."""
    rows = arguments.need("values", list)
    dump_set, analysis = await arguments.loaded()
    count = len(analysis.dump.values)
    if not all(type(row) is int and 0 <= row < count for row in rows):
        raise InvalidParams(f"values: expected rows from 0 to {count - 1}")
    locate = _locate(arguments.state.converter(dump_set.open), analysis.dump)
    return RawJson(await in_thread(value_entries, analysis, np.array(rows, np.int64), locate))


# ---------------------------------------------------------------- files and places


def _files(paths: Mapping[FileKind, Path], opened: OpenDocuments) -> list[contract.SetFile]:
    """Return files with their sizes. Open files have the URI and the size of the editor's document."""
    found: list[contract.SetFile] = []
    for kind in FileKind:
        if path := paths.get(kind):
            one = opened.get(path)
            size_bytes = len(one.document.data) if one else file_size(path)
            found.append({"kind": kind, "uri": uri_in(path, opened), "size_bytes": size_bytes})
    return found


def _first(files: list[contract.SetFile], convert: Converter) -> str:
    """Return the URI of the file to open first, one that the editor can open if there is any; empty without files."""
    fits = (file["uri"] for file in files if not convert.is_too_large(file["size_bytes"]))
    return next(fits, files[0]["uri"] if files else "")


def _locate(convert: Converter, dump: DumpSet) -> Locate:
    def value_location(value: int) -> contract.Location | None:
        places = _places(dump, None, value)
        return convert.location_json(_shown(convert, places)) if places else None

    return Locate(convert.location_json, value_location)


def _places(dump: DumpSet, module: HloModule | None, value: int) -> list[Place]:
    """Return where a dump and its module describe a value, the most important place first."""
    places = [find(dump, value) for find in (value_place, slice_place, live_range_place)]
    row = module.row_of(dump.names[dump.values.name[value]]) if module else NONE
    if module and row != NONE:
        places.append(definition_place(module, HloInstruction(row)))
    return [place for place in places if place]


def _shown(convert: Converter, places: list[Place]) -> Place:
    """Return the first place in a file that the editor can open, else the first one."""
    return next((place for place in places if not convert.is_in_pages(place.file)), places[0])


# ---------------------------------------------------------------- modules


async def modules(arguments: Arguments) -> RawJson:
    """Return the sets of the workspace that have been read so far, and start reading the others."""
    index = arguments.state.index
    is_reading = index.start_reading()
    found, sets = await index.sets_now(), arguments.state.sets
    is_loading, opened = (
        any(dump_set.analysis is None and dump_set.is_loading for dump_set in sets.open),
        sets.documents,
    )
    given = given_capacity(arguments.state.settings.device_memory)
    convert = arguments.state.converter(opened)
    found_modules = await in_thread(
        lambda: [_module(indexed, convert, opened, given) for indexed in worst_first(found.values(), given)]
    )
    answer: contract.Modules = {
        "is_reading": is_reading or is_loading,
        "is_truncated": index.is_truncated,
        "modules": found_modules,
    }
    return RawJson(answer)


def _module(
    indexed: IndexedSet, convert: Converter, opened: OpenDocuments, given: Capacity | None
) -> contract.ModuleSummary:
    files = _files(indexed.files.paths, opened)
    return {
        "uri": _first(files, convert),
        "module": indexed.summary.module,
        "incomplete": reasons(indexed.summary.warrants.gaps),
        "gap": gap_word(indexed.summary.warrants),
        "spaces": [space_data(space, given, indexed.summary.capacity) for space in indexed.summary.spaces],
        "files": files,
    }


# ---------------------------------------------------------------- dumps that editors cannot show


async def unpack_dumps(arguments: Arguments) -> RawJson:
    """Write the dumps of a compressed file or of a log into a folder, and return the file to show of each set."""
    path, folder = path_of(arguments.uri), Path(arguments.need("folder", str))
    text = arguments.get("text", str, "") or None
    try:
        found = await in_thread(unpack, path, folder, encode(text) if text is not None else None)
    except (NotADump, DamagedFile, OSError) as error:
        raise InvalidParams(f"{path.name}: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise InvalidParams(f"{path.name}: no dump in this text")
    answer: contract.UnpackedDumps = {"uris": [uri_of(file) for file in found]}
    return RawJson(answer)


# ---------------------------------------------------------------- positions


async def what_is_at(arguments: Arguments) -> contract.WhatIsAt:
    """Return what a position of a file of a set, or of a page, refers to."""
    dump, target, step = await target_at(arguments)
    value = target.row if isinstance(target, Value) else None
    allocation = target.row if isinstance(target, Allocation) else None
    if value is not None and dump.values.allocation[value] != NONE:
        allocation = dump.values.allocation.item(value)
    return {"value": value, "allocation": allocation, "step": step}


async def target_at(arguments: Arguments) -> tuple[DumpSet, Target | None, int | None]:
    """Return the set of a file or a page, what a position of it refers to, and the step that it refers to."""
    position = arguments.position()
    page = await arguments.state.page(arguments.uri)
    if page is None:
        snapshot = await arguments.snapshot()
        return snapshot.dump, *_target(snapshot, position)
    _, analysis = await arguments.analysed()
    link = page.link_at(position)
    # In a comparison, the set of the page is the new one.
    entity = link.target if link else None
    target = entity_target(analysis.dump, entity) if isinstance(entity, Entity) and not entity.is_old else None
    return analysis.dump, target, target.step if isinstance(target, Step) else None


def _target(snapshot: Snapshot, position: lsp.Position) -> tuple[Target | None, int | None]:
    dump, module, mention = snapshot.dump, snapshot.module, snapshot.mention(position)
    match mention:
        case Mention(Instruction(name)):
            return mention.target, _step(dump, name)
        case Mention():
            return mention.target, step_of(dump, mention)
        case HloMention(HloInstruction(row, index)) if module:
            instruction = module.name(row)
            return meaning_of(dump, instruction, index), _step(dump, dump.name_number(instruction))
    return None, None


def _step(dump: DumpSet, name: int) -> int | None:
    """Return the step at which an instruction runs, None if it is not scheduled."""
    row = dump.schedule_row_of_name[name] if name != NONE else NONE
    return int(dump.schedule.step[row]) if row != NONE else None


async def describe(arguments: Arguments) -> contract.Description:
    """Return the hover of a value, an allocation or a step, and its location."""
    given = [name for name in _DESCRIBED if arguments.given.get(name) is not None]
    if len(given) != 1:
        raise InvalidParams(f"expected exactly one of {', '.join(_DESCRIBED)}")
    (what,) = given
    number = arguments.need_number(what)
    dump_set, analysis = await arguments.loaded()
    target = _DESCRIBED[what](number)
    places = _places_of(analysis, target)
    if not places:
        raise InvalidParams(f"there is no {what} {number:,}")
    convert, path = arguments.state.converter(dump_set.open), arguments.path()
    shown = next((place for place in places if Path(place.file.label) == path), None) or _shown(convert, places)
    mention = Mention(target, MentionRole.USED_VALUE, shown.start, shown.end)
    links = command_links(convert.uri(shown.file), arguments.state.client.capabilities)
    return {"markdown": hover(analysis, mention, links), "location": convert.location_json(shown)}


_DESCRIBED: Final[Mapping[str, Callable[[int], Value | Allocation | Step]]] = {
    "value": Value,
    "allocation": Allocation,
    "step": Step,
}


def _places_of(analysis: Analysis, target: Value | Allocation | Step) -> list[Place]:
    dump, place = analysis.dump, None
    match target:
        case Value(row) if row < len(dump.values):
            return _places(dump, analysis.module, row)
        case Allocation(row) if row < len(dump.allocations):
            place = allocation_place(dump, row)
        case Step(step):
            place = step_place(dump, dump.schedule_row(step))
    return [place] if place else []


# ---------------------------------------------------------------- heat

_NEAR: Final = (0.75, 0.9, 0.97, 1.0)
"""The shares of the peak at which the levels of heat begin."""


async def heat(arguments: Arguments) -> contract.StepHeat:
    """Return the lines of a schedule whose steps are near the peak. Empty for other files, and if it is not exact."""
    dump_set, analysis = await arguments.analysed()
    dump, space = analysis.dump, analysis.memory.space(DEFAULT_COLOR)
    place = schedule_place(dump, 0 if len(dump.schedule) else NONE)
    is_known = space is not None and space.live_bound is Bound.EXACT and space.peak_live_bytes > 0
    if space is None or not is_known or place is None or Path(place.file.label) != arguments.path():
        return {"first_row": [], "last_row": [], "level": []}
    shares = space.live.at_each(dump.schedule.step) / space.peak_live_bytes
    levels = np.searchsorted(_NEAR, shares, "right") - 1
    ends = np.flatnonzero(np.diff(levels, append=NONE - 1))
    starts = np.concatenate(([0], ends[:-1] + 1))
    near = levels[starts] >= 0
    convert = arguments.state.converter(dump_set.open)
    first, last = (
        convert.positions(place.file, dump.schedule.start[rows[near]].tolist())[0] for rows in (starts, ends)
    )
    return {"first_row": first, "last_row": last, "level": levels[starts][near].tolist()}
