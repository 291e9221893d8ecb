"""Fuzz the server and commands for longer than the tests do: `python tests/fuzz.py [GAME...] [--seed N] [--minutes M]`.

A game that fails is printed with its seed; `GAME --seed N --games 1` repeats it. `make fuzz` damages 200,000 dump sets.
"""

import argparse
import asyncio
import faulthandler
import multiprocessing
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
from fuzzing.sets import play_set
from fuzzing.texts import dump_sets
from samples import DUMPS

GAMES = ("damage", "edits", "chaos", "commands", "sets")

_DUMPS = 10
"""Number of dumps in one game, because starting a server takes time."""

_ROUNDS = 15
_STEPS = 300

_MOST_LOST = 10
"""The number of failures after which a process stops."""

_BETWEEN_LINES = 1_000
"""Seeds between two lines that show how far a process is."""


async def play(game: str, seed: int, folder: Path, dumps: list[dict[str, bytes]]) -> int:
    """Play a game and return the number of inputs. Raises the first failure."""
    chance = random.Random(f"{game} {seed}")
    if game == "sets":
        return play_set(chance, folder, dumps)
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
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    options = parser.parse_args()
    if options.jobs == 1:
        sys.exit(play_seeds(options, range(options.seed, options.seed + options.games)))
    # One process may crash, and the others go on.
    jobs = [
        multiprocessing.Process(target=_play_in_process, args=(options, first))
        for first in range(options.seed, options.seed + options.jobs)
    ]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    sys.exit(any(job.exitcode for job in jobs))


def _play_in_process(options: argparse.Namespace, first: int) -> None:
    sys.exit(play_seeds(options, range(first, options.seed + options.games, options.jobs)))


def play_seeds(options: argparse.Namespace, seeds: range) -> int:
    """Play the games with some seeds until the time is over or too many have failed. Return 1 if any has failed."""
    faulthandler.enable()
    dumps = dump_sets(options.dumps, options.longest)
    counts: Counter[str] = Counter()
    end, lost = time.monotonic() + 60 * options.minutes, 0
    for number, seed in enumerate(seeds):
        if time.monotonic() > end or lost >= _MOST_LOST:
            break
        if number and number % _BETWEEN_LINES == 0:
            print(f"up to seed {seed}: {lost} lost", flush=True)
        for game in options.names or GAMES:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    counts[game] += asyncio.run(play(game, seed, Path(folder), dumps))
                except Exception as failure:
                    lost += 1
                    print(f"\n{game} {seed}", flush=True)
                    traceback.print_exception(failure, limit=-3)
            counts[f"games of {game}"] += 1
    print(
        ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items())), f"{lost} lost", sep="; ", flush=True
    )
    return int(lost > 0)


if __name__ == "__main__":
    main()
