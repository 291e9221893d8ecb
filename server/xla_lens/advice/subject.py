"""What an action is about: buffers and the function that computes them, with the words that rules use for them."""

from collections.abc import Callable, Iterator, Sequence
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from xla_lens.blocks.blocks import Inline, Inlines, Name, Role, joined
from xla_lens.model.attribution.parameters import parameter_paths, told_path
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.syntax.columns import Rows
from xla_lens.words.sources import frame_text


class Buffers(Struct, frozen=True):
    """Values that are alike except for the number of their layer.

    `values` are rows of `DumpSet.values` that own bytes at the peak, `size_bytes` together, the most bytes first. Of
    an action that changes none of these, they are rows that do not.
    `count` is their number, or the number of layers if each value stacks those of many. `shape` is the shape of one
    layer without its layout. `op_name` has ``*`` in place of the numbers in which those of the values differ.
    `line` and `op_name` are None if unknown.
    """

    values: Rows
    count: int
    shape: str
    size_bytes: int
    line: StackFrame | None
    op_name: str | None


def name_of(function: str) -> str:
    """Return the name of a function without those around it, of a method with its class: ``Block.attend``. What calling
    an object does has that of the class.
    """
    return function.rpartition("<locals>.")[2].removesuffix(f".{CALL}")


CALL: Final = "__call__"


class Call(Struct, frozen=True):
    """The innermost function of the program that computes most bytes of some buffers, where the program calls it, None
    if that is unknown, and what wraps it to have its values computed again. `inside` is a line of the function, where
    another one has the same name.
    """

    function: str
    frame: StackFrame | None
    checkpoint: str = "jax.checkpoint"
    inside: StackFrame | None = None

    @property
    def name(self) -> str:
        """The name of the function for people."""
        return name_of(self.function)

    @property
    def is_method(self) -> bool:
        """Whether the function is a method, but not what calling an object of its class does."""
        return "." in self.name and not self.is_object

    @property
    def is_object(self) -> bool:
        """Whether the function is what calling an object of a class does."""
        return self.function.split(".")[-1] == CALL


class Batch(Struct, frozen=True):
    """The arguments that have an element for each of `size` examples, by the names of the whole arguments, empty if
    they are unknown. `is_normalized` says that the program divides by sums over what the model computes of all
    examples, `is_divided` that it divides by other sums over them, such as the number of targets, and `is_random` that
    it draws random numbers. `is_updated` says that it updates weights and then differentiates with them, as those of
    two models in turn. `dimension` is the number of the dimension of the examples. `is_trained` says that a model is
    trained for each of them, `has_gradients` that each has a gradient of its own, as where a program clips them one by
    one, `has_products` that the program sums products over them that it does not differentiate, such as those of
    gradients with each other, `has_gradients_within` that the loss has gradients in it, `has_results` that it returns
    something for each, `is_summed` that what a program without a backward pass computes of each is added up, and
    `is_apart` that only a part of it computes something of each. `statistics` are the names of arguments that are
    updated with sums or means over the batch, `decided` those of which such sums decide what changes, and `across`
    those of arguments that have the examples as another dimension, by the number of that. `is_mixed` says that the
    program mixes the examples before a model computes something of them, as mixup does, and `is_numbered` that it
    computes with their numbers, such as weights by their age.
    """

    names: tuple[str, ...]
    size: int
    is_normalized: bool = False
    is_divided: bool = False
    is_random: bool = False
    is_updated: bool = False
    dimension: int = 0
    is_trained: bool = False
    has_gradients: bool = False
    has_products: bool = False
    has_gradients_within: bool = False
    has_results: bool = False
    is_summed: bool = False
    is_apart: bool = False
    statistics: tuple[str, ...] = ()
    decided: tuple[str, ...] = ()
    across: tuple[tuple[int, tuple[str, ...]], ...] = ()
    is_mixed: bool = False
    is_numbered: bool = False

    @property
    def told(self) -> Inlines:
        """Its arguments in brackets: `` (x and dimension 1 of y)``. Empty if they have no names."""
        # Equinox gives one name to all arguments.
        names = [name for name in self.names if not name.startswith("dynamic_")]
        where = f"dimension {self.dimension} of " if self.dimension else ""
        comma = "," if len(names) > 1 or len(self.across) > 1 else ""
        across = list[Inline]()
        for number, (dimension, others) in enumerate(self.across, 1):
            joining = f"{comma} and" if number == len(self.across) else ","
            across += [f"{joining} dimension {dimension} of ", *listed(others, _MOST_SPLIT)]
        return (f" ({where}", *listed(names, _MOST_SPLIT), *across, ")") if names else ()

    @property
    def microbatches(self) -> int:
        """How many microbatches it is split into, 1 if its size is odd. A device may have two of the examples."""
        return next((parts for parts in _MICROBATCHES if self.size % parts == 0), 1)


