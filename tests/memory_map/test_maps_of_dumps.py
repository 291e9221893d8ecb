"""The golden data of the tests of the extension is current."""

import pytest

from map_data import FOLDER, map_data, written


@pytest.mark.parametrize("name", ["mlp_train", "host_offload", "numbers"])
def test_golden_data_is_current(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text() == written(map_data()[name]), "stale; run: python tests/map_data.py"
