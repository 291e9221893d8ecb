"""The page about the out-of-memory messages in a log."""

import os
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from xla_lens.blocks.blocks import Outline
from xla_lens.disk.loading import load_module_or_finding, load_set
from xla_lens.disk.reading import DamagedFile, log_blocks, open_file
from xla_lens.disk.sets import NotADump, SetFiles, find_sets
from xla_lens.editor.pages import explanation_page
from xla_lens.lsp.documents import path_of, uri_of
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.pages import RenderedPage, explanation_uri, log_of_explanation
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.sources import dump_time
from xla_lens.lsp.state import State
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.entities import entity_place
from xla_lens.report.options import DEFAULT_TOP
from xla_lens.text.document import Document
from xla_lens.text.positions import decode, encode


class ExplainedLog(NamedTuple):
    """What a log says, and its dump on the device of the log with its files, None if none is known."""

    outline: Outline
    analysis: Analysis | None
    files: SetFiles | None


async def show_out_of_memory(arguments: Arguments) -> Any:
    """Show the page about a log. `text` replaces what is on disk, `dump` is a file of the dump that it may be about if
    no dump is beside the log.
    """
    state, uri = arguments.state, explanation_uri(path_of(arguments.uri))
    page = await _explain(arguments)
    state.client.refresh_page(uri)
    await state.client.show_document(uri)
    return {"uri": uri, "text": decode(page.document.data)}


async def restore_explanation(state: State, uri: str) -> None:
    """Make the page about a log again that an editor still shows from an earlier session, if its log is in the
    workspace.
    """
    log = log_of_explanation(uri)
    real = Path(os.path.realpath(log))
    if any(real.is_relative_to(os.path.realpath(folder)) for folder in state.index.folders):
        with suppress(InvalidParams):
            await _explain(Arguments(state, {"uri": uri_of(log)}))


async def _explain(arguments: Arguments) -> RenderedPage:
    """Make the page about a log, and keep it."""
    state, log = arguments.state, path_of(arguments.uri)
    outline, analysis, files = await explained_log(arguments, log)
    if analysis and files:
        from xla_lens.editor.answer_page import answer_outline

        code_of, has_map = state.sources.code_of(dump_time(analysis)), state.client.capabilities.has_command_uris
        of_dump = await in_thread(lambda: answer_outline(analysis, files.labels, code_of, has_map=has_map))
        page = explanation_page(outline, of_dump, partial(entity_place, analysis.dump))
    else:
        page = explanation_page(outline, None, lambda _: None)
    # The commands that the page offers are about this set.
    known = await state.set_for_command(next(iter(files.paths.values()))) if files else None
    rendered = RenderedPage((), Document(encode(page.text)), page.links, state.client.capabilities.encoding)
    state.pages.explanations[unquote(explanation_uri(log))] = rendered, known.key if known else None
    return rendered


async def explained_log(arguments: Arguments, log: Path) -> ExplainedLog:
    """Return what the arguments `text` and `dump` of a command say about a log. Raises `InvalidParams` if it has no
    message.
    """
    text, folders = arguments.get("text", str, "") or None, [log.parent]
    if arguments.given.get("dump"):
        with suppress(InvalidParams):
            dump_set, _ = await arguments.analysed("dump")
            folders.append(dump_set.path.parent)
    return await in_thread(lambda: _explained(log, text, folders))


def _explained(log: Path, text: str | None, folders: list[Path]) -> ExplainedLog:
    """Explain a log with the dumps of the first folder that has some. Runs in a worker thread. Raises `InvalidParams`
    if the log has no messages.
    """
    # The patterns of messages take 30 ms to make, for which the first answers would wait.
    from xla_lens.oom.candidates import Candidate
    from xla_lens.oom.explanation import nothing_found, oom_outline, oom_report
    from xla_lens.syntax.oom import read_oom_log

    try:
        with open_file(log, is_named=True) if text is None else BytesIO(text.encode()) as stream:
            found = read_oom_log(log_blocks(stream, log.name))
    except (OSError, ValueError, DamagedFile) as error:
        raise InvalidParams(f"{log.name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not found.messages:
        raise InvalidParams(nothing_found(log.name))
    sets = next(filter(None, map(_sets_in, folders)), [])
    candidates = {Candidate(dump_set.module, dump_set.labels, partial(_load, dump_set)): dump_set for dump_set in sets}
    path = str(log) if text is None and log.is_absolute() else None
    answer = oom_report(log.name, found, [*candidates], DEFAULT_TOP, path)
    choice = answer.choice
    if choice is None:
        return ExplainedLog(oom_outline(answer), None, None)
    files = candidates[choice.candidate]
    loaded = load_module_or_finding(files, {}, choice.analysis)
    return ExplainedLog(oom_outline(answer), answer.on_device(loaded.with_module(loaded.module)), files)


def _sets_in(folder: Path) -> list[SetFiles]:
    try:
        return find_sets(folder) if folder.is_absolute() else []
    except (NotADump, OSError):
        return []


def _load(files: SetFiles) -> Analysis:
    return load_set(files, {}, {})[1]
