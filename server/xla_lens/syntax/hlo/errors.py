"""Where the grammar of HLO does not know an instruction or a shape."""

from tree_sitter import Node

from xla_lens.syntax.tree import parse_hlo


def first_error(text: bytes) -> int | None:
    """Return the byte of the first error in an instruction or a shape, None if there is none."""
    node = parse_hlo(text)
    if not node.has_error:
        return None
    while inner := next((child for child in node.children if child.has_error or _is_error(child)), None):
        node = inner
    return node.start_byte


def _is_error(node: Node) -> bool:
    return node.is_error or node.is_missing