_MICROBATCHES: Final = (4, 2)

_MOST_SPLIT: Final = 8
"""Maximum number of names of arguments that are split: a program fails if one of them is not."""


def parts_of(size: int) -> int:
    """Return into how many parts a loop divides a batch of a size: each with as many examples, as a remainder would be
    computed apart, all at once. 1 if it has few.
    """
    return max(parts for parts in range(1, _MOST_PARTS + 1) if size % parts == 0) if size >= _MOST_PARTS else 1


_MOST_PARTS: Final = 8


def across_devices(parts: int) -> str:
    """Return the code that divides a sharded batch `x` into parts that have examples of each device: each would compute
    every example of a part that has only those of one device.
    """
    return f"x.reshape(-1, {parts}, *x.shape[1:]).swapaxes(0, 1)"


class Encoded(Struct, frozen=True):
    """The examples of a batch that a program encodes before it compares them, or computes something else from all of
    them: at `line`, None if that is unknown.

    `values` are what each example has of its own in the forward and the backward pass, without what is compared, and
    `weights` the arguments that they are computed with; both are rows of `DumpSet.values`.
    """

    batch: Batch
    values: Rows
    weights: Rows
    line: StackFrame | None

    @property
    def where(self) -> Inlines:
        """What computes something from all examples, as words: ``train.py:31 computes something``."""
        return (_place(self.line), " computes something") if self.line else ("something is computed",)


class Messages(Struct, frozen=True):
    """The edges of a graph whose messages nodes add up. `values` are what is computed of each edge alone in the forward
    and the backward pass, `states` what edges pass on from one part of the program to another one, which needs that of
    all, and `sums` those of messages in the nodes. All are rows of `DumpSet.values`. `has_extremes` says that nodes
    also take the greatest or the least of what their edges have, as a softmax over these does.
    """

    batch: Batch
    values: Rows
    states: Rows
    sums: Rows
    has_extremes: bool = False


class Unconverted(Struct, frozen=True):
    """The paths of what a program reads in float32 in the trees of the arguments that it only converts. All of these
    have `rank` dimensions at least and those fewer, None if that does not tell them apart.
    """

    paths: tuple[str, ...]
    rank: int | None


class Average(Struct, frozen=True):
    """An argument that is an average of another one, such as a weight, both as rows of `DumpSet.values`, and the names
    of the trees that they are in: ``ema`` and ``params``. If `is_frozen`, it is none, but has the same place in a tree,
    such as that of a reference model.
    """

    value: int
    weight: int
    name: str
    name_of_weight: str
    is_frozen: bool = False


class Framework(Enum):
    """The framework of a program, which decides the code that changes it. Keras compiles its own step, whatever its
    backend is.
    """

    JAX = auto()
    KERAS = auto()
    OTHER = auto()


