"""What the code of the advice is about: the framework, what compiles the program, its optimizer, and the functions and
buffers of each action.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from xla_lens.advice.averages import Averages
from xla_lens.advice.conversions import unconverted
from xla_lens.advice.encoders import encoded
from xla_lens.advice.facts import NNX_STATE, Effect, Facts
from xla_lens.advice.functions import Functions
from xla_lens.advice.messages import messages
from xla_lens.advice.op_names import KEPT_BY_POLICY, common_name, is_backward, is_in_checkpoint, is_random, unmarked
from xla_lens.advice.subject import Buffers, Framework, Subject
from xla_lens.model.attribution.parameters import says_nothing
from xla_lens.model.hlo.stack_frames import StackFrame, is_framework_file
from xla_lens.syntax.columns import NONE
from xla_lens.text.patterns import lazy_pattern


class Program:
    """The program of a dump, as its code names things."""

    def __init__(self, facts: Facts) -> None:
        self._facts, self._origins, self._module = facts, facts.origins, facts.origins.module

    def subject(self, effects: Sequence[Effect], step: int, *, is_part: bool) -> Subject:
        """What effects are about: the buffers that they change, and the function that computes most of these at a step.
        If `is_part`, it is a part of the forward pass.
        """
        facts, sizes = self._facts, self._facts.owned_at(step)
        effects = [effect for effect in effects if not effect.is_aside]
        functions, owned = facts.kept(Functions), [effect for effect in effects if effect.value in sizes]
        call = functions.call(owned, sizes, is_part=is_part)
        owned.sort(key=lambda effect: -sizes[effect.value])
        return Subject(
            facts.dump,
            self._groups(effects, sizes),
            call,
            call.checkpoint if call else min(functions.checkpoints(owned), default="jax.checkpoint"),
            self._jit,
            self.name,
            facts.batch,
            self.optimizer,
            facts.mapped or facts.apart,
            facts.kept(encoded),
            facts.kept(messages),
            is_wrapped=is_part and self._are_wrapped(owned, sizes),
            devices=facts.partitions,
            is_training=facts.backward_step is not None or facts.has_op_name(_TRANSPOSED),
            is_unrolled=is_part and functions.are_unrolled(owned),
            is_looped=any(effect.layers > 1 for effect in owned),
            loop=next(filter(None, map(self._line_of_loop, owned)), None),
            is_random=any(is_random(facts.origins.of_value(effect.source_value).op_name) for effect in owned),
            donated=self._donated_for(effects),
            averages=facts.kept(Averages).donated({effect.value for effect in effects}),
            has_moments=self._have_moments(effects),
            updated=self._updated,
            unconverted=facts.kept(unconverted),
        )

    def _line_of_loop(self, effect: Effect) -> StackFrame | None:
        """The line of the program whose loop stacks what an effect is about, None without one."""
        calls = self._facts.kept(Functions).calls_of_loop(effect.value) if effect.layers > 1 else ()
        frames = (frame for stack in calls for frame in stack)
        return next((frame for frame in frames if not is_framework_file(frame.file)), None)

    @cached_property
    def _updated(self) -> frozenset[int]:
        return frozenset(self._facts.dump.values.allocation[[*self._facts.updated.values()]].tolist())

    def _have_moments(self, effects: Sequence[Effect]) -> bool:
        """Whether effects are on an optimizer's state, beside weights that are donated, too. Where a loop trains, the
        weights are not read before it either.
        """
        facts = self._facts
        changed = {effect.value for effect in effects}.intersection(facts.arguments)
        donated = facts.donated.intersection(facts.arguments) | changed
        weights = donated.intersection(facts.candidates) - facts.idle_arguments
        return bool(weights and changed & facts.idle_arguments)

    def _donated_for(self, effects: Sequence[Effect]) -> tuple[str, ...]:
        """The names of the arguments that have to be donated for effects on other values, because the program no longer
        needs the outputs that are their new versions.
        """
        facts, allocation_of = self._facts, self._facts.dump.values.allocation
        changed = {effect.value for effect in effects}
        unneeded = {row for effect in effects for row in effect.outputs}
        updated = (argument for output, argument in facts.updated.items() if allocation_of.item(output) in unneeded)
        paths = (facts.path_of(argument) for argument in updated if argument not in changed)
        return tuple(dict.fromkeys(path for path in paths if path is not None))

    def _groups(self, effects: Sequence[Effect], sizes: Mapping[int, int]) -> tuple[Buffers, ...]:
        """The changed values that own bytes, grouped by source and shape. All of them if none does, as where the
        program needs less because buffers are smaller at other steps.
        """
        owned = {effect.value: effect for effect in effects if effect.value in sizes}
        if not owned:
            owned = {effect.value: effect for effect in effects if effect.value != NONE}
            sizes = {value: self._facts.size[value] for value in owned}
        by_size = sorted(owned, key=lambda value: (-sizes[value], value))
        groups = list[Buffers]()
        for rows in self._facts.grouped(owned[value] for value in by_size):
            origin = self._origins.of_value(rows[0].source_value)
            groups.append(
                Buffers(
                    values=tuple(effect.value for effect in rows),
                    count=sum(effect.layers for effect in rows),
                    shape=self._facts.shape(rows[0].value, rows[0].layers),
                    size_bytes=sum(sizes[effect.value] for effect in rows),
                    line=origin.line,
                    op_name=common_name([self._origins.of_value(row.source_value).op_name for row in rows]),
                )
            )
        return tuple(sorted(groups, key=lambda group: -group.size_bytes))

    def _are_wrapped(self, effects: Iterable[Effect], sizes: Mapping[int, int]) -> bool:
        """Whether `jax.checkpoint` with a policy saves most bytes of what effects change: the function is wrapped."""
        kept_bytes = Counter[bool]()
        for effect in effects:
            op_name = self._origins.of_value(effect.source_value).op_name
            is_kept = op_name is not None and (op_name.endswith(KEPT_BY_POLICY) or unmarked(op_name) in self._wrapped)
            kept_bytes[is_kept] += sizes[effect.value]
        return kept_bytes[True] > kept_bytes[False]

    @cached_property
    def _wrapped(self) -> frozenset[str]:
        """The unmarked op_names of the backward pass of functions that `jax.checkpoint` wraps, if a policy keeps some
        of what they compute. Those of their forward pass have no mark.
        """
        names = self._module.sources.op_names if self._module else ()
        if not any(name.endswith(KEPT_BY_POLICY) for name in names):
            return frozenset()
        return frozenset(unmarked(name) for name in names if is_in_checkpoint(name) and is_backward(name))

    @property
    def _up_to_files(self) -> bytes:
        return self._module.up_to_files if self._module else b""

    @cached_property
    def framework(self) -> Framework:
        """The framework of the program, known from the names of its arguments and of its module, and from the files on
        its call stacks. JAX if nothing speaks against that.
        """
        if any(mark in self._up_to_files for mark in _KERAS):
            return Framework.KERAS
        paths = (self._facts.op_name(self._facts.name[value]) for value in self._facts.all_arguments)
        if any(path and says_nothing(path) for path in paths):
            return Framework.OTHER
        return Framework.JAX if self.is_of_jax else Framework.OTHER

    @cached_property
    def is_of_jax(self) -> bool:
        """Whether JAX compiles the program, if only for another framework, as for Keras. True without a module."""
        return self._module is None or _OF_JAX.search(self._module.data) is not None

    @cached_property
    def _jit(self) -> str:
        """What compiles a program of JAX, by the files on its call stacks, or by the names of its arguments."""
        paths = (self._facts.op_name(self._facts.name[value]) or "" for value in self._facts.all_arguments)
        by_name = "nnx.jit" if any(NNX_STATE in path for path in paths) else "jax.jit"
        return next((jit for file, jit in _JITS.items() if file in self._up_to_files), by_name)

    @cached_property
    def optimizer(self) -> str | None:
        """The function of Optax that makes the optimizer, or the part of it that keeps the first moment, by the
        functions on its call stacks. Empty if that has no argument for the type of the first moment, or is not of
        Optax, None if unknown.
        """
        functions = self._module.up_to_functions if self._module else b""
        parts = {match[1].decode() for match in _PARTS_OF_OPTIMIZERS.finditer(functions)}
        scaling = {part for part in parts if part.startswith("scale_by_")} - _FOR_ALL_OPTIMIZERS
        if not parts:
            # Call stacks would show those of Optax.
            return "" if self._module and len(self._module.columns.function_names) else None
        if "trace" in parts:
            return "trace" if scaling else "sgd"
        if scaling == {"scale_by_adam"}:
            return "adamw" if "add_decayed_weights" in parts else "adam"
        if scaling == {"scale_by_adam", "scale_by_trust_ratio"}:
            return "scale_by_adam"
        return _OPTIMIZERS.get(next(iter(scaling)), "") if len(scaling) == 1 else ""

    @cached_property
    def name(self) -> str:
        """The name of the function that JAX compiles, `step` if it has none or it is unknown."""
        found = _PROGRAM.search(self._up_to_files)
        return found[1].decode() if found else "step"


_JITS: Final = {b"/flax/nnx/transforms/compilation.py": "nnx.jit", b"/equinox/_jit.py": "equinox.filter_jit"}
"""The files of what compiles programs of Flax NNX and Equinox. With `jax.jit`, one of NNX would not be trained."""

_PARTS_OF_OPTIMIZERS: Final = lazy_pattern(rb'"(scale_by_\w+|trace|add_decayed_weights)\.')
"""The functions of Optax that make the parts of an optimizer."""

_FOR_ALL_OPTIMIZERS: Final = {"scale_by_learning_rate", "scale_by_schedule"}
_OPTIMIZERS: Final = {"scale_by_amsgrad": "amsgrad", "scale_by_lion": "lion", "scale_by_novograd": "scale_by_novograd"}
"""What makes an optimizer of Optax with `mu_dtype`, by its part. NovoGrad has none, but its part does."""

_KERAS: Final = (b"/keras/src/backend/", b"one_step_on_data")
"""A part of the paths of Keras, and of the name of its step in TensorFlow."""

_OF_JAX: Final = lazy_pattern(rb"HloModule (?:p?jit|pmap|xmap)_|\b(?:p?jit|pmap|xmap)\(")
"""The name of a module of JAX, or a part of its op_names."""

_PROGRAM: Final = lazy_pattern(rb"(?m)^HloModule p?jit_([A-Za-z]\w{0,60})[,.\s]")
"""The name of a module of JAX with that of its function. A lambda has none, and its name begins with a line."""

_TRANSPOSED: Final = lazy_pattern(r"/transpose\(jvp\(")
"""A part of the op_names of a backward pass of JAX."""
