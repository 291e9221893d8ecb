"""Short answers for the language models that an editor runs: only about files of the workspace."""

import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from xla_lens.blocks.blocks import Outline
from xla_lens.diff.outline import diff_outline
from xla_lens.disk.reading import DamagedFile, file_size
from xla_lens.disk.sets import NotADump, find_sets, set_files
from xla_lens.editor.brief import brief, part_outline
from xla_lens.lsp.documents import path_of, texts_of
from xla_lens.lsp.dump_set_state import DumpSetState
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.requests.out_of_memory import explained_log
from xla_lens.lsp.tasks import in_thread
from xla_lens.report.options import Part
from xla_lens.words.names import unknown_name


async def answer(arguments: Arguments) -> str:
    """Return the answer to one of the questions, as text."""
    question = arguments.need("question", str)
    if question not in _ANSWERS:
        raise InvalidParams(unknown_name("question", question, tuple(_ANSWERS)))
    return await _ANSWERS[question](arguments)


async def _memory(arguments: Arguments) -> str:
    return await _part(arguments, Part.LINE, "xla-lens report")


async def _savings(arguments: Arguments) -> str:
    return await _part(arguments, Part.ADVICE, "xla-lens advise")


async def _part(arguments: Arguments, part: Part, command: str) -> str:
    dump = await _dump(arguments, "uri")
    state, analysis = await Arguments(arguments.state, {"uri": dump.as_uri()}).loaded()
    files = set_files(state.path, texts_of(state.open)).labels
    return await in_thread(lambda: brief([part_outline(analysis, files, part)], f"{command} {dump}"))


async def _comparison(arguments: Arguments) -> str:
    state = arguments.state
    paths = [await _dump(arguments, name) for name in ("old", "uri")]
    sets: list[DumpSetState] = []
    for path in paths:
        dump_set, _ = await Arguments(state, {"uri": path.as_uri()}).analysed()
        sets.append(dump_set)
    old, new = sets
    compared = await state.comparisons.of(old, new) if old is not new else None
    if compared is None:
        raise InvalidParams("expected two different dumps that can be read")
    command = f"xla-lens diff {paths[0]} {paths[1]}"
    return await in_thread(lambda: brief([diff_outline(compared.diff)], command))


async def _failure(arguments: Arguments) -> str:
    log = _in_workspace(arguments, "uri")
    outline, analysis, files = await explained_log(arguments, log)

    def answer() -> str:
        # What to do must not be cut off, so the details of the message come last.
        advice = [part_outline(analysis, files.labels, Part.ADVICE)] if analysis and files else []
        outlines = [replace(outline, parts=()), *advice, Outline("What the message says", parts=outline.parts)]
        return brief(outlines, f"xla-lens oom {log} {log.parent}")

    return await in_thread(answer)


_ANSWERS: Final[Mapping[str, Callable[[Arguments], Awaitable[str]]]] = {
    "memory": _memory,
    "savings": _savings,
    "comparison": _comparison,
    "failure": _failure,
}


async def _dump(arguments: Arguments, name: str) -> Path:
    """Return a file of a dump: the one that a property names, or the biggest one of the folder that it names."""
    path = _in_workspace(arguments, name)
    if not path.is_dir():
        return path
    try:
        sets = await in_thread(find_sets, path)
    except (NotADump, DamagedFile, OSError) as error:
        raise InvalidParams(f"{path}: {error}") from error
    biggest = max(sets, key=lambda files: sum(map(file_size, files.paths.values())))
    return next(iter(biggest.paths.values()))


def _in_workspace(arguments: Arguments, name: str) -> Path:
    """Return the path of a property. A language model may name any file, so those outside of the workspace are refused,
    also behind links.
    """
    path = path_of(arguments.need(name, str))
    real = Path(os.path.realpath(path))
    if not any(real.is_relative_to(os.path.realpath(folder)) for folder in arguments.state.index.folders):
        raise InvalidParams(f"{path} is not in the workspace")
    return path
