"""Golden data for the tests of the extension, computed by the server. `python tests/map_data.py` writes it.

The memory maps of two real dumps, the owned bytes at some of their steps, and formatted numbers. Tests
of the extension compare the TypeScript implementations with them.
"""

import json
from pathlib import Path
from typing import Any, Final

from samples import ROOT, SPLIT, TPU, joined
from xla_lens.memory_map.map_data import memory_map_data
from xla_lens.model.attribution.owned import owned_bytes
from xla_lens.words.numbers import exact, human, parse_size, percent

FOLDER: Final = ROOT / "vscode-extension" / "test" / "map" / "data"

_STEPS: Final = 8
"""The number of steps to compute in each memory space, besides the peak."""

_SIZES: Final = (
    *("16GiB", "16G", "16gib", "1.5 MiB", "4096", " 0 ", "2.5tb", "2.5TiB", "16GB", "2.3gb", "1.0001 KB", "7 EiB"),
    *("1e9", "-1", "", "GiB", "1.5", "1.5.5 KiB"),
)


def map_data() -> dict[str, Any]:
    """Return the contents of each file by its name."""
    return {"mlp_train": _of_dump(SPLIT), "host_offload": _of_dump(TPU), "numbers": _numbers()}


def _of_dump(path: Path) -> dict[str, Any]:
    analysis = joined(path)
    dump, drawn = analysis.dump, memory_map_data(analysis)
    last = len(drawn["steps"]) - 1
    owned = []
    for space in analysis.memory.spaces:
        steps = {last * number // _STEPS for number in range(_STEPS + 1)} | {space.peak_step}
        for step in sorted(step for step in steps if step is not None):
            values, sizes = owned_bytes(dump, step, space.color)
            found = {"values": values.tolist(), "ownedBytes": sizes.tolist()}
            owned.append({"color": space.color, "step": step, **found})
    return {"map": drawn, "owned": owned}


def _numbers() -> dict[str, Any]:
    around = sorted({0, 1, *(1024**power + more for power in range(1, 6) for more in (-1, 0, 1, 1024**power // 3))})
    # Ties, which are rounded to even.
    sizes = [
        *around,
        *(1024 * tenths // 20 for tenths in range(20, 60)),
        *(2**20 * tenths // 200 for tenths in range(201, 260)),
    ]
    shares = [(part, whole) for whole in (0, 1, 3, 7, 1000, 4419632) for part in (0, 1, 2, 5, 1605632)]
    return {
        "human": [[size, human(size), exact(size)] for size in sizes],
        "percent": [[part, whole, percent(part, whole)] for part, whole in shares],
        "parseSize": [[text, parse_size(text)] for text in _SIZES],
    }


def written(data: Any) -> str:
    """Return data in the form of the file."""
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, data in map_data().items():
        (FOLDER / f"{name}.json").write_text(written(data))
