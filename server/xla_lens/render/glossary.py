"""One sentence for each term of a dump that hovers explain."""

from collections.abc import Sequence
from typing import Final

from xla_lens.features.hover.glossary import Term, TermFacts
from xla_lens.render.markdown import code
from xla_lens.render.memory_spaces import space_name
from xla_lens.syntax.columns import Kind

_SENTENCES: Final = {
    Term.THREAD_LOCAL: "a buffer inside a fusion, a reduction or the like, without device memory of its own",
    Term.MAYBE_LIVE_OUT: "the buffer may hold an output of the program, so it is kept to the end",
    Term.PREALLOCATED_TEMP: "one block for temporaries; values that are not live at the same time share its bytes",
    Term.REMAT: "XLA computes the value again instead of keeping it live, which takes time to save memory",
}

_KINDS: Final = (
    (Kind.THREAD_LOCAL, Term.THREAD_LOCAL),
    (Kind.PREALLOCATED_TEMP, Term.PREALLOCATED_TEMP),
    (Kind.MAYBE_LIVE_OUT, Term.MAYBE_LIVE_OUT),
)


def term_markdown(facts: TermFacts) -> str:
    """Return what a term means as Markdown, in one sentence."""
    return f"**{code(facts.text)}**: {_sentence(facts)}."


def kind_sentence(kind: Kind) -> str | None:
    """Return what the kind of an allocation means, None for kinds that need no explanation."""
    return next((_SENTENCES[term] for flag, term in _KINDS if flag in kind), None)


def remat_sentence() -> str:
    """Return what `remat` in the name of a value means."""
    return _SENTENCES[Term.REMAT]


def _sentence(facts: TermFacts) -> str:
    if facts.term is Term.TILES:
        return _tiles(facts.tiles)
    if facts.space:
        name = space_name(facts.space)
        number = "" if name == f"memory space {facts.space.color}" else f", memory space {facts.space.color}"
        return f"the array is in {name}{number}"
    return _SENTENCES[facts.term]


def _tiles(tiles: Sequence[Sequence[int]]) -> str:
    first, *inner = tiles
    lengths = " × ".join(f"{length:,}" for length in first)
    padded = " and ".join(f"{length:,}" for length in first)
    dimensions = "last dimension is" if len(first) == 1 else f"last {len(first)} dimensions are"
    multiple = "a multiple" if len(first) == 1 else "multiples"
    split = "".join(f", each made of tiles of {' × '.join(map(str, lengths))}" for lengths in inner)
    return (
        f"the array is stored in tiles of {lengths} elements{split}; in memory order, its {dimensions} padded to "
        f"{multiple} of {padded}"
    )
