"""The command that explains the out-of-memory messages of a log, on a page of its own."""

from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from xla_lens.features.report.facts import report
from xla_lens.features.report.options import Part, report_options
from xla_lens.files import NotADump, SetFiles, find_sets, load_module_or_finding, load_set
from xla_lens.lsp.errors import InvalidParams
from xla_lens.lsp.pages import explanation_uri
from xla_lens.lsp.requests.arguments import Arguments
from xla_lens.lsp.tasks import in_thread
from xla_lens.lsp.uris import path_of
from xla_lens.model.analysis import Analysis
from xla_lens.model.oom import Candidate
from xla_lens.reading import DamagedFile, log_blocks, open_file
from xla_lens.render.oom import nothing_found, oom_outline, oom_report
from xla_lens.render.report.markdown import markdown_text
from xla_lens.render.report.outline import report_outline
from xla_lens.syntax.oom import OomLog, read_oom_log

_OPTIONS: Final = report_options(frozenset({Part.ADVICE}), top=None, at_step=None, budget_bytes=None, is_json=False)


async def show_out_of_memory(arguments: Arguments) -> Any:
    """Show the page about a log. `text` replaces what is on disk, `dump` is a file of the dump that it may be about if
    no dump is beside the log.
    """
    state, log = arguments.state, path_of(arguments.uri)
    text = arguments.get("text", str, "") or None
    folders = [log.parent]
    if arguments.given.get("dump"):
        with suppress(InvalidParams):
            dump_set, _ = await arguments.analysed("dump")
            folders.append(dump_set.path.parent)
    page = await in_thread(_page, log, text, folders)
    uri = explanation_uri(log)
    state.pages.explanations[unquote(uri)] = page
    state.client.refresh_page(uri)
    await state.client.show_document(uri)
    return {"uri": uri, "text": page}


def _page(log: Path, text: str | None, folders: list[Path]) -> str:
    """Return the page as Markdown. Runs in a worker thread."""
    found = _messages(log, text)
    sets = next(filter(None, map(_sets_in, folders)), [])
    candidates = {Candidate(one.module, one.labels, partial(_load, one)): one for one in sets}
    answer = oom_report(log.name, found, [*candidates], _OPTIONS.top)
    lines = [*markdown_text(oom_outline(answer))]
    if choice := answer.choice:
        files, capacity = candidates[choice.candidate], answer.main.hbm_capacity
        analysis = load_module_or_finding(files, {}, choice.analysis)
        options = replace(_OPTIONS, budget_bytes=capacity.size_bytes if capacity else None)
        made = report(analysis.with_module(analysis.module), files.labels, options)
        lines += ["", *markdown_text(report_outline(made))]
    return "\n".join(lines) + "\n"


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
