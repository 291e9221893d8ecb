"""Arguments that may begin as others: averages of the weights, and frozen weights of the same model."""

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache, cached_property
from typing import Final

from xla_lens.advice.facts import Dimensions, Facts
from xla_lens.advice.op_names import is_forward
from xla_lens.advice.provenance import elementwise_sources
from xla_lens.advice.subject import Average
from xla_lens.model.attribution.parameters import path_parts
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.text.patterns import lazy_pattern


class Averages:
    """The arguments of a program that are averages of others. Keeps what their new versions are computed from."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._sources = cache(self._sources_of)

    def is_average(self, argument: int, weight: int) -> bool:
        """Whether an argument is an average of another one, such as a weight: its new version is computed from that
        element by element, but the new weight is not computed from it, as it is from moments.
        """
        return weight in self._sources(argument) and argument not in self._sources(weight)

    def _is_moved_with(self, argument: int, weight: int, name: str) -> bool:
        """Whether an argument and a weight are computed from each other, and the name of its tree says that it is no
        moment: the slow weights of `optax.lookahead` begin as the fast ones. Moments are computed from the weights,
        too, if the gradients have the decay of these in them.
        """
        field = _FIELD.search(name)
        is_mutual = weight in self._sources(argument) and argument in self._sources(weight)
        return field is not None and field[1] not in _MOMENTS and is_mutual

    def _sources_of(self, argument: int) -> frozenset[int]:
        """The arguments that the new version of an argument is computed from element by element."""
        new = self._facts.new_version(argument)
        return elementwise_sources(self._facts.origins, new) if new != NONE else frozenset()

    def donated(self, advised: Collection[int]) -> tuple[Average, ...]:
        """The averages of weights that are donated, as the weights are, once some arguments are donated, too, and the
        frozen weights beside donated ones, whether they are donated or not. Whole trees are donated, if they may be.
        """
        arguments, kind = self._facts.arguments, self._facts.kind
        tree_of = self._facts.tree_of
        trees = {tree_of(value) for value in {*arguments}.intersection(advised)}
        if not trees:
            return ()
        donated = {value for value in arguments if kind[value] & Kind.MAYBE_LIVE_OUT}.union(advised)
        donated.update(value for value in self._facts.updated.values() if tree_of(value) in trees)
        return tuple(
            each for each in self._of_weights if each.weight in donated and (each.value in donated or each.is_frozen)
        )

    @cached_property
    def _of_weights(self) -> tuple[Average, ...]:
        """The trees of arguments that are averages of weights, or frozen weights of the same model. They are looked for
        among the arguments of the shape with the most bytes of those that are updated and that several have: the
        weights and all that is kept of them have the same number.
        """
        facts = self._facts
        paths = {value: facts.path_of(value) for value in facts.all_arguments}
        counts, totals = Counter(map(facts.dimensions, paths)), Counter[Dimensions | None]()
        # A batch may have more bytes, but is not updated.
        for value in {*paths} - {*facts.inputs}:
            shape = facts.dimensions(value)
            totals[shape] += facts.size[value] * (paths[value] is not None and counts[shape] > 1)
        largest = max(totals, key=totals.__getitem__, default=None)
        parts = {
            value: tuple(filter(None, path_parts(path)))
            for value, path in paths.items()
            if path and facts.dimensions(value) == largest
        }
        first = next(iter(parts.values()), ())
        ends = {value: _common_end(each, first) for value, each in parts.items() if each != first}
        most = max(ends.values(), default=0)
        # The same array of each tree: ``params['up']`` and ``ema['up']``.
        values = [value for value in parts if ends.get(value, most) == most][:_MOST_TREES]
        names = {value: "".join(parts[value][: len(parts[value]) - most]) for value in values}
        # Other trees, such as lists of their leaves.
        roots = {parts[value][0] for value in values}
        others = [value for value, each in parts.items() if each[0] not in roots]
        names.update({value: parts[value][0] for value in others[:_MOST_LEAVES]})
        read = [value for value in values if self._is_read_forward(value)]
        weights = [value for value in read if value not in facts.inputs]
        # Where more of these are side by side in a tree, what stays as it is may be some layers of one model.
        beside = {value: parts[value][: len(parts[value]) - most - 1] for value in values}
        siblings = Counter(beside[value] for value in read)
        models = [value for value in values if most and (not beside[value] or siblings[beside[value]] <= _MOST_MODELS)]
        frozen = {value for value in models if self._is_frozen(value)}
        # What a program returns as it is may be donated beside what it does not return.
        returned = {value for value in frozen if facts.new_version(value) != NONE}
        found = dict[tuple[str, str], Average]()
        for weight in weights:
            for value, name in names.items():
                name_of_weight = names[weight] if value in values else parts[weight][0]
                is_frozen = value in frozen and (weight not in frozen or (weight in returned and value not in returned))
                is_like = self.is_average(value, weight) or self._is_moved_with(value, weight, name)
                if value != weight and (is_like or is_frozen):
                    average = Average(value, weight, name, name_of_weight, is_frozen)
                    found.setdefault((name, name_of_weight), average)
        return tuple(found.values())

    def _is_frozen(self, argument: int) -> bool:
        """Whether a program changes none of an argument. It may return the argument itself or a copy of it."""
        new = self._facts.new_version(argument)
        return new in (NONE, argument) or self._facts.origins.copied_parameters([new]).get(new) == argument

    def _is_read_forward(self, argument: int) -> bool:
        """Whether the forward pass of what is differentiated reads an argument or a copy of it. It reads no moments.
        Some fusions have no op_name, and those of a GPU that transpose an argument have its own.
        """
        facts, begin = self._facts, self._facts.backward_step or 0
        own, reads = facts.op_name(facts.name[argument]), [*facts.reads_of_content(argument)]
        transposed = (read.name for read in reads if own is not None and facts.op_name(read.name) == own)
        reads += [read for name in transposed for made in facts.defined_by(name) for read in facts.reads(made)]
        steps = ((read.step, facts.op_name(read.name)) for read in reads)
        return any(is_forward(op_name) or (op_name is None and 0 <= step < begin) for step, op_name in steps)


def _common_end(path: Sequence[str], other: Sequence[str]) -> int:
    """How many parts two paths have in common at their ends."""
    pairs = zip(reversed(path), reversed(other), strict=False)
    return next((number for number, (one, two) in enumerate(pairs) if one != two), min(len(path), len(other)))


_MOST_LEAVES: Final = 24
"""Maximum number of arrays to look at in other trees than those."""

_FIELD: Final = lazy_pattern(r"(?:\.|\[')(\w+)(?:'\])?$")
"""The last field or key in the name of a tree."""

FIRST_MOMENTS: Final = ("mu", "m", "trace", "momentum", "exp_avg")
"""The names that optimizers give to trees of first moments."""

_MOMENTS: Final = frozenset(
    (*FIRST_MOMENTS, "acc", "exp_avg_sq", "nu", "square_avg", "sum_of_squares", "v", "velocity")
)
"""The names that they give to all trees that begin as zeros."""

_MOST_MODELS: Final = 2
"""How many trees with the same arrays are models, rather than layers of one: ``models[0]`` and ``models[1]``."""

_MOST_TREES: Final = 12
"""Maximum number of trees of arguments of which some may be averages of others."""