class Subject(Struct, frozen=True):
    """The buffers that an action concerns, most bytes first, and the function that computes most of them, None if that
    is unknown. `checkpoint` wraps what computes them. `jit` is what compiles a program of JAX, such as ``nnx.jit``, and
    `program` the name of the function that it compiles. `batch` is its batch, None if it has none or that is unknown.
    `optimizer` is the function of Optax that makes its optimizer, None if that is unknown. `mapped` is the batch that a
    part of the program can be mapped over, `encoded` what it encodes before it compares the examples, and `messages`
    what the edges of a graph send to its nodes. `is_wrapped` says that `checkpoint` is around what computes most of the
    buffers already, with a policy that saves them, `is_training` that it has a backward pass, `is_unrolled` that the
    buffers are of several layers in a Python loop, which may be around the function or in it, `is_looped` that a loop
    such as `jax.lax.scan` stacks them, and `is_random` that some hold random numbers. `loop` is the line of that loop,
    None if it is unknown. The work of the program is divided among `devices`. `donated` are the names of arguments that
    have to be donated for it, and `averages` those that are donated together with what they are averages of, and frozen
    ones beside what is donated. `updated` are the allocations of the arguments that the program returns anew and that
    are not donated. `has_moments` says that some of the buffers are of an optimizer's state. `unconverted` is what is
    left in float32 of trees that the program converts, None if it converts all or nothing.
    """

    dump: DumpSet
    groups: tuple[Buffers, ...]
    call: Call | None
    checkpoint: str
    jit: str
    program: str
    batch: Batch | None
    optimizer: str | None
    mapped: Batch | None = None
    encoded: Encoded | None = None
    messages: Messages | None = None
    is_wrapped: bool = False
    devices: int = 1
    is_training: bool = False
    is_unrolled: bool = False
    is_looped: bool = False
    loop: StackFrame | None = None
    is_random: bool = False
    donated: tuple[str, ...] = ()
    averages: tuple[Average, ...] = ()
    updated: frozenset[int] = frozenset()
    has_moments: bool = False
    unconverted: Unconverted | None = None

    @property
    def is_sharded(self) -> bool:
        """Whether the program is for several devices."""
        return self.devices > 1

    def within_modules(self, loop: str) -> tuple[str, ...]:
        """What code with a `loop`, ``scan`` or ``map``, and `jax.checkpoint` needs within a module of a library whose
        modules make their parameters when they are called. Empty for other libraries.
        """
        if self.checkpoint == "haiku.remat":
            return (f"within haiku.transform, with haiku.{loop} and haiku.remat",)
        if self.checkpoint == "flax.linen.remat":
            scan = 'flax.linen.scan(…, variable_broadcast="params", split_rngs={"params": False})'
            return (f"within a module, with {scan} and flax.linen.remat",)
        return ()

    def argument_names(self, name_of: Callable[[str], str]) -> tuple[str, ...]:
        """The names, by their paths, of the arguments whose buffers these are, most bytes first; empty if they are
        unknown.
        """
        return tuple(dict.fromkeys(name_of(path) for path in self._paths() if path is not None))

    @property
    def has_all_names(self) -> bool:
        """Whether all arguments whose buffers these are have a known name."""
        return None not in self._paths()

    def _paths(self) -> Iterator[str | None]:
        """The paths of the arguments whose buffers these are, most bytes first; None for those that are unknown."""
        names = (self.dump.values.name[value] for group in self.groups for value in group.values)
        instructions = (self.dump.instruction(int(name)) for name in names)
        return (told_path(instruction.op_name) for instruction in instructions if instruction)

    def held_paths(self) -> Iterator[str]:
        """Yield the paths of the arguments in whose allocations these are, most bytes first, without unknown ones: also
        of new contents, which have the op_names of what computes them.
        """
        paths, allocation_of = parameter_paths(self.dump), self.dump.values.allocation
        held = (paths.get(allocation_of.item(value)) for group in self.groups for value in group.values)
        yield from filter(None, held)

    @property
    def function(self) -> Inlines:
        """The function that most of the buffers come from, and the line that calls it, empty if it is unknown: ``layer
        (called at train.py:31)``, or ``layer of model.py:7`` if others have its name.
        """
        if self.call is None:
            return ()
        function: Inlines = (Name(self.call.name),)
        if self.call.inside:
            function = *function, " of ", _place(self.call.inside)
        return (*function, " (called at ", _place(self.call.frame), ")") if self.call.frame else function

    @property
    def at_line(self) -> Inlines:
        """The line of the loop that stacks the buffers, or else of the largest ones, for the end of a noun: `` at
        model.py:7``. Empty if it is unknown.
        """
        line = self.loop or (self.groups[0].line if self.groups else None)
        return (" at ", _place(line)) if line else ()

    @property
    def of_loop(self) -> Inlines:
        """The loop that stacks the buffers for the end of a noun: `` of the loop at model.py:7``, or else the function
        that they come from.
        """
        return (" of the loop at ", _place(self.loop)) if self.loop else self.in_function

    @property
    def in_function(self) -> Inlines:
        """The function for the end of a sentence: `` in loss (called at train.py:31)``. Empty if it is unknown."""
        return (" in ", *self.function) if self.call else ()


def _place(frame: StackFrame) -> Inline:
    """A source line as a link."""
    return Name(frame_text(frame), frame, Role.SOURCE)


def listed(names: Sequence[str], most: int = 3) -> Inlines:
    """Return the first of some names as words: ``params, state[0] and 2 more``."""
    shown, more = names[:most], len(names) - most
    if more > 0:
        return (*joined(map(Name, shown), ", "), f" and {more:,} more")
    return (*joined(map(Name, shown[:-1]), ", "), *([" and "] if len(shown) > 1 else []), Name(shown[-1]))
