"""Jumps within an HLO module, and between it and the dump."""

from pathlib import Path
from typing import Any

from lsp.reading import Reader, copied, in_all_encodings, sibling
from samples import DUMPS, SPLIT

NESTED = next(DUMPS.glob("cpu-jaxlib0.12.0.1/nested_tuples/module_0010*-buffer-assignment.txt"))


def _module(path: Path) -> Path:
    return path.with_name(path.name.replace("-buffer-assignment", ""))


async def _lead(reader: Reader, method: str, uri: str, position: Any) -> list[str]:
    params = {"context": {"includeDeclaration": True}} if method == "references" else {}
    return reader.shown(await reader.ask(method, uri, position=position, **params))


@in_all_encodings
async def test_operand_of_a_module_leads_to_its_value_and_back(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(_module(copied(NESTED, tmp_path, "arg_tuple.1", "ärg_tuple🚀")))
    (line,) = (line for line in reader.text(uri).split("\n") if "copy.5 = " in line)
    operand = reader.at(uri, f"{line}\n{' ' * line.index('_tuple🚀#2')}^")
    hover = await reader.ask("hover", uri, position=operand)
    assert hover["contents"]["value"].startswith("**`ärg_tuple🚀{2}`** · 32 B")
    assert "· `programs.py:299`\n" in hover["contents"]["value"]
    assert (
        "- in `nested_tuples.<locals>.tuple_while` of `/home/user/programs/programs.py` ←" in hover["contents"]["value"]
    )
    assert reader.text_at(uri, hover["range"]) == "%ärg_tuple🚀#2"
    assert [place.rpartition(":")[2] for place in await _lead(reader, "definition", uri, operand)] == [" ärg_tuple🚀"]
    (row,) = await _lead(reader, "typeDefinition", uri, operand)
    assert row.endswith("buffer-assignment:12: <32 ärg_tuple🚀{2} (phi) @0>")
    places = await reader.ask("references", uri, position=operand, context={"includeDeclaration": True})
    assert {place["uri"].rpartition("after_optimizations")[2] for place in places} >= {".txt", "-buffer-assignment.txt"}


async def test_dump_leads_to_the_line_of_the_module(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(sibling(SPLIT, "live-range"))
    position = reader.at(uri, "    36:ynn_fusion.1\n         ^")
    (line,) = await _lead(reader, "implementation", uri, position)
    assert line.endswith("after_optimizations:394: ynn_fusion.1")
    hover = await reader.ask("hover", uri, position=position)
    assert "programs.py:" in hover["contents"]["value"]


async def test_answers_follow_edits_of_a_module(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    uri = reader.open(_module(copied(NESTED, tmp_path)))
    assert await reader.ask("hover", uri, position={"line": 0, "character": 0}) is None
    reader.replace(uri, "HloModule ", "\n\nHloModule ")
    (line,) = (line for line in reader.text(uri).split("\n") if "copy.5 = " in line)
    position = reader.at(uri, f"{line}\n{' ' * line.index('_tuple.1#2')}^")
    assert (await _lead(reader, "definition", uri, position))[0].endswith(":47: arg_tuple.1")
    reader.replace(uri, "%copy.5 = ", "%copy.55 = ")
    (line,) = (line for line in reader.text(uri).split("\n") if "copy.55 = " in line)
    hover = await reader.ask("hover", uri, position=reader.at(uri, f"{line}\n   ^"))
    assert hover["contents"]["value"].startswith("`copy.55`, `copy` in `region_0.1`")


async def test_module_without_a_dump_has_answers(reader: Reader, tmp_path: Path) -> None:
    await reader.start()
    path = tmp_path / "module_0000.f.before_optimizations.txt"
    path.write_text(_module(NESTED).read_text())
    uri = reader.open(path)
    (line,) = (line for line in reader.text(uri).split("\n") if "copy.5 = " in line)
    position = reader.at(uri, f"{line}\n{' ' * line.index('_tuple.1#2')}^")
    hover = await reader.ask("hover", uri, position=position)
    assert "has no buffer of its own" not in hover["contents"]["value"]
    assert (await _lead(reader, "definition", uri, position))[0].endswith(":45: arg_tuple.1")
    assert await reader.ask("typeDefinition", uri, position=position) is None


async def test_module_has_no_lenses(reader: Reader) -> None:
    await reader.start()
    uri = reader.open(_module(NESTED))
    assert await reader.ask("codeLens", uri) is None
