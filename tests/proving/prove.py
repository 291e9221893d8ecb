"""Holds advice against reality: compiles programs and their variants, and compares what the advice for a program
predicts with what its variant needs.

`python prove.py FOLDER --python PYTHON` compiles with a Python that has jax, also for TPUs and GPUs if it has libtpu
and the CUDA plugin of jax, keeps the dumps in FOLDER, and writes the tables of docs/advice.md if it has both. FOLDER
may have the dumps of an earlier run. `--no-compile` compiles nothing: the rows of programs that FOLDER lacks stay as
the document has them, with a star, and so does the margin of plans.
"""

import argparse
import json
import re
import statistics
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from math import ceil
from pathlib import Path
from typing import Final, NamedTuple

import xla_lens
from xla_lens.advice.actions import Advice
from xla_lens.advice.advise import SUGGESTIONS, needed_after
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text
from xla_lens.disk.package_files import explanation_path
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.words.numbers import counted, human, parse_size

PROGRAMS: Final = Path(__file__).parent / "programs.py"
DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "advice.md"

GOOD_RATIO: Final = 1.5
"""A prediction holds if it differs from the actual saving by at most this factor."""

LEAST_SHARE: Final = 0.02
"""A saving that no rule advises is missed if it is more than this share of what the program needs."""


GOOD_PART: Final = 0.25
"""The part of what a program needs that changes have to save for the margin of plans: less hardly moves it."""


MARGIN_SENTENCE: Final = "Of {count} programs that were changed to save a quarter or more, 95 % need at most"
"""The margin of plans (`actions.MARGIN`), as docs/advice.md has it."""


NOT_ADVISED: Final = "not advised"

KEPT: Final = "Rows with a star are of an earlier run: their programs were not compiled again."

COMPILERS: Final = {"cpu": "jax", "tpu": "libtpu", "gpu": "jax_plugins.xla_cuda13"}
"""The backends that programs are compiled for, and the module of each compiler."""

SUGGESTED: Final = frozenset(row.rule for row in SUGGESTIONS)
"""The rules that predict nothing."""


class Pair(NamedTuple):
    """A program and its variant on one backend, and the rule that advises the change."""

    base: str
    change: str
    rule: str
    backend: str

    @property
    def keys(self) -> tuple[str, str]:
        """The folders of both dumps."""
        return f"{self.base}@{self.backend}", f"{self.base}__{self.change}@{self.backend}"


class Plan(NamedTuple):
    """A program, several changes to make together on one backend, and the rules that advise them."""

    base: str
    changes: list[str]
    rules: list[str]
    backend: str

    @property
    def keys(self) -> tuple[str, str]:
        """The folders of both dumps."""
        return f"{self.base}@{self.backend}", f"{'__'.join([self.base, *self.changes])}@{self.backend}"


class Trap(NamedTuple):
    """A program on one backend, advice that it must not get, and advice that it should. Advice is a rule, or a rule and
    a text in its words or its code: ``donate:ref_params``.
    """

    name: str
    backend: str
    never: list[str]
    right: list[str]

    @property
    def keys(self) -> tuple[str]:
        """The folder of the dump."""
        return (f"{self.name}@{self.backend}",)


class PlanOutcome(NamedTuple):
    """What the program of a plan needs in bytes: now, as predicted after all changes, and as recompiled. `is_kept` says
    that it is from an earlier run.
    """

    plan: Plan
    now_bytes: int
    predicted_bytes: int
    actual_bytes: int
    is_kept: bool = False


class Outcome(NamedTuple):
    """What the advice predicts for a pair, in bytes of what the program needs, and what recompiling saves. Without
    `is_advised`, nothing is predicted. What the program needs is None in what is kept from an earlier run.
    """

    pair: Pair
    is_advised: bool
    predicted_bytes: int
    actual_bytes: int
    now_bytes: int | None

    @property
    def ratio(self) -> float | None:
        """The prediction by the actual saving, None if either is not positive."""
        is_positive = self.predicted_bytes > 0 and self.actual_bytes > 0
        return self.predicted_bytes / self.actual_bytes if is_positive else None

    @property
    def holds(self) -> bool:
        """Whether the prediction holds."""
        return self.ratio is not None and 1 / GOOD_RATIO <= self.ratio <= GOOD_RATIO


