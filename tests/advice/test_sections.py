"""How advice is worded: what the actions save together, and how they reach a budget."""

import pytest
from msgspec.structs import replace

from samples import TPU, analysis_of, module_of
from xla_lens.advice.actions import Advice, Budget, Sharding
from xla_lens.advice.advise import advise
from xla_lens.advice.sections import advice_sections, plan
from xla_lens.blocks.blocks import Table, plain_text

MIB = 1 << 20


def _sentences(advice: Advice) -> list[str]:
    """The sentences above the actions."""
    section = advice_sections(analysis_of(TPU).dump, advice, None, has_map=False)[0]
    return [plain_text(block) for block in section.blocks if not isinstance(block, Table)]


def _advice(count: int) -> Advice:
    """The advice for a program that needs 12.05 MiB, as if it had `count` actions."""
    advice = advise(analysis_of(TPU), module_of(TPU))
    assert advice
    return replace(advice, actions=advice.actions[:1] * count, all_needed_bytes=advice.needed_bytes - 5 * MIB)


@pytest.mark.parametrize(
    ("together", "words"),
    [
        ((0, 1, 2, 3, 4), "All of the following together save 5.00 MiB."),
        ((0, 1, 2, 4), "Actions 1–3 and 5 together save 5.00 MiB."),
        ((0, 2, 4), "Actions 1, 3 and 5 together save 5.00 MiB."),
        ((0,), "Action 1 saves 5.00 MiB, and the others add almost nothing to that."),
    ],
)
def test_advice_says_what_all_actions_save_together(together: tuple[int, ...], words: str) -> None:
    now = _sentences(replace(_advice(5), together=together))[0]
    assert now == f"Needed now: 12.05 MiB. Live at the peak: 12.00 MiB. {words}"


@pytest.mark.parametrize(
    ("actions", "is_reached", "words"),
    [
        (
            (0,),
            True,
            "To fit into 8.00 MiB, do action 1. The program then needs 8.00 MiB (estimated; it may need up to 8.96 "
            "MiB).",
        ),
        (
            (3, 0, 1),
            True,
            "To fit into 8.00 MiB, do actions 4 and 1–2. After each of them in turn, the program needs 10.00 MiB, "
            "9.00 MiB and 8.00 MiB (estimated; it may need up to 8.96 MiB).",
        ),
        (
            (0,),
            False,
            "After action 1, the program needs 9.00 MiB (estimated). That is still 1.00 MiB more than 8.00 MiB: 3.00 "
            "MiB of arguments and 6.00 MiB of the rest remain.",
        ),
        (
            (0, 1),
            False,
            "After actions 1–2 in turn, the program needs 10.00 MiB and 9.00 MiB (estimated). That is still 1.00 MiB "
            "more than 8.00 MiB: 3.00 MiB of arguments and 6.00 MiB of the rest remain.",
        ),
    ],
)
def test_advice_says_which_actions_reach_a_budget(actions: tuple[int, ...], is_reached: bool, words: str) -> None:
    needs = tuple((8 + count - is_reached) * MIB for count in range(len(actions), 0, -1))
    found = (Sharding(2, len(actions), 9 * MIB, False), Sharding(4, 1, 8 * MIB, False), Sharding(8, 1, 7 * MIB, True))
    shardings = () if is_reached else found
    most_bytes = int(needs[-1] * 1.12)
    budget = Budget(8 * MIB, actions, needs, needs, is_reached, most_bytes, 4 * MIB, 3 * MIB, 6 * MIB, shardings)
    sentences = _sentences(replace(_advice(4), budget=budget))
    assert words in sentences
    closes = (
        "With the arguments sharded over 8 times as many devices and after action "
        f"{actions[0] + 1}, the program needs about 7.00 MiB on each (estimated), which fits into 8.00 MiB."
    )
    assert (closes in sentences) != is_reached


def test_advice_says_what_is_needed_with_more_devices() -> None:
    shardings = (Sharding(2, 1, 10 * MIB, False), Sharding(4, 1, 8 * MIB, False), Sharding(8, 0, 7 * MIB, True))
    budget = Budget(9 * MIB, (0,), (11 * MIB,), (11 * MIB,), False, 13 * MIB, 4 * MIB, 3 * MIB, 6 * MIB, shardings)
    advice = replace(_advice(1), budget=budget)
    *_, shown = (block for block in plan(advice, budget) if isinstance(block, Table))
    assert [" | ".join(map(plain_text, row)) for row in shown.rows] == [
        "2 × as many | 10.00 MiB | 1.00 MiB too much | after action 1",
        "4 × as many | 8.00 MiB | 1.00 MiB free, which may not suffice | after action 1",
        "8 × as many | 7.00 MiB | 2.00 MiB free | ",
    ]
    # Arguments of which every device would gather most do not become smaller.
    useless = replace(budget, shardings=tuple(one._replace(needed_bytes=11 * MIB, fits=False) for one in shardings))
    assert not any(isinstance(block, Table) for block in plan(advice, useless))
