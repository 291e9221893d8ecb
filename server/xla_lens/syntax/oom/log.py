"""The passages of a log that may contain out-of-memory messages.

Logs have hundreds of megabytes, so blocks without any of a few words are skipped as a whole. The lines of a passage are
cleaned: without colors, carriage returns, and whatever loggers, clusters and terminals print in front of a line.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of a log, or a part of a line that contained escaped line ends. Lines count from 1."""

    number: int
    text: str


Passage = tuple[LogLine, ...]

_NEEDLES: Final = (
    b"ut of memory",
    b"RESOURCE_EXHAUSTED",
    b"exceed memory",
    b"Attempting to ",
    b"was not possible",
    b"reduce memory use",
    b"Largest program alloc",
    b"OOM Debugging",
    b"exceeds available",
    b"Hbm usage",
    b"Scoped allocation",
    b"ailed to allocate",
    b"size limit exceeded",
)
"""Each message contains one of these in its first lines, however it is wrapped."""

_BODY: Final = re.compile(
    r"Size:|Operator:|[Ss]hape:|XLA [Ll]abel|Allocation type|Unpadded size|Extra memory|={8}|Tag:|Buffer \d|"
    r"allocation:|fragmentation|usage >=|requirement|stats:|[Pp]eak buffers|Output size|"
    r"^\s*(?:reserved|program|arguments|global|scoped|HLO temp)\s{2}"
)
"""The lines that may follow the sentence of a message."""

_IDLE_LINES: Final = 12
"""A passage ends after so many lines that belong to no message."""

_LONGEST_LINE: Final = 1 << 20
_LONGEST_PASSAGE: Final = 4 << 20
"""Longer lines and passages are cut, in bytes. The longest real message is 20 KB long."""

_ANSI: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\-_])")

_WORKER: Final = re.compile(r"\s*\([^()]{0,80}\bpid=\d+[^()]{0,80}\)")
"""What Ray and vLLM print in front of each line of a worker. The lines of several workers alternate."""

_PREFIX: Final = re.compile(
    r"""(?:\s*(?:
        \([^()]{0,80}\bpid=\d+[^()]{0,80}\)                                   # (EngineCore pid=106339)
      | \[?(?:\d{4}-)?\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?:?(?!\S)
      | \d\d:\d\d:\d\d+(?:[.,]\d+)?:?(?!\S)                                   # 07:35:00.272763
      | (?:stdout|stderr)\ [FP](?!\S)                                         # the container runtime of Kubernetes
      | (?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL)(?::[\w.]{0,60}:|:|(?!\S))
      | [IWEF](?:\d{4})?(?!\S)
      | \d{1,16}(?=\s+[\w./\\-]{1,200}:\d+\])                                 # the number of a thread
      | \[?[\w./\\-]{1,200}:\d+\]                                             # xla_util.cc:76]
      | >(?!\S)                                                               # quoted text
      | \|(?!\S)
    )[ ]?)+""",
    re.VERBOSE,
)


def passages(blocks: Iterable[bytes]) -> Iterator[Passage]:
    """Yield the passages of a log that is read in blocks; a passage has the lines of one process."""
    number, rest = 1, b""
    lines: list[tuple[int, bytes]] = []
    size = idle = 0
    for block in blocks:
        data = rest + block
        if not lines and not any(needle in data for needle in _NEEDLES):
            end = data.rfind(b"\n") + 1
            number += data.count(b"\n", 0, end)
            # A needle may be split between two blocks.
            rest = data[max(end, len(data) - 64) if len(data) - end > _LONGEST_LINE else end :]
            continue
        *whole, rest = data.split(b"\n")
        ended = len(whole)
        if len(rest) > _LONGEST_LINE:
            whole, rest = [*whole, rest], b""
        for place, line in enumerate(whole):
            is_needle = any(needle in line for needle in _NEEDLES)
            if lines or is_needle:
                lines.append((number, line))
                size += len(line)
                idle = 0 if is_needle or _BODY.search(line[:4096].decode("utf-8", "replace")) else idle + 1
            if idle >= _IDLE_LINES or size > _LONGEST_PASSAGE:
                yield from _by_process(lines)
                lines, size, idle = [], 0, 0
            number += place < ended
    if rest and (lines or any(needle in rest for needle in _NEEDLES)):
        lines.append((number, rest))
    yield from _by_process(lines)


def _by_process(lines: Iterable[tuple[int, bytes]]) -> Iterator[Passage]:
    found: dict[str, list[LogLine]] = {}
    for number, line in lines:
        text = _ANSI.sub("", line.decode("utf-8", "replace"))
        if "\\n" in text and any(needle in line for needle in _NEEDLES):
            # A structured log, or the `repr` of an exception.
            text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
        worker = _WORKER.match(text)
        own = found.setdefault(worker[0].strip() if worker else "", [])
        # Progress bars end with a carriage return.
        own += (LogLine(number, _cleaned(part)) for part in re.split(r"[\r\n]", text) if part)
    yield from (tuple(own) for own in found.values() if own)


def _cleaned(text: str) -> str:
    prefix = _PREFIX.match(text)
    return text[prefix.end() :].rstrip() if prefix else text.rstrip()
