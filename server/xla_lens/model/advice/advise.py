"""Find what could be done about the peak of a memory space and what a program needs of it: run the rules, and compute
both after each action.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from xla_lens.model.advice.actions import Action, Advice, ArgumentTree, Budget, Certainty
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.edits import Edit, EditableSpace, combined
from xla_lens.model.advice.facts import Change, Facts
from xla_lens.model.advice.rematerialize import is_product
from xla_lens.model.advice.rules import RULES, RuleRow
from xla_lens.model.analysis import Analysis
from xla_lens.model.attribution.parameters import argument_of, folded_paths, told_path
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.needed import program_bytes
from xla_lens.model.memory.over_time import MemorySpace
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import Quantity
from xla_lens.syntax.columns import NONE, Kind

MOST_ACTIONS: Final = 12
"""Maximum number of actions, because the live bytes after each are computed over all steps."""

LEAST_SHARE: Final = 40
"""An action that saves less than the peak divided by this is left out: XLA's new schedule changes about as much."""


def advise(
    analysis: Analysis, module: HloModule | None, color: int = DEFAULT_COLOR, budget_bytes: int | None = None
) -> Advice | None:
    """Return what could be done about the peak of a memory space, None if nothing is ever live in it.

    The HLO module is used for source lines. With a budget, the advice says which actions reach it. None also if the
    dump set does not determine the live bytes and the uses of values (`Analysis.warrants`).
    """
    space = analysis.memory.space(color)
    is_exact = analysis.warrants.of(Quantity.LIVE, Quantity.RESERVED, Quantity.USES).is_exact
    if space is None or space.peak_step is None or not is_exact:
        return None
    search = _Search(Facts(analysis.dump, module, space), EditableSpace(analysis.dump, space))
    actions = search.actions()
    together, states = search.plan(actions, 0)
    argument_bytes = program_bytes(analysis.dump, color).argument_bytes
    return Advice(
        color=color,
        needed_bytes=space.needed_bytes,
        peak_bytes=space.peak_live_bytes,
        peak_step=space.peak_step,
        rematerialized=sum(b".remat" in analysis.dump.names[name] for name in analysis.dump.schedule.name.tolist()),
        actions=actions,
        together=tuple(sorted(together)),
        all_needed_bytes=states[-1].needed_bytes,
        all_peak_bytes=states[-1].peak_bytes,
        all_peak_step=states[-1].peak_step,
        arguments=argument_trees(search.facts),
        argument_bytes=argument_bytes,
        budget=search.budget(actions, budget_bytes, argument_bytes) if budget_bytes is not None else None,
    )


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
        drafts = [(self._most_saved(changes), row, changes) for row, changes in self._drafts()]
        drafts.sort(key=lambda draft: -draft[0])
        least = max(1, self.facts.space.peak_live_bytes // LEAST_SHARE)
        found = [self._action(row, changes) for most, row, changes in drafts[:MOST_ACTIONS] if most >= least]
        # What raises the peak may raise what the program needs once XLA schedules it anew.
        found = [action for action in found if action.saved_bytes >= 0 and action.saved_needed_bytes >= least]
        return tuple(sorted(found, key=lambda action: (-action.saved_needed_bytes, -action.saved_bytes)))

    def _drafts(self) -> Iterator[tuple[RuleRow, list[Change]]]:
        """What each rule finds, divided into actions."""
        for row in RULES:
            parts: dict[int, list[Change]] = {}
            for change in self.facts.found(row.find):
                # Loops over so many layers are one thing to change.
                part = change.layers if row.rule is Rule.REMATERIALIZE else 0
                parts.setdefault(part, []).append(change)
            yield from ((row, changes) for changes in parts.values())

    def _most_saved(self, changes: Sequence[Change]) -> int:
        """The bytes that changes save at most, at the peak or of the needed bytes. At the peak these are the bytes that
        the values own and do not keep.
        """
        facts, step, found = self.facts, self.facts.peak_step, 0
        for value, pieces, *_ in changes:
            if value == NONE:
                continue
            kept = (piece.size_bytes for piece in pieces if piece.start_step <= step <= piece.end_step)
            found += max(0, min(facts.owned.get(value, 0), facts.size[value] - max(kept, default=0)))
        return max(found, self._unneeded_bytes({row for change in changes for row in change.outputs}))

    def _unneeded_bytes(self, allocations: set[int]) -> int:
        return sum(self.facts.dump.allocations.size_bytes[[*allocations]].tolist())

    def _action(self, row: RuleRow, changes: Sequence[Change]) -> Action:
        space, edit = self.facts.space, _edit(changes)
        outputs = tuple(output for change in changes for output in change.outputs)
        after = self._after([edit], [outputs])
        others = [change for change in changes if not is_product(self.facts, change)]
        is_policy = row.rule is Rule.REMATERIALIZE and len(others) < len(changes)
        kept = self._after([_edit(others)], [()]) if is_policy else None
        return Action(
            rule=row.rule,
            certainty=Certainty.ESTIMATED,
            groups=self.facts.groups(changes),
            edit=edit,
            saved_bytes=space.peak_live_bytes - after.peak_bytes,
            saved_needed_bytes=space.needed_bytes - after.needed_bytes,
            needed_bytes=after.needed_bytes,
            peak_bytes=after.peak_bytes,
            peak_step=after.peak_step,
            outputs=outputs,
            layers=changes[0].layers,
            factor=row.factor,
            call=self.facts.call(changes, is_part=row.rule is Rule.REMATERIALIZE),
            with_products_bytes=space.needed_bytes - kept.needed_bytes if kept else None,
        )

    def after(self, actions: Sequence[Action]) -> After:
        """Return what the program needs after some actions, and the peak."""
        return self._after([action.edit for action in actions], [action.outputs for action in actions])

    def _after(self, edits: Sequence[Edit], outputs: Sequence[tuple[int, ...]]) -> After:
        """Actions save allocations that the program no longer needs, what they take off arguments, and as many bytes as
        the peak of the temporaries falls.
        """
        space, edit = self.facts.space, combined(edits)
        changes, unneeded = self.edited.changes(edit), {row for rows in outputs for row in rows}
        live = self.edited.live_after(changes)
        saved = self._unneeded_bytes(unneeded) + self._smaller_arguments(edit, unneeded)
        saved += self.edited.temporaries.peak_bytes - self.edited.temporaries_after(changes).peak_bytes
        # Two actions may save the same bytes. What is live must be provided, except for thread-local buffers.
        least = live.peak_bytes + min(0, space.needed_bytes - space.peak_live_bytes)
        return After(max(least, space.needed_bytes - saved), live.peak_bytes, live.peak_step)

    def _smaller_arguments(self, edit: Edit, unneeded: set[int]) -> int:
        """The bytes that an edit takes off the allocations of arguments."""
        allocations, left = self.facts.dump.values.allocation, dict[int, int]()
        for value, pieces in edit.items():
            row = int(allocations[value])
            if value != NONE and row not in unneeded and self.facts.kind[value] & Kind.PARAMETER:
                left[row] = max(left.get(row, 0), *(piece.size_bytes for piece in pieces))
        return self._unneeded_bytes(set(left)) - sum(left.values())

    def plan(self, actions: Sequence[Action], budget_bytes: int) -> tuple[list[int], list[After]]:
        """Take the actions that help, one after another until the budget is reached. Return their rows, and what the
        program needs before them and after each.
        """
        taken, states = list[int](), [self.after(())]
        for row in range(len(actions)):
            if states[-1].needed_bytes <= budget_bytes:
                break
            after = self.after([actions[other] for other in (*taken, row)])
            if after.needed_bytes < states[-1].needed_bytes:
                taken.append(row)
                states.append(after)
        return taken, states

    def budget(self, actions: Sequence[Action], budget_bytes: int, argument_bytes: int) -> Budget:
        """Plan how to reach a budget, without actions that turn out not to be needed."""
        taken, states = self.plan(actions, budget_bytes)
        is_reached = states[-1].needed_bytes <= budget_bytes
        for row in reversed(taken) if is_reached else ():
            others = [other for other in taken if other != row]
            if self.after([actions[other] for other in others]).needed_bytes <= budget_bytes:
                taken = others
        afters = [self.after([actions[row] for row in taken[:count]]) for count in range(1, len(taken) + 1)]
        return Budget(
            budget_bytes=budget_bytes,
            actions=tuple(taken),
            needs=tuple(after.needed_bytes for after in afters),
            peaks=tuple(after.peak_bytes for after in afters),
            is_reached=is_reached,
            argument_bytes=argument_bytes,
        )


def _edit(changes: Sequence[Change]) -> Edit:
    """What is left of each changed value."""
    return {change.value: change.pieces for change in changes}


def measured(advice: Advice, rule: Rule, after: MemorySpace | None) -> Advice:
    """Return advice with what came of the action of a rule: the memory space of the changed program."""
    needed, peak, step = (after.needed_bytes, after.peak_live_bytes, after.peak_step) if after else (0, 0, None)

    def with_numbers(action: Action) -> Action:
        return replace(
            action,
            certainty=Certainty.MEASURED,
            saved_bytes=advice.peak_bytes - peak,
            saved_needed_bytes=advice.needed_bytes - needed,
            needed_bytes=needed,
            peak_bytes=peak,
            peak_step=step,
        )

    actions = (with_numbers(action) if action.rule is rule else action for action in advice.actions)
    return replace(advice, actions=tuple(actions))


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
    trees = [_tree(facts, name, values) for (name, _), values in found.items()]
    return tuple(sorted(trees, key=lambda tree: (-tree.size_bytes, tree.name)))


def _tree(facts: Facts, name: str, values: list[int]) -> ArgumentTree:
    size_bytes = sum(facts.size[value] for value in values)
    idle_bytes = sum(facts.size[value] for value in values if value in facts.idle_arguments)
    return ArgumentTree(name, len(values), size_bytes, is_idle=idle_bytes * 2 > size_bytes)
