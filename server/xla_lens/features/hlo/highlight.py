"""Where an HLO module mentions what stands at a place of it, for an editor to mark."""

from itertools import islice

from xla_lens.model.hlo.mentions import HloMention, definition_place, hlo_uses
from xla_lens.model.hlo.module import HloModule


def hlo_highlights(module: HloModule, mention: HloMention, limit: int) -> list[HloMention]:
    """The definition of an instruction or a computation, and the words that mean it, or any element of it; at most
    `limit`.
    """
    place = definition_place(module, mention.target)
    definition = HloMention(mention.target, place.start, place.end, is_definition=True)
    return [definition, *islice(hlo_uses(module, mention.target), limit - 1)]
