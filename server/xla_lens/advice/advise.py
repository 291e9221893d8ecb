"""Find what could be done about the peak of a memory space and what a program needs of it: run the rules, and compute
both after each action.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec import Struct, field

from xla_lens.advice.actions import (
    Action,
    Advice,
    ArgumentTree,
    Budget,
    Certainty,
    Cost,
    PolicySaving,
    Sharding,
    Suggestion,
    most_needed,
)
from xla_lens.advice.codes import Rule
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.measured import with_measured
from xla_lens.advice.program import Program
from xla_lens.advice.rule_row import Policy, RuleRow
from xla_lens.advice.rules import (
    associative_scan,
    attention_scores,
    converted_arguments,
    cpu_scheduler,
    donate,
    encoded_batch,
    gathered_weights,
    logits,
    loop_outputs,
    loop_state,
    mapped_batch,
    messages,
    microbatches,
    offloaded_values,
    one_hot,
    optimizer_state,
    padded_dimension,
    rematerialize,
    replicated_state,
    segments,
    similarity,
    unrolled_loop,
)
from xla_lens.advice.subject import Framework, Subject
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.parameters import argument_of, folded_paths
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.edits import Edit, combined
from xla_lens.model.memory.needed import program_bytes
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.columns import NONE, Kind, Rows

RULES: Final = (
    donate.ROW,
    rematerialize.ROW,
    optimizer_state.ROW,
    converted_arguments.ROW,
    attention_scores.ROW,
    logits.ROW,
    microbatches.ROW,
    loop_state.ROW,
    padded_dimension.ROW,
    loop_outputs.ROW,
    unrolled_loop.ROW,
    segments.ROW,
    associative_scan.ROW,
    mapped_batch.ROW,
    encoded_batch.ROW,
    messages.ROW,
    similarity.ROW,
    one_hot.ROW,
    replicated_state.ROW,
    gathered_weights.ROW,
)
"""The rules whose savings are computed. Of actions that save as much, that of the first rule comes first."""

SUGGESTIONS: Final = (cpu_scheduler.ROW, offloaded_values.ROW)
"""The rules whose savings the dump does not tell."""

MOST_ACTIONS: Final = 12
"""Maximum number of actions."""

LEAST_SHARE: Final = 40
"""An action that saves less than the peak divided by this is left out: XLA's new schedule changes about as much."""


def advise(
    analysis: Analysis, module: HloModule | None, color: int = DEFAULT_COLOR, budget_bytes: int | None = None
) -> Advice | None:
    """Return what could be done about the peak of a memory space, None if nothing is ever live in it.

    The HLO module is used for source lines. With a budget, the advice says which actions reach it. None also if the
    dump set does not determine the live bytes and the uses of values (`Analysis.warrants`).
    """
    return advice_from(Origins(analysis.dump, module), analysis, color, budget_bytes)


def advice_from(origins: Origins, analysis: Analysis, color: int, budget_bytes: int | None) -> Advice | None:
    """Return what `advise` does, from origins that other parts of a report share."""
    space = analysis.memory.space(color)
    is_exact = analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED, Quantity.USES).is_exact
    if space is None or space.peak_step is None or not is_exact:
        return None
    search = _Search(Facts(origins, space))
    program = search.facts.kept(Program)
    actions, together = search.actions()
    everything = search.after([actions[row] for row in together])
    argument_bytes = program_bytes(analysis.dump, color).argument_bytes
    advice = Advice(
        color=color,
        needed_bytes=space.needed_bytes,
        peak_bytes=space.peak_live_bytes,
        peak_step=space.peak_step,
        rematerialized=_rematerialized(analysis.dump),
        actions=actions,
        together=tuple(sorted(together)),
        all_needed_bytes=everything.needed_bytes,
        all_peak_bytes=everything.peak_bytes,
        all_peak_step=everything.peak_step,
        arguments=argument_trees(search.facts),
        argument_bytes=argument_bytes,
        budget=search.budget(actions, together, budget_bytes, argument_bytes) if budget_bytes is not None else None,
        suggestions=tuple(
            Suggestion(
                row.rule,
                row.cost,
                (row.what,),
                row.snippet(program.subject((), space.peak_step, is_part=False)),
                row.measured,
                row.flag,
            )
            for row in SUGGESTIONS
            if program.framework is Framework.JAX and row.applies(search.facts)
        ),
    )
    # The trials are about the main memory.
    return with_measured(advice, analysis.tried) if color == DEFAULT_COLOR else advice


def needed_after(analysis: Analysis, module: HloModule | None, rules: Collection[Rule]) -> int:
    """Return what the program needs of its main memory after all actions of some rules."""
    space = analysis.memory.space(DEFAULT_COLOR)
    assert space is not None
    search = _Search(Facts(Origins(analysis.dump, module), space))
    return search.after([action for action in search.actions()[0] if action.rule in rules]).needed_bytes


