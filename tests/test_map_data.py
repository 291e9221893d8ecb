"""The tests of the memory map in the extension are held against what the server tells now."""

import pytest

from map_data import FOLDER, map_data, written


@pytest.mark.parametrize("name", ["mlp_train", "host_offload", "numbers"])
def test_it_is_up_to_date(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text() == written(map_data()[name]), "run: python tests/map_data.py"
