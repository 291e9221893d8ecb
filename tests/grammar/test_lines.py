"""The table of the forms of lines, and what is wrong with one that does not fit."""

import json
from typing import Any

import pytest

import lines
from forms import Piece, pieces_of
from generate import generated
from lines import Line, Table
from samples import ROOT
from xla_lens.lsp.capabilities import TOKENS
from xla_lens.syntax.columns import Kind


def _grammar() -> Any:
    return json.loads((ROOT / "grammar/xla_dump/src/grammar.json").read_text())


def test_forms_have_literals_parts_places_options_and_braces() -> None:
    assert pieces_of("{{a: {b}{c:digits/label}[ @{:name}]") == [
        Piece(text="{a: "),
        Piece(column="b"),
        Piece(kind="digits", column="c", color="label"),
        Piece(bracket="["),
        Piece(text=" @"),
        Piece(kind="name", color="name"),
        Piece(bracket="]"),
    ]


@pytest.mark.parametrize(
    ("form", "columns", "problem"),
    [
        ("Total: {size:integer}", "size, count", "what the column count stores"),
        ("Total: {size:integer}", "size: numbers", "what the column size: numbers stores"),
        ("Total: {size:integer}", "count: number", "what the column count: number stores"),
        ("Total: {place}none", "place", "no part tells where place is"),
        ("Total: {:size}", "", "not both in grammar.js and in lines.py: {'SUM'}"),
    ],
)
def test_a_form_that_does_not_fit_is_an_error(
    form: str, columns: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = Table("sums", "Sums.", columns)
    line = Line("total" if columns else "sum", "total", 0, form, "sums")
    monkeypatch.setattr(lines, "TABLES", (*lines.TABLES, table))
    monkeypatch.setattr(lines, "LINES", (*lines.LINES, line))
    with pytest.raises(ValueError, match=problem):
        generated(_grammar())


def test_attributes_are_the_flags_of_allocations() -> None:
    names = [form.split()[0].replace("-", "_").upper() for form in lines.ATTRIBUTES]
    assert [flag.name for flag in Kind] == names[: len(Kind)]


def test_colors_have_types_of_semantic_tokens() -> None:
    assert {color.token for color in lines.COLORS.values()} - {""} <= {*TOKENS.token_types}
