"""Rules that compute a part of a loop or of a batch at a time, on small programs: those of `proving/programs.py`, and
some that look like them.

`programs/` has the dumps, compressed:

- `recurrent`, `state_space` and `mapped_spectrum` are of those kinds in `proving/programs.py`, small.
- `wavelets`: the gradient of a pyramid that halves 1,024 positions seven times.
- `updated_cache`: `jax.vmap` over 32 rows of a donated argument, which is returned with new contents.
- `layered`: a train step whose scan is over 12 layers.
"""

import gzip
from pathlib import Path

import pytest

from samples import analysis_of, module_of
from xla_lens.advice.actions import Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

_PROGRAMS = Path(__file__).parent / "programs"

_RULES = {Rule.SEGMENTS, Rule.ASSOCIATIVE_SCAN, Rule.MAPPED_BATCH}


def _extracted(program: str, folder: Path) -> Path:
    """The buffer assignment of a program, beside its other files."""
    for path in (_PROGRAMS / program).glob("*.gz"):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return next(folder.glob("*-buffer-assignment.txt"))


@pytest.mark.parametrize(
    ("program", "rule", "cost", "what", "saved_kib"),
    [
        ("recurrent", Rule.SEGMENTS, Cost.COMPUTE, "Scan the 256 steps in 16 segments in cell", 190),
        (
            "state_space",
            Rule.ASSOCIATIVE_SCAN,
            Cost.COMPUTE,
            "Compute the associative scan in 16 chunks in scanned",
            1713,
        ),
        # An eighth is left of f32[32,1024] and c64[32,513].
        ("mapped_spectrum", Rule.MAPPED_BATCH, Cost.TIME, "Map over 4 examples at a time instead of all in", 224),
    ],
)
def test_a_part_at_a_time_is_advised(
    program: str, rule: Rule, cost: Cost, what: str, saved_kib: int, tmp_path: Path
) -> None:
    path = _extracted(program, tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    (action,) = (action for action in advice.actions if action.rule in _RULES)
    assert (action.rule, action.cost, action.saved_needed_bytes // 1024) == (rule, cost, saved_kib)
    assert plain_text(action.what).startswith(what)


@pytest.mark.parametrize("program", ["wavelets", "updated_cache", "layered"])
def test_programs_that_look_alike_get_no_such_advice(program: str, tmp_path: Path) -> None:
    path = _extracted(program, tmp_path)
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    assert not _RULES & {action.rule for action in advice.actions}