def listed_programs(python: Path, backends: Sequence[str]) -> tuple[list[Pair], list[Plan], list[Trap]]:
    """Return the pairs, plans and traps that `programs.py` has for some backends."""
    listed = subprocess.run([str(python), str(PROGRAMS)], check=True, capture_output=True, text=True).stdout
    pairs, plans, traps = json.loads(listed)
    return (
        [pair for fields in pairs if (pair := Pair(*fields)).backend in backends],
        [plan for fields in plans if (plan := Plan(*fields)).backend in backends],
        [trap for fields in traps if (trap := Trap(*fields)).backend in backends],
    )


def compile_programs(python: Path, folder: Path, wanted: Iterable[Pair | Plan | Trap]) -> None:
    """Compile what `folder` does not have yet."""
    keys = dict.fromkeys(key for pair in wanted for key in pair.keys)
    missing = [key for key in keys if not _is_compiled(folder, key)]
    if missing:
        subprocess.run([str(python), str(PROGRAMS), str(folder), *missing], check=True)


def _is_compiled(folder: Path, *keys: str) -> bool:
    return all(any(folder.glob(f"{key}/*buffer-assignment.txt")) for key in keys)


class KeptRows:
    """The rows of the tables of the document, by what they are about: the first cells. Of rows about the same, each is
    for one program, in the same order.
    """

    def __init__(self, document: str) -> None:
        self._rows: dict[tuple[str, ...], list[list[str]]] = {}
        for line in document.splitlines():
            if line.startswith("| "):
                name, *cells = [cell.strip(" *") for cell in line.removeprefix("| ").removesuffix(" |").split(" | ")]
                self._rows.setdefault((name, *cells[:2]), []).append(cells[2:])

    def next(self, base: str, backend: str, what: str, cells: int = 3) -> list[str]:
        """The other cells of the next row about some change with as many of them, empty if there is none."""
        rows = self._rows.get((base, backend.upper(), what), [])
        place = next((place for place, row in enumerate(rows) if len(row) == cells), None)
        return rows.pop(place) if place is not None else []


def _bytes(text: str) -> int:
    """The size in a cell."""
    size = parse_size(text.removeprefix("−").replace(" ", "")) or 0
    return -size if text.startswith("−") else size


def outcomes(folder: Path, wanted: Iterable[Pair], kept: KeptRows | None = None) -> Iterator[Outcome]:
    """Yield what the advice says and what came of it, without changes that are not advised and save nothing. What is
    not compiled is `kept`.
    """
    for pair in wanted:
        if pair.rule in SUGGESTED:
            continue
        row = kept.next(pair.base, pair.backend, pair.rule) if kept else []
        if kept and not _is_compiled(folder, *pair.keys):
            if row:
                said, saved, _ = row
                yield Outcome(pair, said != NOT_ADVISED, _bytes(said), _bytes(saved), None)
            continue
        base, variant = (_advice(folder, key) for key in pair.keys)
        # Some actions save enough only after others, which the variant lacks.
        advised = [action for action in base.actions if action.rule == pair.rule and not action.others]
        # The policy keeps products.
        predicted = sum(
            (action.policy if pair.change == "dots" and action.policy else action).saved_needed_bytes
            for action in advised
        )
        actual = base.needed_bytes - variant.needed_bytes
        if advised or actual > LEAST_SHARE * base.needed_bytes:
            yield Outcome(pair, bool(advised), predicted, actual, base.needed_bytes)


def suggestion_outcomes(
    folder: Path, wanted: Iterable[Pair], kept: KeptRows | None = None
) -> Iterator[tuple[Pair, float]]:
    """Yield the pairs of suggestions that the advice makes, and what the variant needs as a part of what it was. What
    is not compiled is `kept`.
    """
    for pair in wanted:
        if not _is_compiled(folder, *pair.keys):
            if kept and (row := kept.next(pair.base, pair.backend, pair.rule, cells=1)):
                yield pair, float(row[0])
            continue
        base, variant = (_advice(folder, key) for key in pair.keys)
        if pair.rule in {suggestion.rule for suggestion in base.suggestions}:
            yield pair, variant.needed_bytes / base.needed_bytes


