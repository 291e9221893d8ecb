"""`xla-lens annotate`: a file of the program with the bytes at the peak beside its lines."""

import argparse
import os
from pathlib import Path

from xla_lens.cli.output import CannotRun, print_lines
from xla_lens.cli.report import selected
from xla_lens.cli.sets import LoadedSet, find_dumps, reading
from xla_lens.disk.reading import file_time, read_source
from xla_lens.editor.source_memory import (
    PeakByLine,
    SourceMemory,
    annotated_source,
    no_memory_text,
    peak_by_line,
    source_memory,
)
from xla_lens.text.paths import names_of


def run_annotate(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status. Of several modules, the one with the most bytes from the file."""
    path: Path = arguments.source
    with reading(path):
        text = read_source(path, is_named=True)
    absolute = Path(os.path.abspath(path)).as_posix()
    found: list[tuple[LoadedSet, SourceMemory, float | None]] = []
    peaks: list[PeakByLine] = []
    for loaded in selected(find_dumps(arguments.paths), arguments.module).load():
        peak = peak_by_line(loaded.read_module())
        if peak:
            peaks.append(peak)
            names = names_of(absolute, peak.files, arguments.path_mapping)
            dump_time = min(map(file_time, loaded.files.paths.values()))
            newer_than = dump_time if file_time(path) > dump_time > 0 else None
            memory = source_memory(peak, names, text if newer_than is None else None)
            found += [(loaded, memory, newer_than)] if memory.lines else []
    if not found:
        files = sorted({file for peak in peaks for file in peak.files})
        raise CannotRun(no_memory_text(str(path), files, len(peaks)))
    loaded, memory, newer_than = max(found, key=lambda annotated: annotated[1].size_bytes)
    print_lines(annotated_source(memory, path.name, text.expandtabs(), newer_than))
    return int(not loaded.analysis.is_sound)
