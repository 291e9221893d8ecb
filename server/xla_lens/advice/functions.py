"""Which functions of the program make values, and which of them to wrap in `jax.checkpoint`."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import Final, NamedTuple

import numpy as np

from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.function_inputs import PRODUCTS, PRODUCTS_OF_JAX, ForwardReads
from xla_lens.advice.op_names import is_differentiated, is_forward, is_nested
from xla_lens.advice.subject import CALL, Call, name_of
from xla_lens.model.attribution.frames import Origin
from xla_lens.model.hlo.stack_frames import Frames, StackFrame, is_framework_file, package_of
from xla_lens.syntax.columns import NONE, Mask
from xla_lens.syntax.hlo.source_columns import Sources
from xla_lens.text.patterns import lazy_pattern

MOST_OF_A_CALL: Final = 0.9
"""The share of the bytes that a function has to compute."""


class _CalledOnce(NamedTuple):
    """Functions that the forward pass calls once. Where they have several layers, these are in a Python loop within
    them. `models` compute all products.
    """

    functions: set[str | None]
    models: set[str | None]


class Functions:
    """The functions of a program, by the calls that made its instructions."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._origins = facts, facts.origins
        self.reads = ForwardReads(facts, facts.origins.writers) if facts.origins.writers else None
        """How the forward pass reads values, None without an HLO module."""

    def call(
        self,
        effects: Iterable[Effect],
        sizes: Mapping[int, int],
        *,
        is_part: bool,
        share: float = MOST_OF_A_CALL,
    ) -> Call | None:
        """The innermost function that computes a share of the bytes of the changed values, and where it is called; None
        if no function does. `sizes` has the bytes that values own. If `is_part`, none that is the whole forward pass or
        more, and none that returns most of them: to compute its results again saves nothing.
        """
        totals, returned, all_bytes = Counter[str](), Counter[str](), 0
        callers_of_changes: list[dict[str, StackFrame | None]] = []
        places = dict[str, Counter[tuple[Frames, str | None]]]()
        owned = [effect for effect in effects if effect.value in sizes]
        is_unrolled = is_part and self.are_unrolled(owned)
        for effect in sorted(owned, key=lambda effect: -sizes[effect.value]):
            origin = self._origins.of_value(effect.source_value)
            functions = _callers(origin)
            if is_part:
                # To wrap a function around a loop frees nothing of what the loop saves, unless it is one of several.
                around = self._around_loop(effect.source_value)
                if effect.layers == 1 and self._facts.opcode(effect.source_value) == b"while":
                    functions, around = {name: functions[name] for name in functions if name in around}, set()
                if effect.layers == 1:
                    # Nor what a function saves that computes a whole model, or several layers.
                    around |= self._called_once.models | (self._called_once.functions if is_unrolled else set())
                parts = self._parts_of_pass(functions)
                parts = parts[: _first_of(parts, around)]
                # What calls a layer several times saves what they all save.
                if effect.layers == 1 and not self._called_once.functions.issuperset(parts):
                    parts = parts[: _first_of(parts, self._called_once.functions)] or parts
                # Within a derivative that each iteration computes, it would add to what is saved.
                parts = parts[-1:] if is_nested(origin.op_name) else parts
                functions = {name: functions[name] for name in parts}
                # The loop around a function stacks what it saves.
                if effect.layers == 1:
                    returned.update(dict.fromkeys(self._returning(effect.value, functions), sizes[effect.value]))
                else:
                    # The outermost one is the step of the loop.
                    for name in [*functions][:-1]:
                        places.setdefault(name, Counter())[origin.frames, origin.op_name] += 1
            all_bytes += sizes[effect.value]
            totals.update(dict.fromkeys(functions, sizes[effect.value]))
            callers_of_changes.append(functions)
        # The caller of the largest value counts.
        callers, depths = dict[str, StackFrame | None](), Counter[str]()
        for functions in reversed(callers_of_changes):
            callers.update(functions)
            for depth, name in enumerate(reversed(functions)):
                depths[name] = max(depths[name], depth)
        # What each iteration calls several times, and so computes most values as often, keeps the inputs of each call.
        several = {name for name, found in places.items() if _are_repeated(found)}
        innermost = sorted(callers, key=depths.__getitem__, reverse=True)
        likely = [
            name
            for name in innermost
            if totals[name] >= all_bytes * share and name not in several and returned[name] * 2 <= totals[name]
        ]
        if not likely:
            return None
        # One around it may compute a bit more, and so save more.
        most = max(map(totals.__getitem__, likely))
        function = next(name for name in likely if totals[name] * _BIT_MORE >= most)
        # In a module of Flax or Haiku, `jax.checkpoint` would not know the parameters. Outside, only it does.
        checkpoints, scope = self.checkpoints(owned), function.rpartition(".")[0]
        if not scope or scope.endswith(">"):
            # What Haiku transforms is a function.
            is_transformed = any(self._is_within_haiku(effect.source_value, function) for effect in owned)
            checkpoints -= _OF_METHODS - ({_HAIKU} if is_transformed else set())
        inside = self._line_of(function, owned) if self._same_names[name_of(function)] > 1 else None
        return Call(function, callers[function], min(checkpoints, default="jax.checkpoint"), inside)

    def part_of_pass(self, effect: Effect) -> str | None:
        """The outermost function that makes the content of a value and is a part of the forward pass, such as a layer:
        one that is called several times, if there is any. None if it is unknown.
        """
        # A lambda cannot be named, but it is a layer all the same.
        parts = self._parts_of_pass(_callers(self._origins.of_value(effect.source_value), has_lambdas=True))
        several = [name for name in parts if name not in self._called_once.functions]
        return next(reversed(several or parts), None)

    def _parts_of_pass(self, functions: Iterable[str]) -> list[str]:
        """Those of some functions, innermost first, that compute a part of the forward pass."""
        names = [*functions]
        if self._all_forward:
            return names[: _first_of(names, self._all_forward)]
        # Without call stacks, where all values that matter are of layers, the outermost function of these alone is the
        # whole pass.
        parts = [name for name in names if name not in self._whole_pass]
        return parts or [name for name in names if name not in self._outside][:-1]

    def are_unrolled(self, effects: Iterable[Effect]) -> bool:
        """Whether effects change values of several layers, which no loop stacks and no op_name tells apart."""
        return any(
            len({self._origins.of_value(effect.source_value).op_name for effect in group}) < len(group)
            for group in self._facts.grouped(effect for effect in effects if effect.layers == 1)
        )

    @cached_property
    def _whole_pass(self) -> frozenset[str | None]:
        """The functions that compute all of the forward pass. What the backward pass computes may have fewer frames."""
        origins = (self._origins.of_name(self._facts.name[value]) for value in self._facts.candidates)
        stacks = [
            frozenset(frame.function for frame in origin.frames)
            for origin in origins
            if origin.frames and is_forward(origin.op_name)
        ]
        return frozenset[str | None]().union(*stacks[:1]).intersection(*stacks)

    @cached_property
    def _all_forward(self) -> frozenset[str | None]:
        """The functions that compute all of the forward pass, by all instructions of the module, not only those whose
        values matter. Empty if it does not show call stacks.
        """
        stacks = [frozenset(frame.function for frame in frames) for frames, _ in self._forward_calls() if frames]
        return frozenset[str | None]().union(*stacks[:1]).intersection(*stacks)

    @cached_property
    def _called_once(self) -> "_CalledOnce":
        """The functions of whose lines a third compute just one product of the forward pass, as the text has it: a loop
        of XLA counts once. A function that is called in several places counts by one of these if it does the same in
        each, several times on some line.
        """
        lines_of = dict[str, dict[Frames, Counter[StackFrame]]]()
        products = 0
        for calls, count in self._forward_calls(are_products=True):
            products += count
            # Of a function that calls itself, the outermost call counts.
            depths = {frame.function: depth for depth, frame in enumerate(calls) if frame.function}
            for name, depth in depths.items():
                lines_of.setdefault(name, {}).setdefault(calls[depth + 1 :], Counter())[calls[depth]] += count
        once, models = set[str | None](), set[str | None]()
        for name, places in lines_of.items():
            first, *others = sorted(places.values(), key=Counter.total, reverse=True)
            everywhere = sum(others, first)
            is_looping = max(first.values()) > 1 and all(_are_alike(first, other) for other in others)
            counts = first if is_looping else everywhere
            single = sum(count == 1 for count in counts.values())
            # XLA merges products with one factor in common, so a layer may have a few of these lines, too.
            if single * 3 >= len(counts):
                once.add(name)
            is_around = name.endswith(f".{CALL}") and name_of(name) in self._around_modules
            if (single and everywhere.total() == products > 1) or is_around:
                models.add(name)
        models |= self._transformed
        return _CalledOnce(once | self._transformed, models)

    @cached_property
    def _transformed(self) -> set[str | None]:
        """The functions that Haiku transforms: it calls them, and what they call are its modules."""
        pairs = (pair for calls, _ in self._forward_calls(are_products=True) for pair in pairwise(calls))
        return {
            inner.function
            for inner, outer in pairs
            if _CHECKPOINTS[_HAIKU] in outer.file
            and name_of(outer.function or "") == _APPLIED_BY_HAIKU
            and _CHECKPOINTS[_HAIKU] not in inner.file
        }

    @cached_property
    def _around_modules(self) -> set[str]:
        """The classes of modules of Flax that have others in them, such as the layers of a net, and are called once:
        the op_name of each product in these has their class and their number.
        """
        module = self._origins.module
        if module is None:
            return set()
        sources, numbers, several = module.sources, dict[tuple[str, str], set[str]](), set[tuple[str, str]]()
        rows, counts = np.unique(sources.op_name[_are_products(sources)], return_counts=True)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            if path := _IN_MODULE.search(sources.op_names[row]):
                classes = path[1], path[2]
                numbers.setdefault(classes, set()).add(path[3])
                several |= {classes} if count > 1 else set()
        return {classes[0] for classes, found in numbers.items() if len(found) > 1 and classes not in several}

    def _forward_calls(self, *, are_products: bool = False) -> Iterator[tuple[Frames, int]]:
        """Yield the different calls that made instructions of the forward pass, empty where they are unknown, with the
        number of the instructions: of all, or of products.
        """
        module = self._origins.module
        if module is None:
            return
        sources = module.sources
        is_wanted = self._are_forward & _are_products(sources) if are_products else self._are_forward
        ids, counts = np.unique(sources.stack_frame_id[is_wanted], return_counts=True)
        for frame_id, count in zip(ids.tolist(), counts.tolist(), strict=True):
            yield module.stack(frame_id), count

    @cached_property
    def _are_forward(self) -> Mask:
        """Whether each instruction of the module is one of the forward pass, by its op_name."""
        sources = self._origins.module.sources if self._origins.module else None
        return (
            np.array([*map(is_forward, sources.op_names)], np.bool_)[sources.op_name]
            if sources
            else np.zeros(0, np.bool_)
        )

    @cached_property
    def _outside(self) -> frozenset[str | None]:
        """The functions that compute something that is not differentiated, such as the update of the weights."""
        values = {*self._facts.outputs, *self._facts.candidates}
        origins = map(self._origins.of_value, values)
        others = (origin for origin in origins if origin.op_name and not is_differentiated(origin.op_name))
        return frozenset(frame.function for origin in others for frame in origin.frames)

    def _around_loop(self, value: int) -> set[str | None]:
        """The functions that a loop is in, for a result of it, for a buffer that it takes to stack values in, or for
        what its iterations carry; none for other values.
        """
        return {frame.function for frames in self.calls_of_loop(value) for frame in frames}

    def calls_of_loop(self, value: int) -> list[Frames]:
        """The call stacks of the loops that a value is a result of, a buffer to stack values in, or what iterations
        carry.
        """
        facts, writers = self._facts, self._origins.writers
        names = (facts.name[value], *(read.name for read in facts.reads(value)))
        loops = (name for name in names if facts.dump.opcode(name) == b"while")
        stacks = [self._origins.of_name(name).frames for name in loops]
        if writers and facts.opcode(value) == b"parameter":
            row = writers.module.row_of(facts.dump.names[facts.name[value]])
            stacks += [writers.read(loop).frames for loop in writers.loops_around(row)[:1]] if row != NONE else []
        return stacks

    def is_of_library(self, value: int) -> bool:
        """Whether the step of the loop that a value belongs to is in a library that offers no way to wrap it, such as
        the steps of a loss of Optax.
        """
        first = next((stack[0] for stack in self.calls_of_loop(value) if stack), None)
        package = package_of(first.file) if first else None
        return package is not None and not any(f"/{package}/" in part for part in _CHECKPOINTS.values())

    def _returning(self, value: int, functions: Iterable[str]) -> set[str]:
        """The functions that return a value: the forward pass reads it outside of them."""
        facts = self._facts
        if self.reads:
            stacks = [self.reads.writers.read(row).frames for row, _ in self.reads.of(value)]
        else:
            forward = (read.name for read in facts.reads(value) if not facts.is_for_backward(read.name))
            stacks = [self._origins.of_name(name).frames for name in forward]
        callers = ({frame.function for frame in stack} for stack in stacks if stack)
        around = set[str | None](functions).intersection(*callers)
        return {*functions} - around

    def _line_of(self, function: str, effects: Sequence[Effect]) -> StackFrame | None:
        """A line of a function that computes changed values, None without any."""
        frames = (frame for effect in effects for frame in self._origins.of_value(effect.source_value).frames)
        return next((frame for frame in frames if frame.function == function), None)

    @cached_property
    def _same_names(self) -> Counter[str]:
        """How many functions in the call stacks of the module have each name for people."""
        module = self._origins.module
        ids: list[int] = module.columns.file_locations.id.tolist() if module else []
        frames = filter(None, map(module.file_location, ids)) if module else ()
        functions = {(frame.file, frame.function) for frame in frames if frame.function}
        return Counter(name_of(function) for _, function in functions)

    def checkpoints(self, effects: Iterable[Effect]) -> set[str]:
        """What wraps the modules of a framework that compute changed values, empty if none do."""
        origins = (self._origins.of_value(effect.source_value) for effect in effects)
        files = {frame.file for origin in origins for frame in origin.frames}
        return {name for name, part in _CHECKPOINTS.items() if any(part in file for file in files)}

    def _is_within_haiku(self, value: int, function: str) -> bool:
        """Whether functions of Haiku call a function that computes a value."""
        frames = self._origins.of_value(value).frames
        names = [frame.function for frame in frames]
        return function in names and any(
            _CHECKPOINTS[_HAIKU] in frame.file for frame in frames[names.index(function) :]
        )


