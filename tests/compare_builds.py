"""Compare what two builds of XLA Lens find and answer: `python tests/compare_builds.py OLD NEW FOLDER...`

OLD and NEW are executables `xla-lens`, or checkouts with one in `.venv/bin`. The folders have dumps. Both builds get

- edited copies of each dump set (`column_edits.py`): which edits does one build find that the other does not?
- the sets as they are: `check`, `unknown`, `report` and `advise`: which answers differ?
- the dumps of one program by two compilers: how many of the bytes at the peaks does `diff` match?

Run this after a change that should keep all answers. It uses the command line only, so the builds may differ in
anything else. The whole collection takes an hour; `--edits 0`, `--no-answers` and `--pairs 0` leave out parts.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

from column_edits import ColumnEdit, column_edits

_SUFFIXES: Final = {
    "values": "-buffer-assignment-values.txt",
    "assignment": "-buffer-assignment.txt",
    "live ranges": "-live-range.txt",
    "usage report": "-memory-usage-report.txt",
    "module": ".txt",
}
_BATCH: Final = 100
"""Edited sets for each run of `check`."""

_EXAMPLES: Final = 3


class DumpSet(NamedTuple):
    """The files of a set by what they contain."""

    name: str
    paths: Mapping[str, Path]


def find_dump_sets(folders: Iterable[Path]) -> list[DumpSet]:
    """All sets below the folders, by the names of their files."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*-buffer-assignment.txt")):
            stem = path.name.removesuffix("-buffer-assignment.txt")
            siblings = {kind: path.with_name(stem + suffix) for kind, suffix in _SUFFIXES.items()}
            paths = {kind: sibling for kind, sibling in siblings.items() if sibling.is_file()}
            found.append(DumpSet(f"{path.parent.relative_to(folder)}/{stem}", paths))
    return found


