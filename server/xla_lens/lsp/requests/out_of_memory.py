"""The page about the out-of-memory messages in a log."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from xla_lens.blocks.blocks import Outline
from xla_lens.disk.loading import load_module_or_finding, load_set
from xla_lens.disk.reading import DamagedFile, log_blocks, open_file
from xla_lens.disk.sets import NotADump, SetFiles, find_sets
from xla_lens.editor.pages import explanation_page
from xla_lens.lsp.documents import path_of
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.pages import RenderedPage, explanation_uri
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.tasks import in_thread
from xla_lens.model.analysis import Analysis
from xla_lens.model.places.entities import entity_place
from xla_lens.oom.candidates import Candidate
from xla_lens.oom.explanation import nothing_found, oom_outline, oom_report
from xla_lens.report.facts import Report
from xla_lens.report.facts import report as report_of
from xla_lens.report.options import Part, report_options
from xla_lens.report.outline import report_outline
from xla_lens.syntax.oom import OomLog, read_oom_log
from xla_lens.text.document import Document
from xla_lens.text.positions import encode

_OPTIONS: Final = report_options({Part.ADVICE})


class ExplainedLog(NamedTuple):
    """What a log says, and the report and the files of its dump, None if none is known."""

    outline: Outline
    report: Report | None
    files: SetFiles | None


async def show_out_of_memory(arguments: Arguments) -> Any:
    """Show the page about a log. `text` replaces what is on disk, `dump` is a file of the dump that it may be about if
    no dump is beside the log.
    """
    state, log = arguments.state, path_of(arguments.uri)
    explained = await explained_log(arguments, log, has_map=state.client.capabilities.has_command_uris)
    made, files = explained.report, explained.files
    if made and files:
        page = explanation_page(explained.outline, report_outline(made), partial(entity_place, made.dump))
    else:
        page = explanation_page(explained.outline, None, lambda _: None)
    # The commands that the page offers are about this set.
    known = await state.set_for_command(next(iter(files.paths.values()))) if files else None
    document, encoding = Document(encode(page.text)), state.client.capabilities.encoding
    uri = explanation_uri(log)
    rendered = RenderedPage((), document, page.links, encoding)
    state.pages.explanations[unquote(uri)] = rendered, known.key if known else None
    state.client.refresh_page(uri)
    await state.client.show_document(uri)
    return {"uri": uri, "text": page.text}


async def explained_log(arguments: Arguments, log: Path, *, has_map: bool = False) -> ExplainedLog:
    """Return what the arguments `text` and `dump` of a command say about a log. Raises `InvalidParams` if it has no
    message.
    """
    text, folders = arguments.get("text", str, "") or None, [log.parent]
    if arguments.given.get("dump"):
        with suppress(InvalidParams):
            dump_set, _ = await arguments.analysed("dump")
            folders.append(dump_set.path.parent)
    return await in_thread(lambda: _explained(log, text, folders, has_map=has_map))


def _explained(log: Path, text: str | None, folders: list[Path], *, has_map: bool) -> ExplainedLog:
    """Explain a log with the dumps of the first folder that has some. Runs in a worker thread."""
    found = _messages(log, text)
    sets = next(filter(None, map(_sets_in, folders)), [])
    candidates = {Candidate(dump_set.module, dump_set.labels, partial(_load, dump_set)): dump_set for dump_set in sets}
    answer = oom_report(log.name, found, [*candidates], _OPTIONS.top)
    choice = answer.choice
    if choice is None:
        return ExplainedLog(oom_outline(answer), None, None)
    files = candidates[choice.candidate]
    loaded = load_module_or_finding(files, {}, choice.analysis)
    analysis = answer.on_device(loaded.with_module(loaded.module))
    made = report_of(analysis, files.labels, replace(_OPTIONS, has_map=has_map))
    return ExplainedLog(oom_outline(answer), made, files)


def _messages(log: Path, text: str | None) -> OomLog:
    """Read the messages. Raises `InvalidParams` if there are none."""
    try:
        with open_file(log, is_named=True) if text is None else BytesIO(text.encode()) as stream:
            found = read_oom_log(log_blocks(stream, log.name))
    except (OSError, ValueError, DamagedFile) as error:
        raise InvalidParams(f"{log.name}: cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not found.messages:
        raise InvalidParams(nothing_found(log.name))
    return found


def _sets_in(folder: Path) -> list[SetFiles]:
    try:
        return find_sets(folder) if folder.is_absolute() else []
    except (NotADump, OSError):
        return []


def _load(files: SetFiles) -> Analysis:
    return load_set(files, {}, {})[1]
