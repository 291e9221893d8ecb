"""Find what could be done about the peak of a memory space and what a program needs of it: run the rules, and compute
both after each action.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from xla_lens.model.advice.actions import Action, Advice, Budget, Certainty, combined, peak_after
from xla_lens.model.advice.codes import Rule
from xla_lens.model.advice.rules.arguments import argument_trees, optimizer_state
from xla_lens.model.advice.rules.copies import two_layouts, wide_copy
from xla_lens.model.advice.rules.donate import donate
from xla_lens.model.advice.rules.facts import Draft, Facts
from xla_lens.model.advice.rules.model_parts import attention_scores, gathered, gradients, logits
from xla_lens.model.advice.rules.padding import padding
from xla_lens.model.advice.rules.rematerialize import carried_dimensions, is_layer_input, rematerialize
from xla_lens.model.advice.without import SpaceSlots, space_slots
from xla_lens.model.analysis import Analysis
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.memory.needed import program_bytes
from xla_lens.model.memory.printed_peak import DEFAULT_COLOR
from xla_lens.model.warrants import Quantity

MOST_ACTIONS: Final = 12
"""Maximum number of actions, because the peak after each is computed from scratch."""

LEAST_SHARE: Final = 1000
"""An action that saves less than the peak divided by this is left out."""

_RULES: Final[tuple[Callable[[Facts], Iterator[Draft]], ...]] = (
    donate,
    rematerialize,
    optimizer_state,
    gradients,
    attention_scores,
    logits,
    gathered,
    wide_copy,
    two_layouts,
    padding,
)


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
    search = _Search(Facts(analysis.dump, module, space), space_slots(analysis.dump, color), budget_bytes)
    actions = search.actions()
    together = search.together(actions)
    taken = [actions[row] for row in together]
    all_peak_bytes, all_peak_step = search.peak(taken)
    return Advice(
        color=color,
        needed_bytes=space.needed_bytes,
        peak_bytes=space.peak_live_bytes,
        peak_step=space.peak_step,
        actions=actions,
        together=tuple(together),
        all_needed_bytes=search.needed(taken),
        all_peak_bytes=all_peak_bytes,
        all_peak_step=all_peak_step,
        arguments=argument_trees(search.facts),
        argument_bytes=search.argument_bytes,
        budget=search.budget(actions, together),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Search:
    """The search for actions in one memory space."""

    facts: Facts
    slots: SpaceSlots
    budget_bytes: int | None

    @property
    def _peak_bytes(self) -> int:
        return self.facts.space.peak_live_bytes

    @property
    def argument_bytes(self) -> int:
        """The bytes of the allocations of the program's arguments."""
        return program_bytes(self.facts.dump, self.facts.space.color).argument_bytes

    def actions(self) -> tuple[Action, ...]:
        """Run the rules and return what saves memory, the greatest saving first: of what the program needs if that is
        more than the budget, otherwise of the peak.
        """
        drafts = [(self._most_saved(draft), draft) for rule in _RULES for draft in rule(self.facts)]
        drafts.sort(key=lambda pair: -pair[0])
        least = max(1, self._peak_bytes // LEAST_SHARE)
        found = [self._action(draft) for most, draft in drafts[:MOST_ACTIONS] if most >= least]
        found = [action for action in found if max(action.saved_bytes, action.saved_needed_bytes) >= least]
        if self.budget_bytes is not None and self.facts.space.needed_bytes > self.budget_bytes:
            return tuple(sorted(found, key=lambda action: -action.saved_needed_bytes))
        return tuple(sorted(found, key=lambda action: (-action.saved_bytes, -action.saved_needed_bytes)))

    def _most_saved(self, draft: Draft) -> int:
        """The bytes that a draft saves at most, at the peak or of the needed bytes."""
        return max(self._most_freed(draft), self._output_bytes(draft.outputs))

    def _output_bytes(self, allocations: Collection[int]) -> int:
        return sum(self.facts.dump.allocations.size_bytes[[*{*allocations}]].tolist())

    def _most_freed(self, draft: Draft) -> int:
        """The bytes at the peak that a draft frees at most: those that its values own and do not keep."""
        step, found = self.facts.peak_step, 0
        for value, pieces in draft.edit.items():
            owned = self.facts.owned.get(value, 0)
            if owned:
                kept = max(
                    (piece.size_bytes for piece in pieces if piece.start_step <= step <= piece.end_step), default=0
                )
                found += max(0, min(owned, self.facts.size(value) - kept))
        return found

    def _action(self, draft: Draft) -> Action:
        live, needed_bytes, most_saved = self.facts.space.live, self.facts.space.needed_bytes, self._most_freed(draft)
        peak_bytes, peak_step = peak_after(self.slots, live, draft.edit, self._peak_bytes - most_saved)
        saved_bytes = self._peak_bytes - peak_bytes
        saved_needed_bytes = self._output_bytes(draft.outputs) if draft.outputs else saved_bytes
        return Action(
            rule=draft.rule,
            certainty=draft.certainty,
            groups=self.facts.groups(draft),
            edit=draft.edit,
            most_saved_bytes=most_saved,
            saved_bytes=saved_bytes,
            saved_needed_bytes=saved_needed_bytes,
            needed_bytes=needed_bytes - saved_needed_bytes,
            peak_bytes=peak_bytes,
            peak_step=peak_step,
            outputs=draft.outputs,
            layers=draft.layers,
            factor=draft.factor,
        )

    def peak(self, actions: Sequence[Action]) -> tuple[int, int | None]:
        """Return the peak after some actions and its first step."""
        if not actions:
            return self._peak_bytes, self.facts.peak_step
        if len(actions) == 1:
            return actions[0].peak_bytes, actions[0].peak_step
        at_least = self._peak_bytes - sum(action.most_saved_bytes for action in actions)
        return peak_after(self.slots, self.facts.space.live, combined([action.edit for action in actions]), at_least)

    def needed(self, actions: Sequence[Action]) -> int:
        """Return what the program needs after some actions. They save the allocations that it no longer needs, and in
        the others as many bytes as the peak falls.
        """
        outputs = [row for action in actions for row in action.outputs]
        others = [action for action in actions if not action.outputs]
        saved = self._output_bytes(outputs) + self._peak_bytes - self.peak(others)[0]
        # Two actions may save the same bytes. What is live must be provided in any case.
        return max(self.peak(actions)[0], self.facts.space.needed_bytes - saved)

    def together(self, actions: Sequence[Action]) -> list[int]:
        """Return the actions that can be taken together. Layers can be computed again only from an input that stays
        saved: what looks like the input of a layer, or the smallest group if nothing does.
        """
        rows = [row for row, action in enumerate(actions) if action.rule is Rule.REMATERIALIZE]
        carried = carried_dimensions(self.facts) if len(rows) > 1 else set()
        inputs = [row for row in rows if is_layer_input(self.facts, actions[row], carried)]
        kept = (inputs or rows[1:])[-1:]
        return [row for row in range(len(actions)) if row not in kept]

    def budget(self, actions: Sequence[Action], together: Sequence[int]) -> Budget | None:
        """Take the actions one after another until the budget is reached, those that are only possible last. None
        without a budget.
        """
        budget_bytes = self.budget_bytes
        if budget_bytes is None:
            return None
        taken: list[int] = []
        needs = [self.facts.space.needed_bytes]
        for row in sorted(together, key=lambda row: (actions[row].certainty is Certainty.POSSIBLE, row)):
            if needs[-1] <= budget_bytes:
                break
            after = self.needed([actions[other] for other in (*taken, row)])
            if after < needs[-1]:
                taken.append(row)
                needs.append(after)
        return Budget(
            budget_bytes=budget_bytes,
            actions=tuple(taken),
            needs=tuple(needs[1:]),
            peaks=tuple(self.peak([actions[row] for row in taken[: count + 1]])[0] for count in range(len(taken))),
            is_reached=needs[-1] <= budget_bytes,
            argument_bytes=self.argument_bytes,
        )
