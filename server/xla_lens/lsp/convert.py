"""Plain data to the types of the Language Server Protocol."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from lsprotocol import types as lsp

from xla_lens.features.hints import Hint
from xla_lens.features.symbols import Symbol, SymbolKind
from xla_lens.files import explanation_path
from xla_lens.lsp.client import Client
from xla_lens.lsp.plain import Json, Plain
from xla_lens.lsp.session import OpenDocument
from xla_lens.lsp.sync import uri_of
from xla_lens.model.findings import Finding, Severity
from xla_lens.model.members import Member
from xla_lens.model.places import Place
from xla_lens.render.hints import hint_label
from xla_lens.render.messages import message, related_message
from xla_lens.render.symbols import symbol_detail
from xla_lens.text.edits import forward
from xla_lens.text.encoding import Encoding
from xla_lens.text.positions import to_position

_SEVERITIES: Final = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.INFORMATION: lsp.DiagnosticSeverity.Information,
    Severity.HINT: lsp.DiagnosticSeverity.Hint,
}

_SYMBOL_KINDS: Final = {
    SymbolKind.SECTION: lsp.SymbolKind.Namespace,
    SymbolKind.ALLOCATION: lsp.SymbolKind.Array,
    SymbolKind.VALUE: lsp.SymbolKind.Variable,
}


class Converter:
    """Places of one dump set to positions in the texts that the editor has now, which may be ahead of the analysis."""

    def __init__(self, opened: Mapping[Path, OpenDocument], client: Client) -> None:
        # By the labels of their members: to make a path takes longer than all else about a position.
        self._opened = {str(path): document for path, document in opened.items()}
        self._client = client

    def uri(self, member: Member) -> str:
        """The address of a file, as the editor has it if it is open."""
        opened = self._opened.get(member.label)
        return opened.uri if opened else uri_of(Path(member.label))

    def position(self, member: Member, offset: int) -> lsp.Position:
        """Where a byte of an analysed file is."""
        return lsp.Position(*self._position(member, offset))

    def _position(self, member: Member, offset: int) -> tuple[int, int]:
        opened = self._opened.get(member.label)
        document = member.document
        if opened and opened.analysed is document:
            document, offset = opened.document, forward(opened.edits, offset)
        return to_position(document, offset, self._client.encoding)

    def range(self, member: Member, start: int, end: int) -> lsp.Range:
        """Where some bytes of an analysed file are."""
        return lsp.Range(self.position(member, start), self.position(member, end))

    def plain_range(self, member: Member, start: int, end: int) -> Json:
        """Where some bytes of an analysed file are, as JSON: for answers that are long."""
        (first_row, first), (last_row, last) = self._position(member, start), self._position(member, end)
        return {
            "start": {"line": first_row, "character": first},
            "end": {"line": last_row, "character": last},
        }

    def plain_locations(self, places: Iterable[Place]) -> Plain:
        """Where many places are."""
        uris: dict[str, str] = {}
        found = []
        for place in places:
            label = place.member.label
            uri = uris.get(label) or uris.setdefault(label, self.uri(place.member))
            found.append({"uri": uri, "range": self.plain_range(place.member, place.start, place.end)})
        return Plain(found)

    def rows(self, member: Member, offsets: Sequence[int]) -> list[int]:
        """The lines of many bytes of an analysed file."""
        opened = self._opened.get(member.label)
        if opened and opened.edits:
            return [self.position(member, offset).line for offset in offsets]
        found: list[int] = (member.document.line_starts.searchsorted(offsets, "right") - 1).tolist()
        return found

    def columns(self, member: Member, spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
        """The line, and the columns from and to, of many spans that do not go over a line."""
        opened, document = self._opened.get(member.label), member.document
        is_simple = not (opened and opened.edits)
        rows = self.rows(member, [start for start, _ in spans])
        seen, line_start, is_ascii = -1, 0, False
        for row, (start, end) in zip(rows, spans, strict=True):
            if row != seen and is_simple:
                seen, (line_start, line_end) = row, document.line_span(row)
                is_ascii = self._client.encoding is Encoding.UTF8 or document.data[line_start:line_end].isascii()
            if is_simple and is_ascii:
                yield row, start - line_start, end - line_start
            else:
                first, last = self.position(member, start), self.position(member, end)
                # What an edit has torn apart is nothing for now.
                yield first.line, first.character, last.character if last.line == first.line else first.character

    def location(self, place: Place) -> lsp.Location:
        """Where a place is."""
        return lsp.Location(self.uri(place.member), self.range(place.member, place.start, place.end))

    def link(self, place: Place, origin: lsp.Range) -> lsp.LocationLink:
        """A link from a range to a place: editors show its whole line, and put the cursor on it."""
        start, end = place.member.document.line_span(place.member.document.row(place.start))
        whole, name = (
            self.range(place.member, start, max(end, place.end)),
            self.range(place.member, place.start, place.end),
        )
        return lsp.LocationLink(self.uri(place.member), whole, name, origin)

    def address(self, place: Place) -> str:
        """The address of the line of a place, as editors and browsers read it."""
        return f"{self.uri(place.member)}#L{self.position(place.member, place.start).line + 1}"

    def diagnostic(self, finding: Finding) -> lsp.Diagnostic:
        """A finding, with its related places."""
        place = finding.place
        return lsp.Diagnostic(
            range=self.range(place.member, place.start, place.end),
            message=message(finding),
            severity=_SEVERITIES[finding.severity],
            code=finding.code.value,
            code_description=lsp.CodeDescription(explanation_path(finding.code).as_uri()),
            source="xla-lens",
            related_information=[
                lsp.DiagnosticRelatedInformation(self.location(related.place), related_message(related.what))
                for related in finding.related
            ]
            or None,
        )

    def hint(self, member: Member, hint: Hint) -> Json:
        """An `InlayHint`."""
        row, column = self._position(member, hint.offset)
        return {
            "position": {"line": row, "character": column},
            "label": hint_label(hint.facts),
            "paddingLeft": True,
        }

    def symbol(self, member: Member, symbol: Symbol) -> Json:
        """An entry of the outline, with what is below: a `DocumentSymbol`."""
        found: Json = {
            "name": symbol.name,
            "kind": _SYMBOL_KINDS[symbol.kind].value,
            "range": self.plain_range(member, symbol.start, symbol.end),
            "selectionRange": self.plain_range(member, symbol.name_start, symbol.name_end),
            "detail": symbol_detail(symbol),
        }
        if symbol.children:
            found["children"] = [self.symbol(member, child) for child in symbol.children]
        return found

    def flat_symbols(self, member: Member, symbol: Symbol, container: str) -> Iterator[Json]:
        """An entry of the outline and all below it, each a `SymbolInformation`, for editors that take no tree."""
        yield {
            "name": symbol.name,
            "kind": _SYMBOL_KINDS[symbol.kind].value,
            "location": {"uri": self.uri(member), "range": self.plain_range(member, symbol.start, symbol.end)},
            "containerName": container,
        }
        for child in symbol.children:
            yield from self.flat_symbols(member, child, symbol.name)
