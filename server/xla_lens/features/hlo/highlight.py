"""Document highlights in an HLO module."""

from itertools import islice

from xla_lens.model.hlo.mentions import HloMention, definition_place, references_to
from xla_lens.model.hlo.module import HloModule


def highlights(module: HloModule, mention: HloMention, limit: int) -> list[HloMention]:
    """Return the definition of what is mentioned and the references to it, or to any element of it; at most `limit`."""
    place = definition_place(module, mention.target)
    definition = HloMention(mention.target, place.start, place.end, is_definition=True)
    return [definition, *islice(references_to(module, mention.target), limit - 1)]
