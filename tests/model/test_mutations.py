"""Each edit of a dump is reported at its line, with one code, at most two findings and no false alarm."""

from functools import cache

import pytest

from mutate import Dump, dump_sets, load, run
from mutations import EDITS
from mutations.module import SHOWN_BY_MODULE
from samples import DUMPS


@cache
def _dumps(*, has_modules: bool) -> tuple[Dump, ...]:
    return tuple(load(paths) for paths in dump_sets([DUMPS], has_modules=has_modules))


_MODULE_EDITS = [edit for edit in EDITS if edit.startswith("module-") or edit in SHOWN_BY_MODULE]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 4))])
@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit not in _MODULE_EDITS])
def test_edit_is_reported_without_false_alarms(edit: str, seed: int) -> None:
    _check(edit, seed, has_modules=False)


@pytest.mark.slow
@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit not in _MODULE_EDITS])
def test_edit_is_reported_without_false_alarms_beside_modules(edit: str) -> None:
    _check(edit, 0, has_modules=True)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("edit", _MODULE_EDITS)
def test_edit_that_the_module_shows_is_reported(edit: str, seed: int) -> None:
    _check(edit, seed, has_modules=True)


def _check(edit: str, seed: int, *, has_modules: bool) -> None:
    results = [result for dump in _dumps(has_modules=has_modules) if (result := run(dump, edit, seed))]
    assert results, "the edit applies to no dump"
    bad = [result for result in results if not result.is_good]
    shown = (
        f"{result.outcome}, {result.unrelated} unrelated, {result.places} places, {result.codes}: {result.dump}\n"
        f"{result.details}"
        for result in bad[:3]
    )
    assert not bad, f"{len(bad)} of {len(results)}\n" + "\n\n".join(shown)


def test_edits_are_deterministic() -> None:
    dump = _dumps(has_modules=True)[0]
    for edit in EDITS:
        assert run(dump, edit, 0) == run(dump, edit, 0)


def test_dumps_have_no_errors_or_warnings() -> None:
    assert {code for dump in _dumps(has_modules=True) for code, *_ in dump.known} <= {"peak-understated"}
