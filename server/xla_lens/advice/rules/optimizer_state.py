"""`optimizer-state`: the optimizer keeps its state in f32."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.averages import FIRST_MOMENTS, Averages
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.provenance import is_first_moment, moves_weights
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.shrunk_state import shrunk_state
from xla_lens.advice.subject import Subject, listed
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.parameters import argument_of, parameter_paths, told_path
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern

_MOMENT: Final = "|".join(FIRST_MOMENTS)
_FIRST_MOMENT: Final = lazy_pattern(
    rf"(?:mu|momentum|exp_avg)(?=[.\[]|$)|.*?(?P<name>\.(?:{_MOMENT})|\['(?:{_MOMENT})'\])(?=[.\[]|$)"
)
"""The start of the path of a first moment, by the names that optimizers give it. Second moments, sums of squares and
averages of the weights have others, and need their precision.
"""


def first_moment_of(path: str) -> str:
    """Return the tree of first moments that a path is in, such as ``opt_state[0].mu``, empty if it is in none."""
    match = _FIRST_MOMENT.match(path)
    return match[0] if match else ""


def optimizer_state(facts: Facts) -> Iterator[Effect]:
    """Yield the first moments of the optimizer in bfloat16: those with a name, else that of two like trees without
    names that is one, as programs that write Adam themselves have it: of `state[1]` and `state[2]`.
    """
    trees: dict[str, list[int]] = {}
    paths = {value: facts.path_of(value) for value in facts.all_arguments}
    ends = _ends_of_weights(filter(None, paths.values()))
    for value in sorted(facts.idle_arguments):
        shape, path = facts.dimensions(value), paths[value]
        if shape and shape.type == "f32" and path is not None and _end(path) not in ends:
            trees.setdefault(first_moment_of(path) or argument_of(path), []).append(value)
    trees = {tree: values for tree, values in trees.items() if not _is_average(facts, tree, values)}
    named = [tree for tree in trees if first_moment_of(tree)]
    # A sum of all gradients, or a mean of their squares, may have the name of a first moment.
    found = [tree for tree in named if _is_first_moment(facts, trees[tree]) is not False]
    found = found or ([] if named else _one_of_two(facts, trees))
    yield from shrunk_state(facts, [value for tree in found for value in trees[tree]], 2)


def _end(path: str) -> str | None:
    """The end of a path from the name of a first moment on: ``.mu['encoder']``, None without one."""
    match = _FIRST_MOMENT.match(path)
    return path[match.start("name") :] if match and match["name"] else None


def _ends_of_weights(paths: Iterable[str]) -> set[str]:
    """The ends of the paths of weights, as the trees of first moments have them. A weight may have the name of a first
    moment, as what computes a mean: ``opt_state[0].nu['mu']`` belongs to the weight ``['mu']``, as does
    ``opt_state[0].mu['mu']``.
    """
    weights = (path[len(tree) :] for path in paths if (tree := first_moment_of(path)))
    return {weight[part.start() :] for weight in weights for part in _PART.finditer(weight)}


_PART: Final = lazy_pattern(r"[.\[]")
"""The start of a part of a path."""


def _is_average(facts: Facts, tree: str, values: Sequence[int]) -> bool:
    """Whether a tree is an average of the weights, whatever its name is."""
    value = max(values, key=lambda value: facts.size[value])
    place = (facts.path_of(value) or "")[len(tree) :]
    weights = (other for other in facts.arguments if facts.dimensions(other) == facts.dimensions(value))
    for weight in weights if place else ():
        path = facts.path_of(weight) or ""
        if weight not in facts.idle_arguments and path.endswith(place):
            return facts.kept(Averages).is_average(value, weight)
    return False


def _one_of_two(facts: Facts, trees: Mapping[str, list[int]]) -> list[str]:
    """The first moments among two trees of one argument that have the same arrays, none if there are others. Without an
    HLO module, they are the first tree, as in Adam.
    """
    names = sorted(trees)
    if len(names) != 2 or not all(map(_NUMBERED.fullmatch, names)):
        return []
    first, second = (sorted(map(str, map(facts.dimensions, trees[name]))) for name in names)
    roots = {name.partition("[")[0] for name in names}
    if first != second or len(roots) > 1:
        return []
    if facts.origins.writers is None:
        return names[:1]
    found = [name for name in names if _is_first_moment(facts, trees[name])]
    return found if len(found) == 1 else []


def _is_first_moment(facts: Facts, values: Sequence[int]) -> bool | None:
    """Whether the largest of some values is a first moment by how it is computed, None if that is unknown."""
    value = max(values, key=lambda value: facts.size[value])
    new = facts.new_version(value)
    if new == NONE:
        return None
    # Devices that share moments may have whole weights.
    count = _count(facts, value)
    others = [other for other in facts.outputs if other != new and _count(facts, other) % count == 0]
    return is_first_moment(facts.origins, new, value) and moves_weights(facts.origins, others, value)


def _count(facts: Facts, value: int) -> int:
    """The number of elements of an array, 1 if it is unknown."""
    shape = facts.dimensions(value)
    return prod(shape.lengths) if shape else 1


_NUMBERED: Final = lazy_pattern(r"\w+\[\d+\]")


def _names(subject: Subject) -> tuple[str, ...]:
    # Outputs share the buffers, and have the op_names of what computes them.
    named = [*filter(None, subject.argument_names(first_moment_of))]
    copied = (told_path(group.op_name) for group in subject.groups)
    # At the peak, only the new moments may be live, in the buffers of the arguments.
    paths = filter(None, (*copied, *subject.held_paths()))
    named = named or [*filter(None, dict.fromkeys(map(first_moment_of, paths)))]
    return tuple(named) or tuple(filter(_NUMBERED.fullmatch, subject.argument_names(argument_of)))


def _what(subject: Subject) -> Inlines:
    names = _names(subject)
    if not names:
        return ("Keep the first moment of the optimizer in bfloat16",)
    return ("Keep ", *listed(names), ", the first moment of the optimizer, in bfloat16")


def _snippet(subject: Subject) -> str | None:
    """The argument of the optimizer in Optax, whose states are named tuples; None for others."""
    names, optimizer = _names(subject), subject.optimizer
    has_trace, has_mu = (any(name.endswith(end) for name in names) for end in (".trace", ".mu"))
    if has_trace == has_mu:
        return None
    if has_trace and optimizer is None:
        optimizer = "sgd"
    elif optimizer is None:
        has_second = any(".nu" in path for path in parameter_paths(subject.dump).values())
        optimizer = "adamw" if has_second else "lion"
    if has_trace != (optimizer in _WITH_TRACE):
        return None
    dtype = "accumulator_dtype" if has_trace else "mu_dtype"
    given = "momentum, " * has_trace + f"{dtype}=jnp.bfloat16"
    if optimizer in _PARTS:
        place, stays = _PARTS[optimizer]
        return f"optax.{optimizer}({given})  # in optax.chain, in place of that in optax.{place}, with its {stays}"
    if not optimizer:
        return None
    # They are the same functions with another argument.
    name = f"its name, such as n{optimizer}, and " if optimizer in _WITH_NESTEROV else ""
    function, rate = f"optax.{optimizer}", "learning_rate"
    if any(_INJECTED in path for path in parameter_paths(subject.dump).values()):
        # Else it would make an array of the type.
        function, rate = (
            f"optax.inject_hyperparams({function}, static_args=('{dtype}',))",
            "learning_rate=learning_rate",
        )
        given = given.replace("momentum", "momentum=momentum")
    return f"optimizer = {function}({rate}, {given})  # {name}its other arguments and what is around it stay"


_WITH_NESTEROV: Final = ("adam", "adamw")
_WITH_TRACE: Final = ("sgd", "trace")
_PARTS: Final = {
    "scale_by_adam": ("lamb", "arguments, such as eps=1e-6"),
    "scale_by_novograd": ("novograd", "arguments, such as eps=1e-6"),
    "trace": ("rmsprop or optax.lars", "momentum"),
}
"""Parts of optimizers that cannot be told the type of the first moment, these optimizers, and what the part needs of
theirs.
"""

_INJECTED: Final = ".hyperparams["
"""A part of the paths of hyperparameters that `optax.inject_hyperparams` keeps in the state."""

ROW: Final = RuleRow(rule=Rule.OPTIMIZER_STATE, find=optimizer_state, what=_what, snippet=_snippet, cost=Cost.NUMBERS)
