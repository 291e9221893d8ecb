"""What is left of a state that the program returns anew if a device has less of it."""

from collections.abc import Collection, Iterator

from xla_lens.advice.donated_buffers import displaced_by_shrinking
from xla_lens.advice.facts import Effect, Facts
from xla_lens.model.tables.backend import Backend


def shrunk_state(facts: Facts, arguments: Collection[int], parts: int) -> Iterator[Effect]:
    """Yield the effects that leave one of several parts of some arguments and of their new contents. All are rows of
    `DumpSet.values`.
    """
    smaller = dict[int, int]()
    for value in arguments:
        same = facts.in_buffer_of(value)
        # Behind a copy of the argument, the buffer may hold other values before the new content is written to it.
        copies = facts.copies_of(value)
        kept = {value, *copies, max(same, key=facts.start.__getitem__)} if copies else {*same}
        # The new content of an argument that is not donated is in a buffer of its own.
        new = facts.new_version(value)
        for other in sorted(kept | {new}):
            yield facts.divided(other, parts)
        if new not in kept:
            smaller[new] = facts.size[new] // parts
    writers = facts.origins.writers
    # On a CPU or a GPU, the buffers of outputs have other values before.
    if smaller and writers and facts.dump.backend is not Backend.TPU:
        yield from displaced_by_shrinking(facts, writers, smaller)
