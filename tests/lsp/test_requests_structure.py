"""The structure of a dump file: folding, selection and semantic tokens."""

from pathlib import Path
from typing import Any

import pytest

from lsp.conftest import Loads
from lsp.reading import Reader, copied, in_all_encodings, lines, rows
from lsp.wire import FULL
from samples import SEED
from xla_lens.lsp.requests import structure

# ---------------------------------------------------------------- folding


async def _folds(reader: Reader, uri: str) -> list[tuple[int, int, str]]:
    """Return the folding ranges: first and last line, and the first line's text."""
    text = lines(reader.text(uri))
    found = await reader.ask("foldingRange", uri)
    # The kinds of the protocol are for programs: comments, imports and regions.
    assert all(fold.keys() == {"startLine", "endLine"} for fold in found)
    return [(fold["startLine"] + 1, fold["endLine"] + 1, text[fold["startLine"]]) for fold in found]


async def test_dump_has_folding_ranges(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(SEED)
    assert [(first, last, line[:22]) for first, last, line in await _folds(reader, uri)] == [
        (1, 12, "BufferAssignment:"),
        (2, 3, "allocation 0: 0x399be1"),
        (4, 5, "allocation 1: 0x399bec"),
        (6, 8, "allocation 2: 0x399bf7"),
        (9, 10, "allocation 3: 0x399c02"),
        (11, 12, "allocation 4: 0x399c0d"),
        (16, 54, "Used values:"),
        (17, 22, "<0 param @0>"),
        (23, 30, "<1 param.1 @0>"),
        (24, 26, " positions:"),
        (27, 29, " uses:"),
        (31, 37, "<2 negate.0 @0>"),
        (32, 34, " positions:"),
        (38, 42, "<3 tuple{} @0>"),
        (43, 48, "<4 cublas-gemm.1 @0>"),
        (49, 54, "<5 fusion @0>"),
        (57, 77, "HloLiveRange (max 7):"),
        (58, 65, "  InstructionSequence:"),
        (66, 72, "  BufferLiveRange:"),
        (73, 77, "  Live ranges at 5 (pe"),
    ]


async def test_editors_with_a_limit_get_the_biggest_folding_ranges(reader: Reader) -> None:
    await reader.start({**FULL, "textDocument": {"foldingRange": {"rangeLimit": 4}}})
    uri = reader.open(SEED)
    assert [fold[:2] for fold in await _folds(reader, uri)] == [(1, 12), (16, 54), (57, 77), (58, 65)]
    (logged,) = reader.editor.received("window/logMessage")
    assert (
        logged["params"]["message"] == f"textDocument/foldingRange, {uri}: only the 4 biggest folding ranges are shown"
    )


async def test_folding_ranges_follow_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _folds(reader, uri)
    await reader.analysed(uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "\n\r\n\rBufferAssignment:")
    assert await _folds(reader, uri) == [(first + 3, last + 3, line) for first, last, line in before]
    reader.replace(uri, "    cublas-gemm.1: 4096 bytes", "")
    reader.replace(uri, reader.text(uri).partition("Used values")[0], "")
    assert (await _folds(reader, uri))[0][2] == "Used values:"


# ---------------------------------------------------------------- selection


async def _selections(reader: Reader, uri: str, marked: str) -> list[str]:
    """Return the texts of the selection ranges around a marked place."""
    (found,) = await reader.ask("selectionRange", uri, positions=[reader.at(uri, marked)])
    texts = []
    while found:
        texts.append(reader.text_at(uri, found["range"]))
        found = found.get("parent")
    return texts


@in_all_encodings
async def test_selection_ranges_widen_to_the_whole_file(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    word, row, *blocks, whole = await _selections(reader, uri, "    cüb🚀las-gemm.1: 4096 bytes\n                 ^")
    assert (word, row) == ("cüb🚀las-gemm.1", "cüb🚀las-gemm.1: 4096 bytes")
    assert [block.split("\n")[0] for block in blocks] == ["Live ranges at 5 (peak):", "HloLiveRange (max 7):"]
    assert whole == reader.text(uri)
    marked = " value: <4 cüb🚀las-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0}\n"
    texts = await _selections(reader, uri, f"{marked}{' ' * marked.index('16]')}^")
    assert texts[:5] == ["16", "64,16", "[64,16]", "f32[64,16]{1,0}", marked.strip()]
    assert texts[5].startswith("allocation 2: 0x399bf70")


async def test_selection_ranges_of_many_positions_are_limited(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positions over the limit get an empty range, since each needs one."""
    monkeypatch.setattr(structure, "POSITION_LIMIT", 2)
    await reader.start()
    uri = reader.open(SEED)
    places = [{"line": row, "character": 9} for row in (66, 67, 68, 9999)]
    found = await reader.ask("selectionRange", uri, positions=places)
    assert [reader.text_at(uri, selection["range"]) for selection in found[:2]] == ["param{}", "param.1{}"]
    assert [selection["range"]["start"] for selection in found[2:]] == places[2:]


async def test_selection_ranges_of_deep_nesting_are_limited(reader: Reader, tmp_path: Path) -> None:
    """The innermost ranges and the whole file stay."""
    await reader.start()
    uri = reader.open(copied(SEED, tmp_path, "%tuple = ", f"%tuple = {3000 * '('}{3000 * ')'}"))
    (line,) = (line for line in reader.text(uri).split("\n") if "%tuple = " in line)
    texts = await _selections(reader, uri, f"{line}\n{' ' * (line.index('()') + 1)}^")
    assert len(texts) == structure.NESTING_LIMIT
    assert texts[:3] == ["()", "(())", "((()))"]
    assert texts[-1] == reader.text(uri)


async def test_selection_ranges_follow_edits(reader: Reader, loads: Loads) -> None:
    await reader.start()
    uri = reader.open(SEED)
    before = await _selections(reader, uri, "    cublas-gemm.1: 4096 bytes\n      ^")
    await reader.analysed(uri)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\nBufferAssignment:")
    after = await _selections(reader, uri, "    cublas-gemm.1: 4096 bytes\n      ^")
    assert after[:-1] == before[:-1]
    assert after[-1].endswith(before[-1])


# ---------------------------------------------------------------- semantic tokens


async def _tokens(reader: Reader, uri: str, legend: Any, range_: Any = None) -> dict[int, list[str]]:
    """Return the semantic tokens of each line, such as ``fusion:variable+liveAtPeak``."""
    found = await reader.ask("semanticTokens/range", uri, range=range_ or reader.whole(uri))
    tokens: dict[int, list[str]] = {}
    row = column = 0
    numbers = iter(found["data"])
    for down, right, width, kind, modifiers in zip(*[numbers] * 5, strict=True):
        row, column = row + down, right if down else column + right
        ends = ({"line": row, "character": column}, {"line": row, "character": column + width})
        word = reader.text_at(uri, dict(zip(("start", "end"), ends, strict=True)))
        names = [name for bit, name in enumerate(legend["tokenModifiers"]) if modifiers >> bit & 1]
        tokens.setdefault(row + 1, []).append(f"{word}:{'+'.join([legend['tokenTypes'][kind], *names])}")
    return tokens


async def _legend(reader: Reader) -> Any:
    return (await reader.start())["capabilities"]["semanticTokensProvider"]["legend"]


@in_all_encodings
async def test_dump_has_semantic_tokens(reader: Reader, tmp_path: Path) -> None:
    legend = await _legend(reader)
    uri = reader.open(copied(SEED, tmp_path, "cublas", "cüb🚀las"))
    found = await _tokens(reader, uri, legend)
    assert found[1] == ["BufferAssignment:namespace"]
    assert found[6] == [
        "allocation:keyword",
        "2:class+definition",
        "0x399bf70:number",
        "size:property",
        "4096:number",
        "maybe-live-out:enumMember",
    ]
    assert found[8] == [
        "value:keyword",
        "4:number",
        "cüb🚀las-gemm.1:variable+liveAtPeak",
        "0:number",
        "size:property",
        "4096:number",
        "offset:property",
        "0:number",
        "f32[64,16]{1,0}:type",
    ]
    assert found[43] == ["4:number", "cüb🚀las-gemm.1:variable+definition+liveAtPeak", "0:number"]
    assert found[47] == ["negate.0:variable", "operand:property", "0:number"]
    assert found[63] == ["4:number", "cüb🚀las-gemm.1:variable+liveAtPeak"]
    assert "%cüb🚀las-gemm.1:variable+liveAtPeak" in found[37]


async def test_tokens_of_a_range_are_those_of_its_lines(reader: Reader) -> None:
    legend = await _legend(reader)
    uri = reader.open(SEED)
    whole = await _tokens(reader, uri, legend)
    some = await _tokens(reader, uri, legend, rows(40, 48))
    assert some == {row: words for row, words in whole.items() if 41 <= row <= 48}
    assert await _tokens(reader, uri, legend, rows(14, 15)) == {}


async def test_semantic_tokens_follow_edits(reader: Reader, loads: Loads) -> None:
    legend = await _legend(reader)
    uri = reader.open(SEED)
    before = await _tokens(reader, uri, legend)
    loads.hold()
    reader.replace(uri, "BufferAssignment:", "🚀\r\n\tBufferAssignment:")
    reader.replace(uri, "    cublas-gemm.1{}:4-5", "🚀    cublas-gemm.1{}:4-5")
    assert await _tokens(reader, uri, legend) == {row + 1: words for row, words in before.items()}
    reader.replace(uri, "Used values:", "Used\n values:")
    after = await _tokens(reader, uri, legend)
    # A token split by an edit has no width until the next analysis.
    assert not any(words[0].startswith("Used") for words in after.values())


async def test_truncated_semantic_tokens_are_logged(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "TOKEN_LIMIT", 7)
    legend = await _legend(reader)
    uri = reader.open(SEED)
    assert sum(map(len, (await _tokens(reader, uri, legend)).values())) == 7
    await _tokens(reader, uri, legend)
    (logged,) = reader.editor.received("window/logMessage")
    assert "more than 7 semantic tokens" in logged["params"]["message"]


# ---------------------------------------------------------------- positions without a mention


@pytest.mark.parametrize(
    ("method", "params", "empty"),
    [
        ("documentSymbol", {}, [[]]),
        ("foldingRange", {}, [[]]),
        ("semanticTokens/range", {"range": rows(0, 9)}, [{"data": []}]),
        ("inlayHint", {"range": rows(0, 9)}, [[]]),
        ("documentLink", {}, [[]]),
        ("selectionRange", {"positions": []}, [[]]),
    ],
)
async def test_document_that_is_not_a_dump_has_no_structure(
    reader: Reader, tmp_path: Path, method: str, params: Any, empty: Any
) -> None:
    await reader.start()
    uri = reader.open(tmp_path / "x-buffer-assignment.txt", "nothing of a dump\n")
    assert await reader.ask(method, uri, **params) in (*empty, None)
    assert await reader.ask(method, (tmp_path / "closed.txt").as_uri(), **params) is None
