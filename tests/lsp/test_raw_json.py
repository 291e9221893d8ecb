"""Results that are encoded in a worker thread."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from xla_lens.lsp import raw_json
from xla_lens.lsp.raw_json import encoded

_LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
_VALUES = st.recursive(_LEAVES, lambda inside: st.lists(inside) | st.dictionaries(st.text(max_size=5), inside))


@given(_VALUES)
def test_encoded_json_is_that_json(data: Any) -> None:
    assert json.loads(encoded(data).text) == data


def test_long_lists_are_encoded_in_parts() -> None:
    for count in (raw_json._PART - 1, raw_json._PART, raw_json._PART + 1, 3 * raw_json._PART):
        data = {"numbers": [*range(count)], "texts": [f"\u2192{number}" for number in range(count)]}
        assert json.loads(encoded(data).text) == data
