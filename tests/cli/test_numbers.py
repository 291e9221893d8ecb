"""Every number that a command prints as text is in its JSON.

These do not count: digits in names, shares and factors, which are quotients of two sizes in the JSON, and rows that sum
up what the text leaves out. A comparison shows changes, which are differences of an old and a new number.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands import run
from samples import DUMPS, FIELD, SEED, SHARED_DUMPS, SPLIT, TPU_LOG, needs_shared_dumps, on_each_dump
from xla_lens.report.options import Part
from xla_lens.words.numbers import as_given, human, parse_size

OLD, NEW = (DUMPS / release / "donation" for release in ("cpu-jaxlib0.4.20", "cpu-jaxlib0.6.2"))

_UNITS = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "GB"}

_SUMMED_UP = re.compile(r"\(smaller\)|other shapes|\d more |\d others$|… and")
"""Rows for what the text leaves out."""

_SIZE = re.compile(r"([\d.]+)((?:[KMGTPE]i)?B)\b")
"""A size in the words of a memory usage report."""

_SIZE_OF_MESSAGE = re.compile(r"\b([\d.]+)([KMGTPE])\b")
"""A size as an out-of-memory message prints it, whose digits are kept."""

_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def _shown(text: str) -> Iterator[tuple[str, str]]:
    """Yield the numbers that stand alone in a text, with their units, and their lines."""
    for line in text.splitlines():
        if _SUMMED_UP.search(line):
            continue
        words = [word.strip("(),;:.+−≥≤") for word in line.split()]
        for before, word, following in zip(["", *words], words, [*words[1:], ""], strict=False):
            for number in word.split("–") if word.count("–") == 1 else [word]:
                if _NUMBER.fullmatch(number) and following != "%" and before != "×":
                    yield f"{number} {following}" if following in _UNITS else number.replace(",", ""), line


def _numbers(data: Any) -> Iterator[float]:
    """Yield the numbers in the output of a command, also in texts, the lengths of lists, and changes."""
    if isinstance(data, str):
        yield from (float(number.replace(",", "")) for number in _NUMBER.findall(data))
    elif isinstance(data, int | float):
        yield data
    elif isinstance(data, list):
        yield len(data)
        for one in data:
            yield from _numbers(one)
    elif isinstance(data, dict):
        for name, one in data.items():
            yield from _numbers(one)
            new = data.get(name.replace("old", "new")) if "old" in name else None
            if isinstance(one, int) and isinstance(new, int):
                yield new - one


def _missing(*arguments: object, budget: str = "") -> list[tuple[str, str]]:
    """The numbers that a command prints as text but not as JSON."""
    if budget:
        arguments = (*arguments, "--budget", budget)
    (_, text, _), (_, printed, _) = run(*arguments), run(*arguments, "--output-format", "json")
    numbers = {*_numbers(json.loads(printed))}
    found = {int(number) for number in numbers if number == int(number)}
    known = {f"{number:g}" for number in numbers if number != int(number)}
    known |= {text for number in found for text in (str(abs(number)), human(abs(number)))}
    known.update(f"{number} {unit}" for number, unit in _SIZE.findall(printed))
    known.update(f"{number} {unit}iB" for number, unit in _SIZE_OF_MESSAGE.findall(printed))
    if (size := parse_size(budget)) in found and size is not None:
        known.add(as_given(size))
    return [row for row in _shown(text) if row[0] not in known]


@on_each_dump
def test_numbers_of_reports_and_advice_are_in_the_json(path: Path) -> None:
    # The rows of a curve are intervals that fit the page.
    parts = ",".join(part for part in Part if part is not Part.CURVE)
    assert _missing("report", path, "--part", parts, budget="1MiB") == []
    assert _missing("advise", path, budget="10MiB") == []


@needs_shared_dumps
def test_the_saving_of_a_policy_is_in_the_json() -> None:
    (path,) = SHARED_DUMPS.glob("gpu-h100-jaxlib0.10.2/transformer_train/*-buffer-assignment.txt")
    assert "policy=" in run("advise", path)[1]
    assert _missing("advise", path, budget="10MiB") == []


@pytest.mark.parametrize("path", sorted(filter(Path.is_dir, FIELD.iterdir())), ids=lambda path: path.name)
def test_numbers_of_unusual_dumps_are_in_the_json(path: Path) -> None:
    assert _missing("report", path, "--all") == []


@pytest.mark.parametrize("paths", [(OLD, NEW), (SPLIT, SEED), (OLD, NEW, OLD)], ids=["folders", "dumps", "runs"])
def test_numbers_of_comparisons_are_in_the_json(paths: tuple[Path, ...]) -> None:
    assert _missing("diff", *paths) == []


@pytest.mark.parametrize(
    "log",
    [TPU_LOG, *sorted((DUMPS.parent / "logs").glob("*.txt")), *sorted(FIELD.glob("*.txt"))],
    ids=lambda log: log.name,
)
def test_numbers_of_messages_are_in_the_json(log: Path) -> None:
    assert _missing("oom", log, DUMPS) == []
