"""Rules for all tests: which ones are slow, which ones share a worker, and one pass over the whole collection."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import settings

from samples import SHARED_DUMPS, all_analyses

# No deadlines: the tests run on all cores, beside other programs.
settings.register_profile("quick", max_examples=100, deadline=None)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("quick")

_NO_COLLECTION = pytest.mark.skipif(
    not (SHARED_DUMPS / "FACTS.jsonl").is_file(),
    reason=f"needs the whole collection of dumps: set XLA_LENS_DUMPS to its folder (looked in {SHARED_DUMPS})",
)

_Check = Callable[[Any], Any]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of the whole collection as slow, and keep them on one worker, which loads each dump set once."""
    for item in items:
        if item.get_closest_marker("collection"):
            item.add_marker(pytest.mark.slow)
            item.add_marker(_NO_COLLECTION)
            item.add_marker(pytest.mark.xdist_group("collection"))


class AllDumps:
    """Results of the checks that read the whole collection: per check and dump set, or the exception that it raised."""

    def __init__(self) -> None:
        self.results: dict[_Check, dict[str, Any]] = {}
        self.failures: dict[_Check, Exception] = {}

    def run(self, checks: set[_Check], file: str, analysis: Any) -> None:
        """Run checks on a dump set, except those that have failed on an earlier one."""
        for check in checks - self.failures.keys():
            try:
                self.results.setdefault(check, {})[file] = check(analysis)
            except Exception as failure:
                failure.add_note(f"in {file}")
                self.failures[check] = failure


@pytest.fixture(scope="session")
def all_dumps(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AllDumps:
    """Results of all selected checks (`samples.on_all_dumps`). Each dump set is loaded once and dropped again, because
    the whole collection does not fit into memory.
    """
    items = (item for item in request.session.items if item.get_closest_marker("collection"))
    functions = (getattr(item, "function", None) for item in items)
    checks = {function.check for function in functions if function and hasattr(function, "check")}
    found = AllDumps()
    for file, analysis in all_analyses(tmp_path_factory.getbasetemp() / "big"):
        found.run(checks, file, analysis)
    return found


@pytest.fixture
def of_all_dumps(request: pytest.FixtureRequest, all_dumps: AllDumps) -> Mapping[str, Any]:
    """Results of the test's own check by dump set. Raises the exception of the check if it failed."""
    check = request.function.check
    if check in all_dumps.failures:
        raise all_dumps.failures[check]
    results = all_dumps.results[check]
    assert len(results) >= 475
    return results