def _are_products(sources: Sources) -> Mask:
    """Whether each instruction is a product: one of XLA, or a call of a library, such as cuDNN, or the sum in place of
    a product with a vector.
    """
    are_products, are_calls = (
        np.array([opcode in opcodes for opcode in sources.opcodes], np.bool_)[sources.opcode]
        for opcodes in (PRODUCTS, (b"custom-call", b"reduce"))
    )
    names = np.unique(sources.op_name[are_calls]).tolist()
    of_products = [name for name in names if sources.op_names[name].endswith(PRODUCTS_OF_JAX)]
    found: Mask = are_products | (are_calls & np.isin(sources.op_name, of_products))
    return found


def _are_alike(counts: Counter[StackFrame], others: Counter[StackFrame]) -> bool:
    """Whether calls of a function compute the same, but for a few products that XLA computes once for several calls."""
    return (counts & others).total() >= MOST_OF_A_CALL * max(counts.total(), others.total())


def _are_repeated(places: Counter[tuple[Frames, str | None]]) -> bool:
    """Whether the same calls and op_name compute most of some values several times, by how often they do."""
    return sum(count for count in places.values() if count > 1) >= _MOSTLY_SEVERAL * places.total()


def _first_of(names: Sequence[str], others: Collection[str | None]) -> int:
    """The place of the first name that is one of some others. What calls that function is beyond it."""
    return next((place for place, name in enumerate(names) if name in others), len(names))


