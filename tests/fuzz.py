"""Fuzz the server and commands for longer than the tests do: `python tests/fuzz.py [GAME...] [--seed N] [--minutes M]`.

A game that fails is printed with its seed; `--seed N --games 1` repeats it.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fuzzing.commands import play_commands
from fuzzing.games import play_chaos, play_damage, play_edits, playing
from fuzzing.texts import dump_sets
from samples import DUMPS

GAMES = ("damage", "edits", "chaos", "commands")

_DUMPS = 10
"""Number of dumps in one game, because starting a server takes time."""

_ROUNDS = 15
_STEPS = 300


async def play(game: str, seed: int, folder: Path, dumps: list[dict[str, bytes]]) -> int:
    """Play a game and return the number of inputs. Raises the first failure."""
    chance = random.Random(f"{game} {seed}")
    if game == "commands":
        return play_commands(chance, folder, dumps, _DUMPS)
    async with playing(chance, folder, dumps) as player:
        if game == "damage":
            return sum([await play_damage(player, number) for number in range(_DUMPS)])
        if game == "edits":
            return sum([await play_edits(player, number, _ROUNDS) for number in range(_DUMPS // 2)])
        return await play_chaos(player, _STEPS)


def main() -> None:
    """Play until the time is over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", metavar="GAME", nargs="*", help=f"one of {', '.join(GAMES)}; all of them by default")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--games", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--dumps", type=Path, default=DUMPS, help="a folder of folders of dumps")
    parser.add_argument("--longest", type=int, default=10**5, help="size limit for dump sets, in bytes")
    options = parser.parse_args()
    dumps = dump_sets(options.dumps, options.longest)
    counts: Counter[str] = Counter()
    end, lost = time.monotonic() + 60 * options.minutes, 0
    for seed in range(options.seed, options.seed + options.games):
        if time.monotonic() > end or lost >= 10:
            break
        for game in options.names or GAMES:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    counts[game] += asyncio.run(play(game, seed, Path(folder), dumps))
                except Exception as failure:
                    lost += 1
                    print(f"\n{game} {seed}", flush=True)
                    traceback.print_exception(failure, limit=-3)
            counts[f"games of {game}"] += 1
    print(", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())), f"{lost} lost", sep="; ")
    sys.exit(bool(lost))


if __name__ == "__main__":
    main()