def plan_outcomes(folder: Path, wanted: Iterable[Plan], kept: KeptRows | None = None) -> Iterator[PlanOutcome]:
    """Yield what the changes of plans need together, without plans of which not all changes are advised. What is not
    compiled is `kept`.
    """
    for plan in wanted:
        if kept and not _is_compiled(folder, *plan.keys):
            if row := kept.next(plan.base, plan.backend, ", ".join(plan.rules)):
                now, predicted, actual = map(_bytes, row)
                yield PlanOutcome(plan, now, predicted, actual, is_kept=True)
            continue
        base, variant = (_advice(folder, key) for key in plan.keys)
        if {*plan.rules} <= {action.rule for action in base.actions}:
            predicted = needed_after(*_loaded(folder, plan.keys[0]), frozenset(map(Rule, plan.rules)))
            yield PlanOutcome(plan, base.needed_bytes, predicted, variant.needed_bytes)


def given(folder: Path, trap: Trap, wanted: Iterable[str]) -> list[str]:
    """Return the pieces of advice that a trap gets, of some."""
    actions = _advice(folder, *trap.keys).actions
    words = [(action.rule, f"{plain_text(action.what)} {action.snippet}") for action in actions]
    parts = ((advice, *advice.partition(":")[::2]) for advice in wanted)
    return [advice for advice, rule, part in parts if any(rule == own and part in text for own, text in words)]


def trap_table(folder: Path, traps: Iterable[Trap], kept: KeptRows | None = None) -> Iterator[str]:
    """Yield the lines of the table of traps. What is not compiled is `kept`."""
    yield "| Program | For | Must not be advised | Is advised, rightly |"
    yield "|---|---|---|---|"
    for trap in traps:
        if kept and not _is_compiled(folder, *trap.keys):
            unwanted = ", ".join(trap.never)
            for wanted in kept.next(trap.name, trap.backend, unwanted, cells=1):
                yield f"| {trap.name}* | {trap.backend.upper()} | {unwanted} | {wanted} |"
            continue
        walked, right = given(folder, trap, trap.never), given(folder, trap, trap.right)
        never = [f"**{advice}, but is**" if advice in walked else advice for advice in trap.never]
        yield f"| {trap.name} | {trap.backend.upper()} | {', '.join(never)} | {', '.join(right)} |"


def margin(found: Iterable[Outcome], plans: Iterable[PlanOutcome]) -> tuple[float, int]:
    """Return by which factor 95 % of the changed programs need more than predicted at most, and how many these are:
    those of which the changes were to save a good part.
    """
    needs = [
        (one.now_bytes, one.now_bytes - one.predicted_bytes, one.now_bytes - one.actual_bytes)
        for one in found
        if one.now_bytes is not None
    ]
    needs += [(plan.now_bytes, plan.predicted_bytes, plan.actual_bytes) for plan in plans]
    factors = sorted(actual / predicted for now, predicted, actual in needs if predicted <= now * (1 - GOOD_PART))
    return factors[ceil(len(factors) * 0.95) - 1], len(factors)


@cache
def _advice(folder: Path, key: str) -> Advice:
    advice = xla_lens.advise(*_loaded(folder, key))
    assert advice, key
    return advice


@cache
def _loaded(folder: Path, key: str) -> tuple[Analysis, HloModule | None]:
    (path,) = folder.glob(f"{key}/*buffer-assignment.txt")
    return xla_lens.load(path), xla_lens.load_module(path)


def table(found: Iterable[Outcome]) -> Iterator[str]:
    """Yield the lines of the table of all pairs."""
    yield "| Program | For | Advice | Predicted | Actual | Ratio |"
    yield "|---|---|---|--:|--:|--:|"
    for outcome in found:
        pair, is_advised, predicted, actual, now = outcome
        ratio = f"{outcome.ratio:.2f}" if outcome.ratio else "-"
        mark = ratio if outcome.holds else f"**{ratio}**"
        saved = human(actual) if actual >= 0 else f"−{human(-actual)}"
        said = human(predicted) if is_advised else NOT_ADVISED
        yield f"| {pair.base}{'*' * (now is None)} | {pair.backend.upper()} | {pair.rule} | {said} | {saved} | {mark} |"


def plan_table(plans: Iterable[PlanOutcome]) -> Iterator[str]:
    """Yield the lines of the table of plans."""
    yield "| Program | For | Actions | Needs now | Predicted | Actual |"
    yield "|---|---|---|--:|--:|--:|"
    for plan, now, predicted, actual, is_kept in plans:
        names = [f"| {plan.base}{'*' * is_kept}", plan.backend.upper(), ", ".join(plan.rules)]
        yield " | ".join([*names, *map(human, (now, predicted, actual))]) + " |"


