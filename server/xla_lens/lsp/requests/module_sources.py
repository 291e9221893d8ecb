"""Requests about an HLO module that have to do with the lines of the program, or with what the dump knows of it."""

from lsprotocol import types as lsp

from xla_lens.features.actions import source_actions
from xla_lens.features.hints import module_hints
from xla_lens.features.hlo.links import hlo_links
from xla_lens.lsp.plain import Plain
from xla_lens.lsp.requests.context import ModuleContext
from xla_lens.lsp.requests.documents import HINT_LIMIT, LINK_LIMIT, links_to
from xla_lens.lsp.requests.suggestions import offer
from xla_lens.model.hlo.mentions import HloInstruction


def list_links(context: ModuleContext, _params: lsp.DocumentLinkParams) -> Plain:
    """The links to sources."""
    found = hlo_links(context.module, LINK_LIMIT + 1)
    return links_to(context, [(link.start, link.end, link.frame) for link in found])


def list_actions(context: ModuleContext, params: lsp.CodeActionParams) -> list[lsp.CodeAction | lsp.Command] | None:
    """To go to the calls that made an instruction."""
    module, mention = context.module, context.hlo_mention(params.range.start)
    if mention is None or not isinstance(mention.target, HloInstruction):
        return None
    return offer(context, params, source_actions(module.frames(module.metadata(mention.target.row))))


def show_hints(context: ModuleContext, params: lsp.InlayHintParams) -> Plain | None:
    """Beside the scheduled instructions what they take, and what is live when they run."""
    if not context.settings.inlay_hints:
        return None
    start, end = context.offset(params.range.start), context.offset(params.range.end)
    found = module_hints(context.analysis, context.module, start, end, HINT_LIMIT)
    return context.convert.hints(context.file, found)
