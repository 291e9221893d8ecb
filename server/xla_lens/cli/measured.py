"""What the processes of `xla-lens run` measured of their memory when they ended, beside what a module needs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from xla_lens.words.numbers import enumerated, human


@dataclass(slots=True)
class ProcessMemory:
    """The memory of one process. `resident_bytes` is the most that it had of the host at once, None if unknown.
    `devices` are the statistics of the runtime by the name of the device, and `arrays` the counts and bytes of the
    arrays that were alive at the end, by type and shape, most bytes first.
    """

    resident_bytes: int | None = None
    devices: dict[str, dict[str, int]] = field(default_factory=dict)
    arrays: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def most_bytes(self) -> int:
        """The most memory of a device, or else of the host."""
        return max((stats.get(_PEAK, 0) for stats in self.devices.values()), default=self.resident_bytes or 0)


_PEAK = "peak_bytes_in_use"


def read_measured(text: str) -> dict[int, ProcessMemory]:
    """Read the notes of processes. Lines of another form are left out: the program can write to the file, too."""
    found: dict[int, ProcessMemory] = {}
    for line in filter(_LINE.fullmatch, text.split("\n")):
        process, *words = line.split("\t")
        memory = found.setdefault(int(process), ProcessMemory())
        match words:
            case ["resident", size]:
                memory.resident_bytes = int(size)
            case ["device", name, statistic, size]:
                memory.devices.setdefault(name, {})[statistic] = int(size)
            case ["arrays", shape, count, size]:
                memory.arrays[shape] = int(count), int(size)
    return found


_LINE: Final = re.compile(
    r"\d{1,18}\t(?:resident|device\t[ -~]{1,200}\t\w{1,100}|arrays\t[ -~]{1,200}\t\d{1,18})\t\d{1,18}", re.ASCII
)


def measured_beside_planned(
    memory: ProcessMemory, module: str, needed_bytes: int, unseen: Sequence[str], *, is_host: bool
) -> Iterator[str]:
    """Yield what a process used at most beside what a module needs of the memory of the host, or of a device, and what
    the difference can be. `unseen` are instructions that take memory which no dump shows.
    """
    device, stats = max(memory.devices.items(), key=lambda item: item[1].get(_PEAK, 0), default=("", {}))
    used_bytes = (memory.resident_bytes or 0) if is_host else stats.get(_PEAK, 0)
    if not used_bytes:
        return
    limit = f" of {human(stats['bytes_limit'])}" if not is_host and "bytes_limit" in stats else ""
    where = "of the host" if is_host else f"on {device}"
    used = f"the process used {human(used_bytes)}{limit} {where} at most"
    words = f"measured: {used}; {module} needs {human(needed_bytes)}"
    if used_bytes < needed_bytes:
        yield f"{words}, which is more: it did not run, or did not use all of that"
        return
    parts = ["Python and its libraries"] if is_host else []
    parts += ["other modules", _arrays(memory), *(f"memory that no dump shows ({name})" for name in unseen[:1])]
    yield f"{words}. The rest can be {enumerated(parts)}"


def _arrays(memory: ProcessMemory) -> str:
    """The arrays that the program keeps, with those that were alive at the end."""
    if not memory.arrays:
        return "arrays that the program keeps"
    total_bytes = sum(size_bytes for _, size_bytes in memory.arrays.values())
    shape, (count, size_bytes) = max(memory.arrays.items(), key=lambda item: item[1][1])
    part = f", {human(size_bytes)} of it" if len(memory.arrays) > 1 else ""
    return f"arrays that the program keeps ({human(total_bytes)} at the end{part} in {count:,} × {shape})"
