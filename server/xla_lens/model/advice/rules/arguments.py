"""The arguments of the program, and the optimizer state among them.

Optimizer state is what no instruction reads before the backward pass is complete, and what the program returns with new
contents. It could wait in host memory, or on other devices, until the update reads it.
"""

from collections.abc import Iterator

from xla_lens.model.advice.actions import ArgumentTree, Certainty, Piece
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.facts import Draft, Facts
from xla_lens.model.attribution.parameters import argument_of, folded_paths, told_path


def argument_trees(facts: Facts) -> tuple[ArgumentTree, ...]:
    """Return the arguments by the first parts of their paths, most bytes first. Arguments without a path form two
    trees: optimizer state, and the others.
    """
    found: dict[tuple[str, bool], list[int]] = {}
    paths = {value: told_path(facts.op_name(facts.name(value))) for value in facts.arguments}
    folded = folded_paths(path for path in paths.values() if path is not None)
    for value, path in paths.items():
        name = argument_of(folded[path]) if path is not None else ""
        found.setdefault((name, not name and value in facts.idle_arguments), []).append(value)
    trees = [_tree(facts, name, values) for (name, _), values in found.items()]
    return tuple(sorted(trees, key=lambda tree: (-tree.size_bytes, tree.name)))


def _tree(facts: Facts, name: str, values: list[int]) -> ArgumentTree:
    size_bytes = sum(map(facts.size, values))
    idle_bytes = sum(facts.size(value) for value in values if value in facts.idle_arguments)
    return ArgumentTree(name, len(values), size_bytes, is_idle=idle_bytes * 2 > size_bytes)


def optimizer_state(facts: Facts) -> Iterator[Draft]:
    """Optimizer state in host memory: only what the update reads is left, while it reads it."""
    edit: dict[int, tuple[Piece, ...]] = {}
    for value in sorted(facts.idle_arguments):
        steps = [read.step for read in facts.reads(value)]
        edit[value] = (facts.piece(value, min(steps), max(steps)),)
        for other in facts.dump.values_of_allocation(int(facts.dump.values.allocation[value])).tolist():
            if other != value and facts.start(other) >= 0:
                edit[other] = (facts.piece(other, facts.start(other), facts.start(other)),)
    if edit:
        yield Draft(Rule.OPTIMIZER_STATE, Certainty.ESTIMATED, edit)
