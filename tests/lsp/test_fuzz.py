"""Random dumps, edits and requests with fixed seeds. `python tests/fuzz.py` runs more seeds.

Each message is checked against the protocol (`lsp.wire`), each position against its text, and nothing may be logged.
"""

import random
from collections import Counter
from pathlib import Path

import pytest

from fuzz import play
from fuzzing.games import REQUESTS, playing
from fuzzing.texts import dump_sets
from samples import DUMPS, sweep

_LONGEST = 10**5
_TIMES = 4
_DUMPS = dump_sets(DUMPS, _LONGEST)


# The last seed grows a dump to 30 MB.
@pytest.mark.parametrize("seed", sweep([*range(1, 8), 0], 4))
async def test_requests_about_damaged_dumps_succeed(seed: int, tmp_path: Path) -> None:
    assert await play("damage", seed, tmp_path, _DUMPS)


@pytest.mark.parametrize("seed", sweep(range(8), 8))
async def test_edited_documents_equal_a_fresh_load(seed: int, tmp_path: Path) -> None:
    assert await play("edits", seed, tmp_path, _DUMPS)


@pytest.mark.parametrize("seed", sweep(range(8), 4))
async def test_concurrent_edits_requests_and_cancellations_get_responses(seed: int, tmp_path: Path) -> None:
    assert await play("chaos", seed, tmp_path, _DUMPS)


@pytest.mark.parametrize("seed", sweep(range(4), 4))
async def test_commands_with_absurd_arguments_are_refused_in_one_line(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    async with playing(chance, tmp_path, _DUMPS) as player:
        for name, data in chance.choice(_DUMPS).items():
            (tmp_path / name).write_bytes(data)
            player.open(tmp_path / name, data.decode())
        for _ in range(400):
            await player.ask("workspace/executeCommand")
            await player.ask("workspace/textDocumentContent")


async def test_every_request_succeeds_for_every_release(tmp_path: Path) -> None:
    """Undamaged dumps, except for invalid UTF-8 in the middle, so that no request is skipped by chance."""
    asked: Counter[str] = Counter()
    chance = random.Random(0)
    async with playing(chance, tmp_path, _DUMPS) as player:
        for number, dump in enumerate(_DUMPS):
            folder = tmp_path / str(number)
            folder.mkdir()
            for name, data in dump.items():
                (folder / name).write_bytes(data[: len(data) // 2] + b"\xff\xfe\0\xc3" + data[len(data) // 2 :])
            for name, data in dump.items():
                player.open(folder / name, data.decode())
            for _ in range(_TIMES):
                await player.ask_all()
            player.check_diagnostics()
            for uri in list(player.texts):
                player.close(uri)
        asked = player.request_counts
    assert asked.keys() == set(REQUESTS)
    assert all(asked[method] > len(_DUMPS) // 3 for method in REQUESTS)