def run(build: Path, *arguments: str | Path) -> str:
    """The output of a command; what it prints on standard error, if there is no output."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("XLA_LENS")}
    command = [build, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**kept, "NO_COLOR": "1"})
    return done.stdout or f"exit status {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"


def data_of(output: str) -> Any:
    """The JSON that a command printed, else its output."""
    try:
        return json.loads(output)
    except ValueError:
        return output


# ---------------------------------------------------------------- edits

_NOT_FOUND, _HINT, _ELSEWHERE, _AT_LINE = range(4)
_WORDS: Final = ("nothing", "a hint", "elsewhere", "at its line")
"""What a build finds of an edit: a hint or information, or an error or warning."""


def _findings(build: Path, folder: Path) -> dict[str, list[dict[str, Any]]] | None:
    """The findings by the subfolder of the edited set; None if the command failed."""
    data = data_of(run(build, "check", "--output-format", "json", folder))
    if not isinstance(data, list):
        return None
    found = defaultdict(list)
    for one in data:
        path = Path(one["filename"])
        found[path.parent.name].append({**one, "file": path.name})
    return found


def _rank(edit: ColumnEdit, name: str, known: Counter[tuple[str, str]], findings: list[dict[str, Any]]) -> int:
    """The findings that an edit adds."""
    rank, known = _NOT_FOUND, known.copy()
    for one in findings:
        identity = one["severity"], one["code"]
        if known[identity]:
            known[identity] -= 1
            continue
        places = [one, *one["related"]]
        rows = [place["location"]["row"] - 1 for place in places if Path(place["filename"]).name == name]
        is_alarm = one["severity"] in ("error", "warning")
        is_near = any(abs(row - edit.row) <= 1 for row in rows)
        rank = max(rank, (_AT_LINE if is_near else _ELSEWHERE) if is_alarm else _HINT)
    return rank


def compare_edits(builds: tuple[Path, Path], sets: list[DumpSet], count: int, seed: int, largest: int) -> list[str]:
    """The edits of which the builds find something else, by column."""
    totals: Counter[tuple[int, int]] = Counter()
    differ: defaultdict[tuple[str, int, int], list[str]] = defaultdict(list)
    failed: list[str] = []
    for dump_set in sets:
        files = {kind: path.read_bytes() for kind, path in dump_set.paths.items()}
        if sum(map(len, files.values())) > largest:
            continue
        edits = column_edits(files, random.Random(f"{seed} {dump_set.name}"), count)
        for start in range(0, len(edits), _BATCH):
            batch = edits[start : start + _BATCH]
            with tempfile.TemporaryDirectory() as folder:
                _write(Path(folder), dump_set, batch)
                with ThreadPoolExecutor() as pool:
                    old, new = pool.map(_findings, builds, (Path(folder),) * 2)
            if old is None or new is None:
                failed.append(f"{dump_set.name}, edits {start}-{start + len(batch)}: {old is None=} {new is None=}")
                continue
            for number, edit in enumerate(batch):
                name = dump_set.paths[edit.file].name
                ranks = [_rank(edit, name, _identities(found["unchanged"]), found[f"{number}"]) for found in (old, new)]
                totals[ranks[0], ranks[1]] += 1
                if ranks[0] != ranks[1]:
                    differ[f"{edit.column}: {edit.edit}", ranks[0], ranks[1]].append(_described(dump_set, edit))
    lines = [f"{totals.total():,} edits of {len(sets):,} sets", *failed]
    lines += [f"{count:6,} × {_WORDS[one]} → {_WORDS[other]}" for (one, other), count in sorted(totals.items())]
    for (column, one, other), examples in sorted(differ.items(), key=lambda item: (item[0][2] - item[0][1], item[0])):
        lines += [f"{len(examples)} × {_WORDS[one]} → {_WORDS[other]}: {column}"]
        lines += [f"    {example}" for example in examples[:_EXAMPLES]]
    return lines


def _identities(findings: list[dict[str, Any]]) -> Counter[tuple[str, str]]:
    return Counter((one["severity"], one["code"]) for one in findings)


def _described(dump_set: DumpSet, edit: ColumnEdit) -> str:
    place = f"{dump_set.name}{_SUFFIXES[edit.file]}:{edit.row + 1}"
    return f"{place} {edit.before.decode(errors='replace')[:90]!r} → {edit.after.decode(errors='replace')[:90]!r}"


def _write(folder: Path, dump_set: DumpSet, edits: list[ColumnEdit]) -> None:
    """Write the set, and one copy for each edit. The copies share the files that are not edited."""
    unchanged = folder / "unchanged"
    unchanged.mkdir()
    for path in dump_set.paths.values():
        shutil.copyfile(path, unchanged / path.name)
    for number, edit in enumerate(edits):
        copy = folder / f"{number}"
        copy.mkdir()
        for kind, path in dump_set.paths.items():
            if kind == edit.file:
                (copy / path.name).write_bytes(edit.data)
            else:
                (copy / path.name).hardlink_to(unchanged / path.name)


# ---------------------------------------------------------------- answers

_COMMANDS: Final = {
    "check": ("check", "--output-format", "json"),
    "unknown": ("unknown", "--output-format", "json"),
    "report": ("report", "--output-format", "json"),
    "text": ("report", "--color", "never"),
    "advise": ("advise", "--output-format", "json"),
}


def _leaves(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """All texts and numbers, with the keys that lead to them."""
    if isinstance(data, dict):
        for key, one in data.items():
            yield from _leaves(one, f"{path}.{key}")
    elif isinstance(data, list):
        for one in data:
            yield from _leaves(one, path)
    elif isinstance(data, str) and "\n" in data:
        yield from ((path, line) for line in data.splitlines())
    else:
        yield path, str(data)


def compare_answers(builds: tuple[Path, Path], sets: list[DumpSet]) -> list[str]:
    """The answers that differ, by command and key."""
    differ: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for dump_set in sets:
        path = next(iter(dump_set.paths.values()))
        for command, arguments in _COMMANDS.items():
            with ThreadPoolExecutor() as pool:
                outputs = pool.map(run, builds, *([argument] * 2 for argument in (*arguments, path)))
                old, new = (Counter(_leaves(data_of(output))) for output in outputs)
            for sign, only in (("-", old - new), ("+", new - old)):
                for key, text in only:
                    differ[command, key].append(f"{sign} {dump_set.name}: {text[:150]}")
    lines = [f"answers about {len(sets):,} sets: {len(differ):,} keys with differences"]
    for (command, key), examples in sorted(differ.items()):
        lines += [f"{command} {key}: {len(examples)}", *(f"    {example}" for example in examples[: 2 * _EXAMPLES])]
    return lines


# ---------------------------------------------------------------- pairs


def compare_pairs(builds: tuple[Path, Path], sets: list[DumpSet], most: int, seed: int) -> list[str]:
    """The pairs of dumps of one program of which one build matches more bytes than the other."""
    programs: defaultdict[str, list[DumpSet]] = defaultdict(list)
    for dump_set in sets:
        release, *rest = Path(dump_set.name).parts
        module = rest[-1].split(".")[1:2] if rest else []
        programs[" ".join((release[:3], *rest[:-1], *module))].append(dump_set)
    pairs = [pair for same in programs.values() for pair in combinations(same, 2)]
    pairs = random.Random(seed).sample(pairs, min(most, len(pairs)))
    rows: list[tuple[float, float, str, str]] = []
    for old, new in pairs:
        paths = [next(iter(one.paths.values())) for one in (old, new)]
        with ThreadPoolExecutor() as pool:
            before, after = pool.map(_matched, builds, *([path] * 2 for path in paths))
        if before != after:
            rows.append((before, after, old.name, new.name))
    rows.sort(key=lambda row: row[1] - row[0])
    lines = [f"{len(pairs):,} pairs, of which {len(rows):,} match other bytes: share before → after"]
    return [*lines, *(f"{one} → {other}: {old} with {new}" for one, other, old, new in rows)]


def _matched(build: Path, old: Path, new: Path) -> float:
    """The matched share of the bytes at the peaks, 0 if the dumps cannot be compared."""
    data = data_of(run(build, "diff", "--output-format", "json", old, new))
    first = data[0] if isinstance(data, list) and data else data
    values = first.get("values") if isinstance(first, dict) else None
    return round(values["matched_peak_bytes_fraction"], 3) if values else 0


def main() -> None:
    """Run the chosen comparisons, and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--edits", type=int, default=60, help="edits of each set (default: 60)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1 << 20, help="bytes of the largest set that is edited")
    parser.add_argument("--pairs", type=int, default=400, help="maximum number of pairs (default: 400)")
    parser.add_argument("--no-answers", action="store_true")
    options = parser.parse_args()
    builds = tuple(one / ".venv/bin/xla-lens" if one.is_dir() else one for one in (options.old, options.new))
    sets = find_dump_sets(options.folders)
    if options.edits:
        print(*compare_edits(builds, sets, options.edits, options.seed, options.largest), sep="\n", flush=True)
    if not options.no_answers:
        print(*compare_answers(builds, sets), sep="\n", flush=True)
    if options.pairs:
        print(*compare_pairs(builds, sets, options.pairs, options.seed), sep="\n", flush=True)


if __name__ == "__main__":
    main()
