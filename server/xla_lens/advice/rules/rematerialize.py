"""`rematerialize`: the forward pass saves values for the backward pass.

A value is saved if the forward pass computes it and the backward pass reads it, itself or a copy of it that is made
later. To rematerialize it is to free it after its last read in the forward pass, and to compute it again before its
first read in the backward pass.

A loop over layers (`lax.scan`) saves one array that stacks the values of all layers. After rematerialization, one layer
of it is left for as long as the loop of the backward pass reads it.

Whoever wraps a layer in `jax.checkpoint` rematerializes all that it saves, except for its inputs. So all of it is one
action. The data flow shows which values are the inputs: of a loop, what it carries; of a function that a Python loop
calls, what it reads as its first call reads what others have made. Where it does not, `rematerialize` finds what looks
like inputs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Dimensions, Effect, Facts
from xla_lens.advice.function_inputs import ForwardReads, FunctionInputs, position_of
from xla_lens.advice.functions import MOST_OF_A_CALL, Functions
from xla_lens.advice.op_names import is_computed_again, is_nested
from xla_lens.advice.rule_row import Policy, RuleRow
from xla_lens.advice.rules.logits import logits
from xla_lens.advice.stacks import carried_anew, computed, fused_rows, row_of, stores_carried, value_of
from xla_lens.advice.subject import Subject
from xla_lens.blocks.blocks import Inlines
from xla_lens.model.attribution.writers import Position
from xla_lens.model.memory.alive import on_same_bytes
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE, Kind
from xla_lens.text.patterns import lazy_pattern

_NOT_COMPUTED: Final = frozenset((b"parameter", b"constant", b"iota", b"conditional", b"call", None))


def rematerialize(facts: Facts) -> Iterator[Effect]:
    """Yield what the forward pass saves for the backward pass: what each loop stacks, and the values outside of loops.
    The logits are not of a layer.
    """
    others = {effect.value for effect in facts.found(logits)}
    found: dict[int, list[Effect]] = {}
    for effect in facts.found(saved):
        # XLA computes values again as early as it can on a CPU, which saves nothing, unless a loop is in the way.
        is_freed = effect.layers > 1 or facts.dump.backend is not Backend.CPU
        is_fixed = effect.layers > 1 and facts.kept(Functions).is_of_library(effect.source_value)
        if effect.value not in others and is_freed and not is_fixed:
            found.setdefault(effect.layers, []).append(effect)
    if facts.dump.backend is not Backend.CPU and (inner := [*_of_inner_loops(facts, found)]):
        found[1] = [*found.get(1, ()), *inner]
    for layers, saved_effects in found.items():
        origins = (facts.origins.of_value(effect.source_value) for effect in saved_effects)
        # To compute layers again within a derivative that the loss has in it adds to what the forward pass saves.
        if layers == 1 and any(is_nested(origin.op_name) for origin in origins):
            continue
        made = _made_within(facts, saved_effects) if layers == 1 else None
        effects = made.effects if made else saved_effects
        groups = facts.grouped(effects)
        if not groups:
            continue
        sizes, counts = [sum(facts.size[effect.value] for effect in group) for group in groups], Counter[int]()
        for group, size_bytes in zip(groups, sizes, strict=True):
            counts[len(group)] += size_bytes
        # The groups with most of the bytes have a value for each layer.
        count = counts.most_common(1)[0][0]
        inputs = {effect.value for effect in effects if layers > 1 and _is_input(facts, effect.source_value)}
        if not inputs and not made:
            # The smallest group of the dimensions that one layer passes to the next has the inputs of the layers.
            carried = _carried(facts, effects)
            of_layer = [facts.of_layer(group[0].value, is_stacked=layers > 1) for group in groups]
            like = (row for row, shape in enumerate(of_layer) if shape in carried)
            smallest = sorted(like, key=sizes.__getitem__)[:1]
            inputs = {effect.value for row in smallest for effect in groups[row][: carried[of_layer[row]]]}
        if layers > 1 and not inputs:
            yield from _stored_carry(facts, effects, layers)
        # What a function is computed again from is its input: `jax.checkpoint` around it is there already. Only around
        # a larger function, which makes other values in each layer, it frees that, too.
        is_input = [layers == 1 and any(_is_computed_again_from(facts, effect) for effect in group) for group in groups]
        most = max((len(group) for row, group in enumerate(groups) if not is_input[row]), default=0) * _MOST_INPUTS
        is_in_line = layers == 1 and (made is None or made.is_in_line)
        inputs |= _read_by_like(facts, groups) if is_in_line and not (made and made.stored) else set()
        for row, group in enumerate(groups):
            # Without a function, nothing but its repetition tells what belongs to a layer.
            if (is_input[row] and len(group) > most) or (is_in_line and len(group) < max(count, _FEWEST_IN_LINE)):
                continue
            one_by_one = group if layers > 1 else _until_next_layer(group, count)
            yield from (effect for effect in one_by_one if effect.value not in inputs)
        if made and made.stored:
            yield Effect(NONE, made.stored)


def _of_inner_loops(facts: Facts, found: Mapping[int, Iterable[Effect]]) -> Iterator[Effect]:
    """Yield what is left of what loops stack that are parts of layers, such as a scan over time: `jax.checkpoint`
    around a layer has its loop stack all of that again, for the backward pass of this layer.
    """
    for layers, effects in found.items():
        again = {effect.value: effect.pieces[0] for effect in effects if effect.pieces}
        first = dict[int, int]()
        for value, piece in again.items():
            # A loop computes all of its stacks again.
            first[facts.name[value]] = min(piece.start_step, first.get(facts.name[value], piece.start_step))
        for group in facts.grouped(effects) if layers > 1 else ():
            names = {facts.name[effect.source_value] for effect in group}
            if sum(facts.dump.opcode(name) == b"while" for name in names) < _FEWEST_IN_LINE:
                continue
            for effect in (effect for effect in group if effect.source_value in again):
                start, end = first[facts.name[effect.source_value]], again[effect.source_value].end_step
                none = facts.piece(effect.value, facts.start[effect.value], NONE)
                late = facts.piece(effect.value, start, end if effect.pieces else NONE)
                yield effect._replace(layers=1, pieces=(none, late))


def _stored_carry(facts: Facts, effects: Iterable[Effect], layers: int) -> Iterator[Effect]:
    """Yield what `jax.checkpoint` around the step of a loop saves and the loop does not: what each iteration begins
    with. The backward pass of steps that are linear in it does not need it.
    """
    writers = facts.origins.writers
    ends = {effect.source_value: effect.value for effect in effects if facts.opcode(effect.source_value) == b"while"}
    if writers is None or not ends:
        return
    last = max(ends, key=facts.size.__getitem__)
    values = [*carried_anew(facts, writers, row_of(facts, writers, last))]
    shapes = {
        value: shape for value in values if (shape := facts.dimensions(value)) and shape.type.startswith(_NUMBERS)
    }
    # Where it also carries others, such as the results of the stages of a pipeline, each iteration changes only some.
    if len({*shapes.values()}) == 1:
        size_bytes = sum(int(facts.dump.values.size_bytes[value]) for value in shapes)
        yield Effect(NONE, (Piece(facts.start[last], facts.end[last], layers * size_bytes),), layers)


def _read_by_like(facts: Facts, groups: Iterable[Sequence[Effect]]) -> set[int]:
    """The values that the forward pass reads to compute another one of their group: each is the input of the next
    layer, which `jax.checkpoint` around that saves.
    """
    found = set[int]()
    for group in groups:
        names = {facts.name[effect.value] for effect in group}
        found |= {effect.value for effect in group if any(read.name in names for read in facts.reads(effect.value))}
    return found


def _carried(facts: Facts, effects: Iterable[Effect]) -> Counter[Dimensions | None]:
    """The dimensions of what the loops carry that stack some values, each with how many they carry; of values outside
    of loops, of what any loop of the forward pass carries. On a TPU, it may be in VMEM.
    """
    changed = {value for effect in effects for value in (effect.value, effect.source_value)}
    loops = {facts.name[value] for value in changed if facts.opcode(value) == b"while"}
    if loops:
        return Counter(facts.squeezed(value) for name in loops for value in facts.defined_by(name))
    is_of_loop = facts.dump.has_opcode(b"parameter", b"while")[facts.dump.values.name]
    return Counter(
        facts.squeezed(value)
        for value in is_of_loop.nonzero()[0].tolist()
        if not (facts.kind[value] & Kind.PARAMETER or facts.is_backward(facts.op_name(facts.name[value])))
    )


class _Made(NamedTuple):
    """What `jax.checkpoint` does to the values that functions make, and the inputs of these that it stores in place of
    some. `is_in_line` says that no function makes a layer.
    """

    effects: list[Effect]
    stored: tuple[Piece, ...] = ()
    is_in_line: bool = False


def _made_within(facts: Facts, effects: list[Effect]) -> _Made | None:
    """Those of some values outside of loops that `jax.checkpoint` around the function to wrap frees: what the function
    makes, but for its inputs and results. Where there is no such function, each value counts for the one that is a part
    of the forward pass. None if the functions are unknown.
    """
    functions, left = facts.kept(Functions), effects
    reads = functions.reads
    if reads is None:
        return None
    # What is left may be made by a function within the one that was wrapped first.
    for _ in range(_MOST_FUNCTIONS):
        by_function = dict[str, list[Effect]]()
        # A function that makes most, such as a block of a U-Net, frees that. What is between its calls stays.
        shares = (functions.call(left, facts.owned, is_part=True, share=share) for share in _SHARES)
        call = next(filter(None, shares), None)
        for effect in left:
            if call is None:
                function = functions.part_of_pass(effect)
            else:
                function = call.function if _is_made_by(facts, effect, call.function) else None
            if function is not None:
                by_function.setdefault(function, []).append(effect)
        if not by_function:
            # Either nothing tells what makes the values, or functions that only make what others read.
            return None if left is effects else _Made([])
        before, inputs = left, {name: _inputs(reads, name, made) for name, made in by_function.items()}
        others = {name: [each.value for each in effects if _is_made_by(facts, each, name)] for name in by_function}
        kept = {
            name: inputs[name].kept([each.value for each in made], others[name]) for name, made in by_function.items()
        }
        left = [each for name, made in by_function.items() for each in made if each.value not in kept[name]]
        if len(left) == len(before):
            break
    freed = {effect.value for effect in left}
    stored = [effect.value for effect in effects if effect.value not in freed]
    made = _with_inputs_stored(facts, [(inputs[name], made) for name, made in by_function.items()], stored)
    return made._replace(is_in_line=call is None)


def _is_made_by(facts: Facts, effect: Effect, function: str) -> bool:
    """Whether a function makes the content of a value."""
    return any(frame.function == function for frame in facts.origins.of_value(effect.source_value).frames)


_SHARES: Final = (MOST_OF_A_CALL, 0.6, 0.4)
"""The shares of the bytes that the function to wrap has to compute: if none computes the first one, the second one."""

_MOST_FUNCTIONS: Final = 4
"""How often the function to wrap is looked for."""


def _inputs(reads: ForwardReads, function: str, effects: list[Effect]) -> FunctionInputs:
    """The inputs of a function that the first of each kind of some values depends on."""
    groups, start = reads.facts.grouped(effects), reads.facts.start
    first = (min((effect.value for effect in group), key=start.__getitem__) for group in groups)
    return FunctionInputs(reads, function, first)


def _with_inputs_stored(
    facts: Facts, made_by: Iterable[tuple[FunctionInputs, list[Effect]]], kept: Sequence[int]
) -> _Made:
    """The values that functions with some inputs make, without what they hold for the next call, such as what `relu`
    makes of a product. Fusions compute that from the value. `jax.checkpoint` has XLA store it in place of the value,
    unless it is in one of the values that are kept.
    """
    effects, stored = list[Effect](), list[Piece]()
    for inputs, made in made_by:
        sizes = inputs.unstored([effect.value for effect in made], kept)
        for effect in made:
            start, end, size_bytes = facts.start[effect.value], facts.end[effect.value], sizes.get(effect.value, 0)
            early, late = effect.pieces
            if size_bytes:
                stored.append(Piece(start, end, size_bytes))
                early = early._replace(end_step=start)
            effects.append(effect._replace(pieces=(early, late)))
    return _Made(effects, tuple(stored))


def _is_computed_again_from(facts: Facts, effect: Effect) -> bool:
    """Whether a function that `jax.checkpoint` wraps is computed again from a value."""
    return any(is_computed_again(facts.op_name(read.name)) for read in facts.reads(effect.value))


_MOVING: Final = frozenset(b"bitcast convert copy parameter reshape transpose".split())
_NUMBERS: Final = ("f", "bf", "c")
"""How the types of floating-point and complex numbers begin, which have gradients."""

_FEWEST_IN_LINE: Final = 2
"""How many layers there are at least where nothing but values that are alike tells of layers."""

_MOST_INPUTS: Final = 4
"""How many inputs of one shape a function in a layer has at most."""


def _is_input(facts: Facts, value: int) -> bool:
    """Whether a value stacks what each iteration of a loop begins with, which `jax.checkpoint` saves."""
    writers = facts.origins.writers
    position = position_of(facts, writers, value) if writers else None
    return writers is not None and position is not None and stores_carried(writers, position)


def _until_next_layer(group: list[Effect], layers: int) -> Iterator[Effect]:
    """What is left of the values of all layers, if each lives only until that of the next layer is computed again: XLA
    lets them live longer as long as there is memory.
    """
    ordered = sorted(group, key=lambda effect: effect.pieces[-1].start_step)
    in_one_layer = max(1, len(group) // layers)
    for effect, following in zip_longest(ordered, ordered[in_one_layer:]):
        early, late = effect.pieces
        if following:
            late = late._replace(end_step=max(late.start_step, min(late.end_step, following.pieces[-1].start_step)))
        yield effect._replace(pieces=(early, late))


def saved(facts: Facts) -> Iterator[Effect]:
    """Yield what is left of each value that the forward pass saves."""
    for value in facts.candidates:
        reads = facts.reads(value)
        late = [read.step for read in reads if facts.is_for_backward(read.name)]
        if not late or not facts.is_computed(value) or facts.opcode(value) in _NOT_COMPUTED:
            continue
        origin, stack = facts.origins.of_value(value), _moved_stack(facts, value)
        if stack != NONE:
            yield from (effect._replace(content=stack) for effect in _stacked(facts, value, (), late))
            continue
        # The op_name of an argument has no slash before its first key.
        if "/" not in (origin.op_name or "").partition("[")[0] or facts.is_backward(origin.op_name):
            continue
        early = [read.step for read in reads if not facts.is_for_backward(read.name)]
        if (origin.derived and origin.derived.stored) or facts.opcode(value) == b"while":
            yield from _stacked(facts, value, early, late)
        elif max(early, default=-1) < min(late):
            start, end = facts.start[value], facts.end[value]
            pieces = facts.piece(value, start, max(early, default=start)), facts.piece(value, min(late), end)
            yield Effect(value, pieces)


def _moved_stack(facts: Facts, value: int) -> int:
    """What a loop stacks of which a fusion puts the elements in another order, as a GPU does before the loop of the
    backward pass. NONE if a value is no such copy.
    """
    writers = facts.origins.writers
    if writers is None or facts.opcode(value) != b"fusion" or not facts.is_backward(facts.op_name(facts.name[value])):
        return NONE
    fusion, *inside = fused_rows(facts, writers, facts.name[value]) or [NONE]
    if not inside or not all(writers.read(row).own.opcode in _MOVING for row in inside):
        return NONE
    source = computed(writers, writers.operand(Position(fusion, ()), 0, ()))
    stack = value_of(facts, writers, source) if source else NONE
    if stack == NONE or facts.opcode(stack) != b"while":
        return NONE
    before, after = facts.dimensions(stack), facts.dimensions(value)
    if before is None or after is None or not before.lengths:
        return NONE
    # Its layers have to be first, as what takes one of them expects.
    return stack if after.lengths[:1] == (before.lengths[facts.stacked_dimension(stack)],) else NONE


def stacked(facts: Facts) -> set[int]:
    """The values in which a loop stacks what several layers save."""
    return {effect.value for effect in facts.found(saved) if effect.layers > 1}


def _stacked(facts: Facts, value: int, early: Iterable[int], late: Iterable[int]) -> Iterator[Effect]:
    """What a loop of the forward pass stacks, or a copy of it, that another loop of the backward pass reads. `early`
    are the steps of reads in the forward pass, `late` those in the backward pass.
    """
    stack, start = facts.dimensions(value), facts.start[value]
    first = min((step for step in late if step >= start), default=NONE)
    layers = stack.lengths[facts.stacked_dimension(value)] if stack and stack.lengths else 0
    if stack is None or len(stack.lengths) < 2 or layers < 2 or first == NONE:
        return
    if any(start < step < first for step in early):
        return
    yield Effect(value, (Piece(first, facts.end[value], facts.size[value] // layers),), layers)
    if facts.opcode(value) == b"while":
        # A loop writes a stack in place: over the values before it in the same buffer.
        for other in reversed(on_same_bytes(facts.dump, value).tolist()):
            shape = facts.dimensions(other)
            # A GPU may have the dimensions in another order within the loop.
            if facts.start[other] < start and shape and sorted(shape.lengths) == sorted(stack.lengths):
                if facts.end[other] < start - 1:
                    return
                start = facts.start[other]
                yield Effect(other, (), layers, content=value)


def _is_product(facts: Facts, effect: Effect) -> bool:
    """Whether an effect is on a product with weights, which `dots_with_no_batch_dims_saveable` keeps: one without
    dimensions that both factors and the result have.
    """
    op_name = facts.origins.of_value(effect.source_value).op_name or ""
    einsum = _EINSUM.search(op_name)
    return op_name.endswith("dot_general") and not (einsum and set(einsum[1]) & set(einsum[2]) & set(einsum[3]))


_EINSUM: Final = lazy_pattern(r"\b([a-z]+),([a-z]+)->([a-z]+)\b")


def _what(subject: Subject) -> Inlines:
    line = subject.at_line
    if not subject.is_looped:
        # It may be any line of theirs, not one that calls them.
        line = (" that contain ", *line[1:]) if line else ()
    function = subject.function or ("the step of the loop" if subject.is_looped else "the layers", *line)
    # A function may be a layer, or have a loop over several.
    is_class = subject.checkpoint in (*_OF_CLASSES, *_OF_METHODS)
    alone = ", each layer by itself" * (subject.is_unrolled and subject.call is not None and not is_class)
    policy = " without the policy that it has" * subject.is_wrapped
    return ("Wrap ", *function, f" in {subject.checkpoint}", policy or alone)


def _snippet(subject: Subject) -> str:
    notes = list[str]()
    if subject.is_wrapped:
        notes.append("not in addition to the one with a policy")
    elif subject.is_unrolled and subject.call is not None:
        # Around all layers, it would save nothing.
        notes.append("around one layer: around several, it would save nothing")
    if subject.checkpoint in _WITH_FLAGS:
        notes.append("with static_argnums=(2,) if its second argument is a flag such as train, not given as a keyword")
    elif subject.checkpoint == "jax.checkpoint" and not (subject.is_looped or subject.is_wrapped):
        notes.append(
            "with static_argnums for arguments that are no arrays, such as a number of heads, and functools.partial "
            "for such keywords"
        )
    elif subject.checkpoint == "haiku.remat":
        notes.append("in the function that is transformed")
    code = _wrapped(subject)
    name = code.partition(" ")[0]
    # Of a class, it makes another one, after which Flax names the modules that have no name, not those of a `setup`.
    op_names = [group.op_name for group in subject.groups if group.op_name]
    is_named_so = not op_names or any(f"/{name}_" in op_name for op_name in op_names)
    if subject.checkpoint in _OF_CLASSES and "." not in name and is_named_so:
        notes.append(f'with name="{name}_0" and so on where it has none: its parameters would get other names')
    # The code may end in a comment.
    return "; ".join([code if "  # " in code else f"{code}  # {notes.pop(0)}", *notes]) if notes else code


def _wrapped(subject: Subject) -> str:
    checkpoint, is_object = subject.checkpoint, subject.call.is_object if subject.call else False
    if subject.call and subject.call.is_method and checkpoint not in (*_OF_CLASSES, *_OF_METHODS):
        # As a function of the class, it would take the object for an argument, which is no array.
        scope, _, method = subject.call.name.rpartition(".")
        own = scope.lower()
        return f"y = {checkpoint}({own}.{method})(x)  # where {own} is the {scope} whose {method} is called"
    # Equinox has no loops of its own, so the step is a function, which calls a cell or more.
    is_function = subject.is_looped and checkpoint == _OF_EQUINOX
    if subject.call is None and checkpoint in (*_OF_CLASSES, *_OF_METHODS) and not is_function:
        name, is_object = "Cell" if subject.is_looped else "Layer", True
    else:
        name = subject.call.name if subject.call else "step" if subject.is_looped else "layer"
    if not is_object or checkpoint in _OF_CLASSES:
        return f"{name} = {checkpoint}({name})"
    if checkpoint in _OF_METHODS:
        return f"{name}.__call__ = {checkpoint}({name}.__call__)"
    return f"y = {checkpoint}({name.lower()})(x)  # where {name.lower()} is the {name} that is called"


_WITH_FLAGS: Final = ("flax.linen.remat", "flax.nnx.remat")
"""What wraps modules that often take a flag beside what they compute with. The number of the module itself is 0."""

_OF_CLASSES: Final = ("flax.linen.remat",)
_OF_EQUINOX: Final = "equinox.filter_checkpoint"
_OF_METHODS: Final = (_OF_EQUINOX, "flax.nnx.remat")
"""What wraps a whole class of modules, or one of its methods. Others wrap the object that is called."""


ROW: Final = RuleRow(
    rule=Rule.REMATERIALIZE,
    find=rematerialize,
    what=_what,
    snippet=_snippet,
    cost=Cost.COMPUTE,
    is_about_layers=True,
    policy=Policy(
        code="policy=jax.checkpoint_policies.dots_with_no_batch_dims_saveable",
        kept="products with weights",
        keeps=_is_product,
    ),
)
