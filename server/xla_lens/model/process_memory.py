"""What a process measured of its memory, as `xla-lens run` and `xla_lens.capture` do."""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct, field

from xla_lens.text.patterns import lazy_pattern


class DeviceMemory(Struct, frozen=True):
    """What the runtime says about a device, None where it does not: the most bytes that were in use at once, those that
    it lets programs use, and the largest free block.
    """

    name: str
    peak_bytes: int | None
    limit_bytes: int | None
    largest_free_bytes: int | None


class LiveArrays(Struct, frozen=True):
    """The arrays of a type and shape that the runtime has, such as ``float32[2,3]``."""

    shape: str
    count: int
    size_bytes: int


class LoadedPrograms(Struct, frozen=True):
    """The compiled programs that the runtime keeps loaded. Their temporaries are allocated while a program runs, so
    `temporary_bytes` of all together are only taken if all run at the same time. Their code is taken all the time.
    """

    count: int
    temporary_bytes: int
    largest_temporary_bytes: int
    code_bytes: int


class ProcessMemory(Struct, frozen=True):
    """The memory of one process. `resident_bytes` is the most that it had of the host at once, None if unknown.
    `arrays` are those that are alive, most bytes first, and `programs` those that are loaded, None if unknown: when the
    process ended, or now if it `is_running`.
    """

    resident_bytes: int | None = None
    devices: tuple[DeviceMemory, ...] = ()
    arrays: tuple[LiveArrays, ...] = ()
    programs: LoadedPrograms | None = None
    is_running: bool = False

    @property
    def fullest(self) -> DeviceMemory | None:
        """The device with the most memory in use at once, None if no device says so."""
        known = [device for device in self.devices if device.peak_bytes is not None]
        return max(known, key=lambda device: device.peak_bytes or 0, default=None)

    @property
    def most_bytes(self) -> int:
        """The most memory of a device, or else of the host."""
        return (self.fullest and self.fullest.peak_bytes) or self.resident_bytes or 0


class _Notes(Struct):
    """What the lines of a process say."""

    resident_bytes: int | None = None
    devices: dict[str, dict[str, int]] = field(default_factory=dict)
    arrays: dict[str, LiveArrays] = field(default_factory=dict)
    programs: LoadedPrograms | None = None

    def add(self, words: list[str]) -> None:
        match words:
            case ["resident", size]:
                self.resident_bytes = int(size)
            case ["device", name, statistic, size]:
                self.devices.setdefault(name, {})[statistic] = int(size)
            case ["arrays", shape, count, size]:
                self.arrays[shape] = LiveArrays(shape, int(count), int(size))
            case ["programs", count, temporary, largest, code]:
                self.programs = LoadedPrograms(int(count), int(temporary), int(largest), int(code))

    def memory(self, *, is_running: bool) -> ProcessMemory:
        devices = (
            DeviceMemory(
                name, stats.get("peak_bytes_in_use"), stats.get("bytes_limit"), stats.get("largest_free_block_bytes")
            )
            for name, stats in self.devices.items()
        )
        arrays = sorted(self.arrays.values(), key=lambda arrays: -arrays.size_bytes)
        return ProcessMemory(self.resident_bytes, tuple(devices), tuple(arrays), self.programs, is_running)


def measured_words(measured: Iterable[Iterable[object]]) -> ProcessMemory:
    """Return what this process has just measured, each number with the words of a line of `read_measured`."""
    notes = _Notes()
    for words in measured:
        notes.add([str(word) for word in words])
    return notes.memory(is_running=True)


def read_measured(text: str) -> dict[int, ProcessMemory]:
    """Read the notes of processes by their numbers, in the form of `cli.inside.sitecustomize`. Lines of another form
    are left out: the program can write to the file, too.
    """
    found: dict[int, _Notes] = {}
    for line in filter(_LINE.fullmatch, text.split("\n")):
        process, *words = line.split("\t")
        found.setdefault(int(process), _Notes()).add(words)
    return {process: notes.memory(is_running=False) for process, notes in found.items()}


_LINE: Final = lazy_pattern(
    r"\d{1,18}\t(?:resident|device\t[ -~]{1,200}\t\w{1,100}|arrays\t[ -~]{1,200}\t\d{1,18}|programs(?:\t\d{1,18}){3})"
    r"\t\d{1,18}",
    re.ASCII,
)
