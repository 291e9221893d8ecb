"""Find what could be done about the peak of a memory space and what a program needs of it: run the rules, and compute
both after each action.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from xla_lens.advice.actions import Action, Advice, ArgumentTree, Budget, Certainty, PolicySaving
from xla_lens.advice.facts import Effect, Facts
from xla_lens.advice.rule_row import Policy, RuleRow
from xla_lens.advice.rules import attention_scores, donate, logits, microbatches, optimizer_state, rematerialize
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.frames import Origins
from xla_lens.model.attribution.parameters import argument_of, folded_paths, told_path
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.edits import Edit, EditableSpace, combined
from xla_lens.model.memory.needed import program_bytes
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.tables.dump_set import DumpSet
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.columns import NONE, Kind, Rows

RULES: Final = (
    donate.ROW,
    rematerialize.ROW,
    optimizer_state.ROW,
    attention_scores.ROW,
    logits.ROW,
    microbatches.ROW,
)
"""All rules. Of actions that save as much, that of the first rule comes first."""

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
    search = _Search(Facts(origins, space), EditableSpace(analysis.dump, space))
    actions = search.actions()
    together, everything = search.plan(actions, 0)
    argument_bytes = program_bytes(analysis.dump, color).argument_bytes
    return Advice(
        color=color,
        needed_bytes=space.needed_bytes,
        peak_bytes=space.peak_live_bytes,
        peak_step=space.peak_step,
        rematerialized=_rematerialized(analysis.dump),
        actions=actions,
        together=together,
        all_needed_bytes=everything.needed_bytes,
        all_peak_bytes=everything.peak_bytes,
        all_peak_step=everything.peak_step,
        arguments=argument_trees(search.facts),
        argument_bytes=argument_bytes,
        budget=search.budget(actions, budget_bytes, argument_bytes) if budget_bytes is not None else None,
    )


def _rematerialized(dump: DumpSet) -> int:
    """The number of instructions that XLA repeats to save memory, which it names so."""
    found = [place.start() for place in re.finditer(rb"\.remat", dump.names.block)]
    names = dump.names.offsets.searchsorted(found, "right") - 1
    return int(np.isin(dump.schedule.name, names).sum())


class After(NamedTuple):
    """What the program needs of the memory space after some actions, and the peak."""

    needed_bytes: int
    peak_bytes: int
    peak_step: int | None


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The search for actions in one memory space."""

    facts: Facts
    edited: EditableSpace

    def actions(self) -> tuple[Action, ...]:
        """Run the rules and return what saves memory, the greatest saving of what the program needs first."""
        found = [
            action
            for row in RULES
            for effects in _parts(row, self.facts.found(row.find))
            if (action := self._action(row, effects))
        ]
        return tuple(sorted(found, key=lambda action: (-action.saved_needed_bytes, -action.saved_bytes))[:MOST_ACTIONS])

    def _action(self, row: RuleRow, effects: Sequence[Effect]) -> Action | None:
        """The action that has some effects, None if it saves too little."""
        space, edit = self.facts.space, {effect.value: effect.pieces for effect in effects}
        outputs = tuple(output for effect in effects for output in effect.outputs)
        after = self._after(edit, outputs)
        saved_bytes = space.peak_live_bytes - after.peak_bytes
        saved_needed_bytes = space.needed_bytes - after.needed_bytes
        # What raises the peak may raise what the program needs once XLA schedules it anew.
        if saved_bytes < 0 or saved_needed_bytes < max(1, space.peak_live_bytes // LEAST_SHARE):
            return None
        subject = self.facts.subject(effects, is_part=row.is_about_layers)
        return Action(
            rule=row.rule,
            certainty=Certainty.ESTIMATED,
            what=row.what(subject),
            snippet=row.snippet(subject),
            measured_by=row.measured_by,
            groups=subject.groups,
            edit=edit,
            saved_bytes=saved_bytes,
            saved_needed_bytes=saved_needed_bytes,
            needed_bytes=after.needed_bytes,
            peak_bytes=after.peak_bytes,
            peak_step=after.peak_step,
            outputs=outputs,
            factor=row.factor,
            call=subject.call,
            policy=self._policy(row.policy, effects, edit),
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

    def after(self, actions: Sequence[Action]) -> After:
        """Return what the program needs after some actions, and the peak."""
        edit = combined([action.edit for action in actions])
        return self._after(edit, {output for action in actions for output in action.outputs})

    def _after(self, edit: Edit, outputs: Collection[int]) -> After:
        """Actions save outputs that take over the buffers of arguments, what they take off arguments, and as many bytes
        as the peak of the temporaries falls.
        """
        space, dump, changes = self.facts.space, self.facts.dump, self.edited.changes(edit)
        live, arguments = self.edited.live_after(changes), dict[int, int]()
        for value, pieces in edit.items():
            if value != NONE and self.facts.kind[value] & Kind.PARAMETER:
                row = dump.values.allocation.item(value)
                arguments[row] = max(arguments.get(row, 0), *(piece.size_bytes for piece in pieces))
        saved = sum(dump.allocations.size_bytes[[*outputs, *arguments]].tolist()) - sum(arguments.values())
        saved += self.edited.temporaries.peak_bytes - self.edited.temporaries_after(changes).peak_bytes
        # Two actions may save the same bytes. What is live must be provided, except for thread-local buffers.
        least = live.peak_bytes + min(0, space.needed_bytes - space.peak_live_bytes)
        return After(max(least, space.needed_bytes - saved), live.peak_bytes, live.peak_step)

    def plan(self, actions: Sequence[Action], budget_bytes: int) -> tuple[Rows, After]:
        """Take the actions that help, one after another until the budget is reached. Return their rows, and what the
        program needs after them.
        """
        space, taken = self.facts.space, list[int]()
        best = After(space.needed_bytes, space.peak_live_bytes, space.peak_step)
        for row in range(len(actions)):
            if best.needed_bytes > budget_bytes:
                after = self.after([actions[other] for other in (*taken, row)])
                if after.needed_bytes < best.needed_bytes:
                    taken, best = [*taken, row], after
        return tuple(taken), best

    def budget(self, actions: Sequence[Action], budget_bytes: int, argument_bytes: int) -> Budget:
        """Plan how to reach a budget, without actions that turn out not to be needed."""
        taken, best = self.plan(actions, budget_bytes)
        for row in reversed(taken) if best.needed_bytes <= budget_bytes else ():
            others = tuple(other for other in taken if other != row)
            if self.after([actions[other] for other in others]).needed_bytes <= budget_bytes:
                taken = others
        afters = [self.after([actions[row] for row in taken[: number + 1]]) for number in range(len(taken))]
        return Budget(
            budget_bytes=budget_bytes,
            actions=taken,
            needs=tuple(after.needed_bytes for after in afters),
            peaks=tuple(after.peak_bytes for after in afters),
            is_reached=best.needed_bytes <= budget_bytes,
            argument_bytes=argument_bytes,
        )


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
    paths = {value: told_path(facts.op_name(facts.name[value])) for value in facts.arguments}
    folded = folded_paths(path for path in paths.values() if path is not None)
    for value, path in paths.items():
        name = argument_of(folded[path]) if path is not None else ""
        found.setdefault((name, not name and value in facts.idle_arguments), []).append(value)
    trees = list[ArgumentTree]()
    for (name, _), values in found.items():
        size, idle = (sum(facts.size[value] for value in some) for some in (values, facts.idle_arguments & {*values}))
        trees.append(ArgumentTree(name, len(values), size, is_idle=idle * 2 > size))
    return tuple(sorted(trees, key=lambda tree: (-tree.size_bytes, tree.name)))