def suggestion_table(suggested: Iterable[tuple[Pair, float]]) -> Iterator[str]:
    """Yield the lines of the table of suggestions."""
    yield "| Program | For | Suggestion | Needs then, as a part |"
    yield "|---|---|---|--:|"
    for pair, part in suggested:
        yield f"| {pair.base} | {pair.backend.upper()} | {pair.rule} | {part:.2f} |"


def evidence(found: Sequence[Outcome], suggested: Sequence[tuple[Pair, float]], rule: Rule) -> str:
    """Say in the explanation of a rule what came of it."""
    parts = sorted(part for pair, part in suggested if pair.rule == rule)
    if parts:
        tried = _changed(len(parts))
        return f"{tried} They then needed {parts[0]:.2f} to\n{parts[-1]:.2f} of what they did before."
    ours = [outcome for outcome in found if outcome.pair.rule == rule]
    if not ours:
        return "None of the programs of `make prove` was changed by it."
    held = sum(outcome.holds for outcome in ours)
    median = statistics.median(outcome.ratio for outcome in ours if outcome.ratio)
    return (
        f"{_changed(len(ours))} In {held} of them, the prediction\n"
        f"was within a factor of {GOOD_RATIO} of what the change saved; the median ratio is {median:.2f}."
    )


def _changed(count: int) -> str:
    them = "it" if count == 1 else "them"
    return f"`make prove` changed {counted(count, 'program')} this way and compiled {them} again."


def summary(found: Sequence[Outcome]) -> Iterator[str]:
    """Yield the lines of the table of rules."""
    yield f"| Rule | Pairs | Within a factor of {GOOD_RATIO} | Median ratio |"
    yield "|---|--:|--:|--:|"
    for rule in Rule:
        if rule in SUGGESTED:
            continue
        ours = [outcome for outcome in found if outcome.pair.rule == rule]
        ratios = [outcome.ratio for outcome in ours if outcome.ratio]
        median = f"{statistics.median(ratios):.2f}" if ratios else "-"
        yield f"| {rule} | {len(ours)} | {sum(outcome.holds for outcome in ours)} | {median} |"
    yield f"| all | {len(found)} | {sum(outcome.holds for outcome in found)} | |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    backends = [backend for backend, module in COMPILERS.items() if _has_module(arguments.python, module)]
    pairs, plans, traps = listed_programs(arguments.python, backends)
    folder, kept = arguments.folder, None
    if arguments.no_compile:
        kept = KeptRows(_document())
    else:
        compile_programs(arguments.python, folder, [*pairs, *plans, *traps])
    found, planned = list(outcomes(folder, pairs, kept)), list(plan_outcomes(folder, plans, kept))
    suggested = list(suggestion_outcomes(folder, [pair for pair in pairs if pair.rule in SUGGESTED], kept))
    factor, count = margin(found, planned)
    needs = f"{MARGIN_SENTENCE.format(count=count)} {factor:.2f} times what was predicted."
    is_partial = any(outcome.now_bytes is None for outcome in found) or any(plan.is_kept for plan in planned)
    if is_partial:
        before = re.search(MARGIN_SENTENCE.format(count=r"\d+") + r" [\d.]+ times what was predicted\.", _document())
        needs = f"{before[0] if before else needs}\n\n{KEPT}"
    tables = [*summary(found), "", needs, "", *plan_table(planned), "", *suggestion_table(suggested), "", *table(found)]
    text = "\n".join(tables)
    spared = "\n".join(trap_table(folder, traps, kept))
    print(text, spared, sep="\n\n")
    if len(backends) == len(COMPILERS):
        _replace(DOCUMENT, r"(?<=<!-- tried -->\n).*?(?=<!-- end -->)", f"\n{text}\n\n")
        _replace(DOCUMENT, r"(?<=<!-- traps -->\n).*?(?=<!-- end -->)", f"\n{spared}\n\n")
        for rule in Rule:
            _replace(explanation_path(rule), r"(?<=## Tried\n\n).*", f"{evidence(found, suggested, rule)}\n")


def _has_module(python: Path, module: str) -> bool:
    """Whether a Python has a module."""
    return subprocess.run([str(python), "-c", f"import {module}"], check=False, capture_output=True).returncode == 0


def _document() -> str:
    return DOCUMENT.read_text(encoding="utf-8")


def _replace(file: Path, pattern: str, text: str) -> None:
    file.write_text(re.sub(pattern, lambda _: text, file.read_text(), flags=re.DOTALL))


if __name__ == "__main__":
    main()
