"""`xla-lens diff`: what changed between two dumps, or between the dumps of two folders."""

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from xla_lens.cli.errors import CannotRun
from xla_lens.cli.output import print_error, print_json
from xla_lens.cli.sets import STANDARD_INPUT, DumpSets, LoadedSet, find_dumps
from xla_lens.cli.terminal import find_terminal, print_outline
from xla_lens.features.diff.facts import Diff, DiffSide, diff
from xla_lens.features.diff.gates import IncreaseLimit, violations
from xla_lens.features.diff.options import DEFAULT_DIFF_TOP, DiffOptions, DiffPart
from xla_lens.features.diff.pairing import Fingerprint, fingerprint, paired
from xla_lens.files import SetFiles
from xla_lens.model.diff.comparison import Pair
from xla_lens.render.diff import FolderDiff, diff_outline, folder_outline, is_exact
from xla_lens.render.diff.data import diff_data, unpaired_data
from xla_lens.render.diff.gates import violation_text
from xla_lens.render.memory_spaces import parse_spaces
from xla_lens.syntax.file_names import FileKind, module_name


def run_diff(arguments: argparse.Namespace) -> int:
    """Run the command and return the exit status."""
    is_json = arguments.output_format == "json"
    top = DEFAULT_DIFF_TOP if arguments.top is None and not is_json else arguments.top
    options = DiffOptions(top, arguments.part or frozenset(DiffPart))
    if arguments.old == arguments.new == STANDARD_INPUT:
        raise CannotRun("-: standard input can be one of the two dumps, not both")
    old, new = find_dumps([arguments.old]), find_dumps([arguments.new])
    pairs, only_old, only_new = _paired(old, new)
    limits = tuple(_limits(arguments))
    violated: list[str] = []
    diffs = _checked((_diff(old, new, pair, options) for pair in pairs), limits, violated)
    if is_json:
        data = [diff_data(one) for one in diffs]
        data += [unpaired_data(_module(files), _labels(files), is_old=True) for files in only_old]
        data += [unpaired_data(_module(files), _labels(files), is_old=False) for files in only_new]
        print_json(data)
    elif len(pairs) == 1 and not only_old and not only_new:
        for one in diffs:
            _print(one, arguments)
    else:
        old_names, new_names = ([_name(files) for files in side] for side in (only_old, only_new))
        _print_folders(diffs, old_names, new_names, top, arguments)
    for line in violated:
        print_error(line)
    return int(bool(violated))


def _limits(arguments: argparse.Namespace) -> Iterator[IncreaseLimit]:
    """The limits of the command line. Raises `CannotRun` for an unknown memory space."""
    given = ((arguments.max_peak_increase, False), (arguments.max_reserved_increase, True))
    for increase, is_reserved in ((one, is_reserved) for increases, is_reserved in given for one in increases):
        spaces = parse_spaces(increase.space) if increase.space else frozenset()
        if increase.space and not spaces:
            raise CannotRun(
                f"{increase.text}: unknown memory space {increase.space!r}; expected hbm, vmem, smem, host or a number"
            )
        yield IncreaseLimit(increase, is_reserved, spaces)


def _checked(diffs: Iterable[Diff], limits: Sequence[IncreaseLimit], violated: list[str]) -> Iterator[Diff]:
    """Pass comparisons on, and collect a line for each limit that they violate."""
    for one in diffs:
        violated += (f"xla-lens: {violation_text(one, violation)}" for violation in violations(one, limits))
        yield one


def _print_folders(
    diffs: Iterator[Diff], only_old: list[str], only_new: list[str], top: int | None, arguments: argparse.Namespace
) -> None:
    """Print the table of all modules, then the comparison of the one whose peak changed most."""
    rows: list[tuple[str, Pair | None]] = []
    most: Diff | None = None
    most_bytes = -1
    for one in diffs:
        space = one.default_space
        pair = space.peak_live_bytes if space and is_exact(one, space) else None
        rows.append((_label(one), pair))
        if pair and abs(pair.change) > most_bytes:
            most, most_bytes = one, abs(pair.change)
    folders = FolderDiff(tuple(rows), tuple(only_old), tuple(only_new), top)
    print_outline(folder_outline(folders), None, arguments.output_format, find_terminal(arguments.color))
    if most and most_bytes:
        print()
        _print(most, arguments)


def _print(one: Diff, arguments: argparse.Namespace) -> None:
    # Values have no links: their ids differ between the two dumps.
    print_outline(diff_outline(one), None, arguments.output_format, find_terminal(arguments.color))


def _diff(old: DumpSets, new: DumpSets, pair: tuple[SetFiles, SetFiles], options: DiffOptions) -> Diff:
    first, second = (_side(replace(sets, files=(files,))) for sets, files in zip((old, new), pair, strict=True))
    return diff(first, second, options)


def _side(sets: DumpSets) -> DiffSide:
    (loaded,) = sets.load()
    return DiffSide(loaded.analysis, loaded.module(), _labels(loaded.files))


def _labels(files: SetFiles) -> dict[FileKind, str]:
    return {kind: path.as_posix() for kind, path in files.paths.items()}


def _module(files: SetFiles) -> str | None:
    return next((name for path in files.paths.values() if (name := module_name(path.name))), None)


def _name(files: SetFiles) -> str:
    return files.stem.name


def _label(one: Diff) -> str:
    return Path(next(iter(one.new.files.values()))).name.partition(".cl_")[0].partition("-buffer-assignment")[0]


def _paired(old: DumpSets, new: DumpSets) -> tuple[list[tuple[SetFiles, SetFiles]], list[SetFiles], list[SetFiles]]:
    """The dumps of two folders that belong together, and those that only one folder has."""
    sides = {id(files): sets for sets in (old, new) for files in sets.files}

    def fingerprint_of(files: SetFiles) -> Fingerprint:
        loaded: LoadedSet
        (loaded,) = replace(sides[id(files)], files=(files,)).load()
        return fingerprint(loaded.analysis)

    if len(old.files) == len(new.files) == 1:
        return [(old.files[0], new.files[0])], [], []
    return paired(old.files, new.files, lambda files: _module(files) or _name(files), fingerprint_of)