def _callers(origin: Origin, *, has_lambdas: bool = False) -> dict[str, StackFrame | None]:
    """The functions of the program that make a value, innermost first, and where each is called."""
    frames = tuple(frame for frame in origin.frames if not is_framework_file(frame.file)) or origin.frames
    callers = zip_longest(frames, frames[1:])
    # ``f.<locals>.<lambda>`` has no name to wrap.
    return {
        frame.function: caller
        for frame, caller in callers
        if frame and frame.function and (has_lambdas or not frame.function.endswith(">"))
    }


_HAIKU: Final = "haiku.remat"

_APPLIED_BY_HAIKU: Final = "apply_fn"
"""The function of Haiku that calls what it transforms."""

_CHECKPOINTS: Final = {
    "equinox.filter_checkpoint": "/equinox/",
    "flax.linen.remat": "/flax/linen/",
    "flax.nnx.remat": "/flax/nnx/",
    _HAIKU: "/haiku/",
}
"""What computes values again in modules of Equinox, Flax and Haiku, and a part of the paths of their files."""

_BIT_MORE: Final = 1.05
"""How many times the bytes of a function one around it computes at least to be wrapped instead."""

_MOSTLY_SEVERAL: Final = 0.75
"""The share of the values of a function that the same line and op_name computes, if it is called several times."""

_IN_MODULE: Final = lazy_pattern(r"/jvp\((\w+)\)/(\w+)_([0-9]+)/")
"""The class of a module of Flax, and the class and the number of one in it."""

_OF_METHODS: Final = frozenset(("flax.linen.remat", _HAIKU))
"""Those that work only in modules."""
