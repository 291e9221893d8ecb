"""Each edit of a dump is reported at its line, with one code, at most two findings and no false alarm."""

import random
from functools import cache
from itertools import islice
from typing import Final

import pytest

from mutate import Dump, dump_sets, load, run
from mutations import EDITS
from mutations.module import SHOWN_BY_MODULE
from samples import DUMPS, sweep


@cache
def _dumps(*, has_modules: bool) -> tuple[Dump, ...]:
    return tuple(load(paths) for paths in dump_sets([DUMPS], has_modules=has_modules))


_MODULE_EDITS = [edit for edit in EDITS if edit.startswith("module-") or edit in SHOWN_BY_MODULE]


_TRIES: Final = [(0, 2), *((seed, None) for seed in range(4))]
"""Seeds, and on how many dumps to try an edit: None for all."""


@pytest.mark.parametrize(("seed", "most"), sweep(_TRIES, len(_TRIES)))
@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit not in _MODULE_EDITS])
def test_edit_is_reported_without_false_alarms(edit: str, seed: int, most: int | None) -> None:
    _check(edit, seed, most, has_modules=False)


@pytest.mark.slow
@pytest.mark.parametrize("edit", [edit for edit in EDITS if edit not in _MODULE_EDITS])
def test_edit_is_reported_without_false_alarms_beside_modules(edit: str) -> None:
    _check(edit, 0, None, has_modules=True)


@pytest.mark.parametrize(("seed", "most"), sweep(_TRIES[:3], 3))
@pytest.mark.parametrize("edit", _MODULE_EDITS)
def test_edit_that_the_module_shows_is_reported(edit: str, seed: int, most: int | None) -> None:
    _check(edit, seed, most, has_modules=True)


def _check(edit: str, seed: int, most: int | None, *, has_modules: bool) -> None:
    dumps = list(_dumps(has_modules=has_modules))
    random.Random(edit).shuffle(dumps)
    results = list(islice((result for dump in dumps if (result := run(dump, edit, seed)) is not None), most))
    assert results, "the edit applies to no dump"
    bad = [result for result in results if result]
    assert not bad, f"{len(bad)} of {len(results)}\n" + "\n\n".join(bad[:3])


def test_dumps_have_no_errors_or_warnings() -> None:
    assert {code for dump in _dumps(has_modules=True) for code, *_ in dump.known} <= {"peak-understated"}