def _snippet(row: RuleRow, subject: Subject, framework: Framework) -> str | None:
    """The code that does what a rule says in a framework, None if there is none."""
    code = {Framework.JAX: row.snippet, Framework.KERAS: row.in_keras}.get(framework)
    return code(subject) if code else None


def _rematerialized(dump: DumpSet) -> int:
    """The number of instructions that XLA repeats to save memory, which it names so."""
    found = [place.start() for place in re.finditer(rb"\.remat", dump.names.block)]
    names = dump.names.offsets.searchsorted(found, "right") - 1
    return int(np.isin(dump.schedule.name, names).sum())


class After(NamedTuple):
    """What the program needs of the memory space after some actions, what its arguments take less, and the peak."""

    needed_bytes: int
    saved_argument_bytes: int
    peak_bytes: int
    peak_step: int | None


class _Change(NamedTuple):
    """What a rule finds, and what the program needs if only that is changed."""

    row: RuleRow
    effects: Sequence[Effect]
    edit: Edit
    outputs: Rows
    alone: After


class _Search(Struct, frozen=True, eq=False):
    """The search for actions in one memory space."""

    facts: Facts
    _afters: dict[frozenset[int], After] = field(default_factory=dict)

    def actions(self) -> tuple[tuple[Action, ...], Rows]:
        """Run the rules. Return what saves memory, the greatest saving of what the program needs first, and the rows of
        those to take together, in the order in which to take them. What saves too little alone, but enough together
        with others, comes last.
        """
        found = [(row, part) for row in RULES for part in _parts(row, self.facts.found(row.find))]
        # A rule for layers knows that a value stacks them. The others show it in the same way.
        layers = {effect.value: effect.layers for _, part in found for effect in part if effect.layers > 1}
        found = [
            (row, [effect._replace(layers=layers.get(effect.value, effect.layers)) for effect in part])
            if not row.is_about_layers
            else (row, part)
            for row, part in found
        ]
        changes = sorted(
            (self._change(row, effects) for row, effects in found),
            key=lambda change: (change.alone.needed_bytes, change.alone.peak_bytes),
        )
        least_bytes = max(1, self.facts.space.peak_live_bytes // LEAST_SHARE)
        changes = [change for change in changes if self._saves(change.alone, 0)][:MOST_ACTIONS]
        # Those that save enough alone come first: the order is that of what is saved.
        helpful = sum(self._saves(change.alone, least_bytes) for change in changes)
        together = self._together(changes, helpful)
        rows = [row for row in range(len(changes)) if row < helpful or row in together]
        taken = tuple(rows.index(row) for row in together)
        actions = list[Action]()
        for number, row in enumerate(rows):
            others = [other for other in taken if other != number and row >= helpful]
            actions.append(
                self._action(changes[row], [changes[rows[other]] for other in others], tuple(sorted(others)))
            )
        return tuple(actions), taken

    @property
    def _now(self) -> After:
        space = self.facts.space
        return After(space.needed_bytes, 0, space.peak_live_bytes, space.peak_step)

    def _change(self, row: RuleRow, effects: Sequence[Effect]) -> _Change:
        edit = {effect.value: effect.pieces for effect in effects}
        outputs = tuple(output for effect in effects for output in effect.outputs)
        return _Change(row, effects, edit, outputs, self._after(edit, outputs))

    def _saves(self, alone: After, least_bytes: int) -> bool:
        """Whether a change saves so much alone. What raises the peak may raise what the program needs once XLA
        schedules it anew.
        """
        space = self.facts.space
        is_lower = alone.peak_bytes <= space.peak_live_bytes
        return is_lower and space.needed_bytes - alone.needed_bytes >= least_bytes

    def _together(self, changes: Sequence[_Change], helpful: int) -> Rows:
        """The rows of the changes to make together, the cheapest first: all but those without which the others save as
        much, or almost as much if they cost something or are not among the first, which are `helpful` alone.
        """
        taken = sorted(range(len(changes)), key=lambda row: _COSTS.index(changes[row].row.cost))
        best = least = self.after([changes[row] for row in taken]).needed_bytes
        for row in taken[::-1]:
            others = [other for other in taken if other != row]
            needed_bytes = self.after([changes[other] for other in others]).needed_bytes
            is_free = row < helpful and changes[row].row.cost is Cost.NOTHING
            if needed_bytes <= (best if is_free else max(best, least + least // LEAST_SHARE)):
                taken, best = others, needed_bytes
        return tuple(taken)

    def _action(self, change: _Change, others: Sequence[_Change], numbers: Rows) -> Action:
        """The action of a change, compared with all of `others` but without it. They are actions of these `numbers`."""
        before = self.after(others) if others else self._now
        after = self.after([*others, change]) if others else change.alone
        row, program = change.row, self.facts.kept(Program)
        is_jax = program.framework is Framework.JAX
        subject = program.subject(change.effects, before.peak_step or 0, is_part=row.is_about_layers)
        # Without a backward pass, nothing is computed again.
        is_in_parts = row.cost is Cost.COMPUTE and not subject.is_training
        return Action(
            rule=row.rule,
            certainty=Certainty.ESTIMATED,
            cost=Cost.TIME if is_in_parts else row.cost,
            what=row.what(subject),
            snippet=_snippet(row, subject, program.framework),
            measured_by=row.measured_by(subject.program) if row.measured_by and is_jax else None,
            groups=subject.groups,
            edit=change.edit,
            saved_bytes=before.peak_bytes - after.peak_bytes,
            saved_needed_bytes=before.needed_bytes - after.needed_bytes,
            needed_bytes=after.needed_bytes,
            peak_bytes=after.peak_bytes,
            peak_step=after.peak_step,
            outputs=change.outputs,
            factor=row.factor(subject) if row.factor else None,
            call=subject.call,
            policy=self._policy(row.policy, change.effects, change.edit) if is_jax and not others else None,
            others=numbers,
            batch_dimension=subject.batch.dimension if subject.batch else 0,
            is_sharded=subject.is_sharded,
        )

    def _policy(self, policy: Policy | None, effects: Sequence[Effect], edit: Edit) -> PolicySaving | None:
        """What an edit saves if a policy keeps some of the changed values. None if it keeps none, or if that saves
        nothing.
        """
        if policy is None:
            return None
        changed = {effect.value: effect.pieces for effect in effects if not policy.keeps(self.facts, effect)}
        if len(changed) == len(edit):
            return None
        saved_bytes = self.facts.space.needed_bytes - self._after(changed, ()).needed_bytes
        return PolicySaving(policy.code, policy.kept, saved_bytes) if saved_bytes > 0 else None

    def after(self, changes: Sequence[Action] | Sequence[_Change]) -> After:
        """Return what the program needs after some actions, and the peak."""
        # Plans ask for the same sets again and again. The edits live as long as their actions.
        key = frozenset(id(change.edit) for change in changes)
        if key not in self._afters:
            edit = combined((change.edit for change in changes), self.facts.dump.values.size_bytes)
            self._afters[key] = self._after(edit, {output for change in changes for output in change.outputs})
        return self._afters[key]

    def _after(self, edit: Edit, outputs: Collection[int]) -> After:
        """Actions save outputs that take over the buffers of arguments, what they take off arguments, and as many bytes
        as the peak of the temporaries falls. Where most of these go, so do most of the gaps between them.
        """
        space, dump, edited = self.facts.space, self.facts.dump, self.facts.edited
        changes = edited.changes(edit)
        live, arguments, shrunk = edited.live_after(changes), dict[int, int](), set[int]()
        for value in edit.keys() - {NONE}:
            row, kind = dump.values.allocation.item(value), self.facts.kind[value]
            if kind & _PARAMETER:
                arguments[row] = max((arguments.get(row, 0), *(piece.size_bytes for piece in edit[value])))
            elif kind & _LIVE_OUT:
                shrunk.add(row)
        allocated = dump.allocations.size_bytes
        saved_arguments = sum(allocated[[*arguments]].tolist()) - sum(arguments.values())
        saved = saved_arguments + sum(allocated[[*outputs]].tolist())
        saved += sum(self._shrunk_bytes(row, edit) for row in shrunk.difference(outputs))
        temporaries, left = edited.temporaries.peak_bytes, edited.temporaries_after(changes).peak_bytes
        saved += temporaries - left
        if 2 * left <= temporaries:
            saved += edited.gap_bytes * (temporaries - left) // max(temporaries, 1)
        # Two actions may save the same bytes. What is live must be provided, except for thread-local buffers.
        least = live.peak_bytes + min(0, space.needed_bytes - space.peak_live_bytes)
        needed_bytes = max(least, space.needed_bytes - saved)
        return After(needed_bytes, saved_arguments, live.peak_bytes, live.peak_step)

    def _shrunk_bytes(self, allocation: int, edit: Edit) -> int:
        """The bytes that the buffer of an output gets smaller."""
        dump, size = self.facts.dump, self.facts.size
        left = (
            max((piece.size_bytes for piece in edit[value] if piece.moved_to is None), default=0)
            if value in edit
            else size[value]
            for value in dump.values_of_allocation(allocation).tolist()
        )
        return max(0, dump.allocations.size_bytes.item(allocation) - max(left, default=0))

    # ------------------------------------------------------------ budgets

    def budget(self, actions: Sequence[Action], together: Rows, budget_bytes: int, argument_bytes: int) -> Budget:
        """Plan how to reach a budget: all actions that help together, without those whose cost is not needed."""
        fits = self.facts.space.needed_bytes <= budget_bytes
        taken = [] if fits else list(together)
        is_reached = fits or self._most_needed([actions[row] for row in taken]) <= budget_bytes
        for row in taken[::-1] if is_reached else ():
            others = [other for other in taken if other != row]
            is_free = actions[row].cost is Cost.NOTHING
            if not is_free and self._most_needed([actions[other] for other in others]) <= budget_bytes:
                taken = others
        steps = [[actions[row] for row in taken[: number + 1]] for number in range(len(taken))]
        afters = [self.after(step) for step in steps]
        after = afters[-1] if afters else self._now
        remaining_argument_bytes = argument_bytes - after.saved_argument_bytes
        return Budget(
            budget_bytes=budget_bytes,
            actions=tuple(taken),
            needs=tuple(after.needed_bytes for after in afters),
            peaks=tuple(after.peak_bytes for after in afters),
            is_reached=is_reached,
            most_bytes=self._most_needed(steps[-1]) if steps else 0,
            argument_bytes=argument_bytes,
            remaining_argument_bytes=remaining_argument_bytes,
            remaining_other_bytes=max(0, after.needed_bytes - remaining_argument_bytes),
            shardings=() if is_reached else tuple(self._shardings(steps, budget_bytes, argument_bytes)),
        )

    def _most_needed(self, actions: Sequence[Action]) -> int:
        """What the program may need at most after some actions."""
        needed_bytes = self.after(actions).needed_bytes
        return most_needed(needed_bytes, self._saved_by_changes(actions, needed_bytes))

    def _saved_by_changes(self, actions: Sequence[Action], needed_bytes: int) -> int:
        """What is saved by those of some actions that change what is computed. What others save is certain, as that of
        donated arguments is.
        """
        free = [action for action in actions if action.cost is Cost.NOTHING]
        return self.after(free).needed_bytes - needed_bytes

    def _shardings(
        self, steps: Sequence[Sequence[Action]], budget_bytes: int, argument_bytes: int
    ) -> Iterator[Sharding]:
        """What the program needs with more devices: after as few of the first actions of a plan as suffice."""
        gathered = max(map(self.facts.layer_bytes, self.facts.arguments), default=0)
        for factor in _SHARDED_OVER:
            found = list[Sharding]()
            for count, actions in enumerate([[], *steps]):
                after = self.after(actions)
                left = argument_bytes - after.saved_argument_bytes
                needed_bytes = after.needed_bytes - max(0, left - -(-left // factor) - gathered)
                saved_bytes = self._saved_by_changes(actions, after.needed_bytes)
                fits = most_needed(needed_bytes, saved_bytes) <= budget_bytes
                found.append(Sharding(factor, count, needed_bytes, fits))
            yield next((sharding for sharding in found if sharding.fits), found[-1])


_COSTS: Final = (*Cost,)
_PARAMETER: Final = int(Kind.PARAMETER)
_LIVE_OUT: Final = int(Kind.MAYBE_LIVE_OUT)

_SHARDED_OVER: Final = (2, 4, 8)
"""Over how many times as many devices a plan shards the arguments."""


def _parts(row: RuleRow, effects: Iterable[Effect]) -> Iterable[list[Effect]]:
    """What a rule finds, divided into actions: loops over different numbers of layers are changed one by one."""
    parts: dict[int, list[Effect]] = {}
    for effect in effects:
        parts.setdefault(effect.layers if row.is_about_layers else 0, []).append(effect)
    return parts.values()


# ---------------------------------------------------------------- arguments


def argument_trees(facts: Facts) -> tuple[ArgumentTree, ...]:
    """Return the arguments by the first parts of their paths, most bytes first. Arguments without a path form two
    trees: optimizer state, and the others.
    """
    found: dict[tuple[str, bool], list[int]] = {}
    paths = {value: facts.path_of(value) for value in facts.arguments}
    folded = folded_paths(path for path in paths.values() if path is not None)
    for value, path in paths.items():
        name = argument_of(folded[path]) if path is not None else ""
        found.setdefault((name, not name and value in facts.idle_arguments), []).append(value)
    trees = list[ArgumentTree]()
    for (name, _), values in found.items():
        size, idle = (sum(facts.size[value] for value in some) for some in (values, facts.idle_arguments & {*values}))
        trees.append(ArgumentTree(name, len(values), size, is_idle=idle * 2 > size))
    return tuple(sorted(trees, key=lambda tree: (-tree.size_bytes, tree.name)))
