"""All that is known of a dump set: its tables, its memory over time, and what is wrong with it."""

from collections.abc import Iterable
from dataclasses import dataclass

from xla_lens.model.checks import check, is_exempt
from xla_lens.model.checks.findings import Finding
from xla_lens.model.memory.over_time import Memory, measure
from xla_lens.model.tables.dump_files import DumpFile
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.tables.joining import join


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """What features answer from. Immutable; `findings` are in the order of the files and of their text."""

    dump: DumpSet
    memory: Memory
    findings: tuple[Finding, ...]


def analyse(files: Iterable[DumpFile]) -> Analysis:
    """Analyses the files of one dump set. Never fails: what is missing or broken becomes a finding or a gap."""
    dump = join(files)
    dump.prepare()
    memory = measure(dump, lambda value: is_exempt(dump, value))
    return Analysis(dump, memory, tuple(check(dump, memory)))
