"""`donate`: arguments that the caller keeps could hold outputs."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from xla_lens.advice.actions import Cost
from xla_lens.advice.codes import Rule
from xla_lens.advice.donated_buffers import donation_effects
from xla_lens.advice.facts import NNX_STATE, Effect, Facts
from xla_lens.advice.overwriting import outputs_after_donation
from xla_lens.advice.rule_row import RuleRow
from xla_lens.advice.subject import Average, Subject, listed
from xla_lens.blocks.blocks import Inline, Inlines, Name, plain_text
from xla_lens.model.attribution.parameters import parameter_paths, root_of
from xla_lens.model.attribution.writers import Writers
from xla_lens.model.hlo.order import before_written
from xla_lens.model.memory.donation import Fit, Missed, missed_donations
from xla_lens.model.memory.edits import Piece
from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.columns import NONE, Kind


def donate(facts: Facts) -> Iterator[Effect]:
    """Yield the arguments that the caller does not donate although an output could use their buffers. After donation,
    an argument is live only until it is read for the last time.
    """
    dump, color, writers = facts.dump, facts.space.color, facts.origins.writers
    space = dump.values.space
    updates = {output: value for output, value in facts.updated.items() if space[value] == color}
    small = _in_small_arguments(facts, {*updates.values()})
    updates = {output: value for output, value in updates.items() if value not in small}
    rows = [row for row in missed_donations(dump, updates) if space[row.parameter] == color]
    if writers and dump.backend is Backend.CPU:
        yield from _on_cpu(facts, writers, updates, {row.parameter for row in rows}) if updates else ()
        return
    copies = {facts.name[row.first] for row in rows if facts.opcode(row.first) == b"copy"}
    yield Effect(NONE, tuple(piece for row in rows for piece in _copy(facts, row)))
    copied = _copied(facts, rows)
    for row in rows:
        value, last = row.parameter, row.birth - (row.parameter not in copied)
        # At the step that writes in place, both share the bytes.
        end = min(last, last if row.last_read is None else row.last_read)
        # Where the buffers of loops have the same initial value, XLA on a GPU leaves the first of them where it is.
        is_left = dump.backend is not Backend.TPU and any(read.name in copies for read in facts.reads(row.first))
        is_unneeded = space[row.output] == color and not is_left
        outputs = (dump.values.allocation.item(row.output),) if is_unneeded else ()
        yield Effect(value, (facts.piece(value, facts.start[value], end),), outputs=outputs)


def _in_small_arguments(facts: Facts, values: Collection[int]) -> set[int]:
    """Those of some arguments that are, with all others of their trees, too small to be worth their name in the code,
    such as a counter: a caller may use it after the call. A tree with arguments that stay has to be taken apart, so it
    has to be larger.
    """
    trees = dict[str, list[int]]()
    for value in values:
        trees.setdefault(facts.tree_of(value), []).append(value)
    sizes = {tree: sum(facts.size[value] for value in found) for tree, found in trees.items()}
    stays = {*facts.all_arguments} - facts.donated - {*values}
    divided = {*map(facts.tree_of, stays)}
    largest = max(sizes.values(), default=0)
    return {
        value
        for tree, found in trees.items()
        if sizes[tree] < largest // (_SMALL_PART_OF_TREE if tree in divided else _SMALL_TREE)
        for value in found
    }


_SMALL_TREE: Final = 10_000
"""A tree is too small if it has less than this part of the bytes of the largest one."""

_SMALL_PART_OF_TREE: Final = 16
"""A tree of which other arguments stay is too small if what is donated of it has less than this part of these bytes."""


def _on_cpu(facts: Facts, writers: Writers, updates: Mapping[int, int], fitting: Collection[int]) -> Iterator[Effect]:
    """The effects on a CPU, without donated arguments that do not fit their outputs, which are computed elsewhere."""
    outputs = outputs_after_donation(facts, writers, updates)
    useless = {output.argument for output in outputs if output.is_moved}.difference(fitting)
    if useless:
        left = {output: value for output, value in updates.items() if value not in useless}
        outputs = outputs_after_donation(facts, writers, left)
    return donation_effects(facts, writers, outputs)


def _copied(facts: Facts, rows: Sequence[Missed]) -> set[int]:
    """The arguments that XLA copies because something may read them after an output is written over them. It inserts
    copies before it schedules, except on a TPU: what is read earlier today counts only if the output is computed from
    it.
    """
    dump, module = facts.dump, facts.origins.module
    if module is None or dump.backend is Backend.TPU:
        return set()
    updates = {row.parameter: row.output for row in rows}
    row_of = {value: module.row_of(dump.names[facts.name[value]]) for pair in updates.items() for value in pair}
    uncopied = before_written(module, {row_of[value]: row_of[output] for value, output in updates.items()}).read
    return {value for value in updates if row_of[value] not in uncopied}


def _copy(facts: Facts, row: Missed) -> Iterator[Piece]:
    """The copy of an argument that is read by what writes the output over it, but not in place."""
    # Today, the instruction may write over a copy.
    if row.fit is Fit.READ_LATER and any(read.step == row.birth for read in facts.reads_behind_copies(row.parameter)):
        steps = [read.step for read in facts.reads(row.parameter)]
        yield facts.piece(row.parameter, min(steps) if facts.dump.backend is Backend.CPU else max(steps), max(steps))


def _what(subject: Subject) -> Inlines:
    names = subject.argument_names(root_of)
    # Equinox gives one name to all arguments.
    if not names or _EQUINOX in names:
        return ("Donate the arguments that are updated",)
    whole = _whole_arguments(subject)
    parts = subject.argument_names(lambda path: root if (root := root_of(path)) in whole else path)
    others = () if subject.has_all_names else (" and the other arguments that are updated",)
    return ("Donate ", *listed(parts), *others, *_beginning(subject), *_condition(subject, parts))


def _condition(subject: Subject, names: Sequence[str]) -> Inlines:
    """On which condition arguments may be donated, empty if they are the state of a program that trains. A batch that a
    net adds something to is no state of the program. Weights may be what each client begins with.
    """
    is_state = subject.has_moments or any(not average.is_frozen for average in subject.averages)
    each = "it" if len(names) == 1 else "them"
    return () if subject.is_training and is_state else (f" if nothing uses {each} after the call",)


def _beginning(subject: Subject) -> Inlines:
    """Which arguments must not hold the same arrays: weights that are donated, and averages of them or frozen ones. No
    array can be donated twice in a call, nor be donated and passed another time.
    """
    found = list[Inline]()
    for each in subject.averages:
        found += (", " if found else " (", Name(each.name), " must not be ", Name(each.name_of_weight), " itself")
    return (*found, ")") if found else ()


def _snippet(subject: Subject) -> str | None:
    names, compiled = subject.argument_names(root_of), f"{subject.program} = {subject.jit}({subject.program}"
    if not names or not subject.has_all_names:
        return None
    if _EQUINOX in names:
        # It donates all arguments, or all but the first, which may be a tuple.
        return f'{compiled}, donate="all-except-first")  # once its first argument is all that stays, such as the batch'
    whole = _whole_arguments(subject)
    donated = tuple(name for name in names if name in whole)
    # What is updated beside what stays has to be apart from it.
    parts = subject.argument_names(lambda path: "" if root_of(path) in whole else path)
    apart = [part for part in parts if part]
    notes = [f"and {plain_text(listed(apart))} as arguments of their own"] if apart else []
    if donated and not apart and _condition(subject, donated):
        notes.append(f"if nothing uses {donated[0] if len(donated) == 1 else 'them'} after the call")
    if not apart:
        notes += [_beginning_code(subject, each) for each in subject.averages]
    more = f"  # {'; '.join(notes)}" if notes else ""
    return f"{compiled}, donate_argnames={donated!r}){more}" if donated else None


def _beginning_code(subject: Subject, average: Average) -> str:
    """How an average, or frozen weights, begin if they begin as the weights: as a copy."""
    weights = average.name_of_weight
    copy = f"nnx.clone({root_of(weights)})" if subject.jit == "nnx.jit" else f"jax.tree.map(jnp.copy, {weights})"
    return f"if {average.name} begins as {weights}, let it be {copy}"


def _whole_arguments(subject: Subject) -> set[str]:
    """The arguments all of whose arrays are donated, are to be, or may be because the program returns them anew. An
    argument is donated as a whole, and a part of it that stays, such as the frozen weights beside those that are
    trained, would be gone for the next step. `nnx.jit` returns all states anew.
    """
    dump = subject.dump
    advised = {dump.values.allocation.item(value) for group in subject.groups for value in group.values}
    kept, roots = set[str](), set[str]()
    for allocation, path in parameter_paths(dump).items():
        roots.add(root_of(path))
        is_donated = dump.allocations.kind[allocation] & int(Kind.MAYBE_LIVE_OUT)
        if not is_donated and allocation not in advised | subject.updated and NNX_STATE not in path:
            kept.add(root_of(path))
    return roots - kept


_EQUINOX: Final = "dynamic_nodonate"
"""The name that Equinox gives to all arguments that are not donated."""

ROW: Final = RuleRow(
    rule=Rule.DONATE,
    find=donate,
    what=_what,
    snippet=_snippet,
    cost=Cost.NOTHING,
    measured_by=lambda program: f"xla_lens.capture({program}, *arguments).try_advice()",
)
