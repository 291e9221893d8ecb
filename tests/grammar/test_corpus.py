"""Run the corpora of both grammars, which have the format of `tree-sitter test`, without the tree-sitter CLI."""

import re
from pathlib import Path

import pytest
from tree_sitter import Language, Parser

from samples import ROOT
from xla_lens.syntax.tree import HLO, XLA_DUMP

_LANGUAGES = {"xla_dump": XLA_DUMP, "hlo": HLO}
_CASE = re.compile(r"^={80}\n([^\n]*)\n={80}\n\n(.*?)\n?-{80}\n\n(.*?)\n+(?=={80}|\Z)", re.MULTILINE | re.DOTALL)


def _cases() -> list[object]:
    return [
        pytest.param(language, source, expected, id=f"{folder}-{name}")
        for folder, language in _LANGUAGES.items()
        for path in sorted((ROOT / "grammar" / folder / "test" / "corpus").glob("*.txt"))
        for name, source, expected in _CASE.findall(path.read_text())
    ]


def _cases_in_files() -> int:
    files = (ROOT / "grammar").glob("*/test/corpus/*.txt")
    return sum(path.read_text().count("=" * 80) // 2 for path in files)


@pytest.mark.parametrize(("language", "source", "expected"), _cases())
def test_corpus_case_parses_as_expected(language: Language, source: str, expected: str) -> None:
    root = Parser(language).parse(source.encode()).root_node
    assert str(root) == re.sub(r"\s+", " ", expected)


def test_every_case_of_the_corpora_runs() -> None:
    assert len(_cases()) == _cases_in_files()


def test_no_case_expects_an_error() -> None:
    assert not [path for path in Path(ROOT, "grammar").glob("*/test/corpus/*.txt") if "ERROR" in path.read_text()]
