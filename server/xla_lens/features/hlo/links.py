"""Links from an HLO module to source lines: from the tables of stack frames and the metadata of instructions."""

from collections.abc import Iterator
from itertools import islice

from xla_lens.model.hlo.module import HloModule
from xla_lens.model.hlo.source_mentions import SourceMention, source_mentions
from xla_lens.model.hlo.stack_frames import StackFrame, frame_at, is_file
from xla_lens.syntax.hlo.lexical import unquoted


def links(module: HloModule, limit: int) -> list[SourceMention]:
    """Return the links in the order of the text: at most `limit` of files, of locations and of instructions."""
    kinds = (_files(module), _locations(module), source_mentions(module.data, module))
    return sorted((link for links in kinds for link in islice(links, limit)), key=lambda link: link.start)


def _files(module: HloModule) -> Iterator[SourceMention]:
    table = module.columns.file_names
    for start, end in zip(table.start.tolist(), table.end.tolist(), strict=True):
        path = unquoted(module.data[start:end])
        if path and is_file(path):
            yield SourceMention(start + 1, end - 1, StackFrame(path, None))


def _locations(module: HloModule) -> Iterator[SourceMention]:
    table = module.columns.file_locations
    for start, end, number in zip(table.start.tolist(), table.end.tolist(), table.id.tolist(), strict=True):
        frame = frame_at(module.columns, module.data, number)
        if frame and frame.file and is_file(frame.file):
            yield SourceMention(start, end, frame)
