"""Which modules the commands import: what a command does not need must not delay it."""

import re
import subprocess
import sys

import pytest

from samples import SPLIT

_PROTOCOL = {"pygls", "lsprotocol", "attr", "attrs", "cattrs"}

_EXTERNAL = {"numpy", "tree_sitter", "tree_sitter_xla_dump", *_PROTOCOL}

_ENGINE = {"xla_lens.text.document", "xla_lens.syntax.rows", "xla_lens.model.analysis", "xla_lens.disk.sets"}


def imported(*arguments: object) -> set[str]:
    """The modules that a command imports, with the packages they are in. The command reads an empty input."""
    command = [sys.executable, "-X", "importtime", "-m", "xla_lens", *map(str, arguments)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    modules = re.findall(r"^import time: +\d+ \| +\d+ \| +(\S+)$", done.stderr, re.MULTILINE)
    assert "xla_lens.cli.main" in modules, done.stderr
    return {*modules, *(module.split(".")[0] for module in modules)}


@pytest.mark.parametrize(
    "arguments",
    [
        ("--version",),
        ("report", "--help"),
        ("explain", "overlapping-slices"),
        ("check", "--select", "no-such-code", "PATH"),
    ],
    ids=" ".join,
)
def test_help_and_errors_need_neither_numpy_nor_the_engine(arguments: tuple[str, ...]) -> None:
    assert not imported(*arguments) & {*_EXTERNAL, *_ENGINE, "asyncio", "xla_lens.lsp"}


def test_a_report_needs_no_part_of_the_server() -> None:
    modules = imported("report", SPLIT, "--part", "totals,peak")
    assert modules >= _ENGINE
    assert not modules & {*_PROTOCOL, "asyncio", "xla_lens.lsp"}


def test_a_report_as_text_needs_neither_json_nor_maps_nor_the_patterns_of_messages() -> None:
    modules = imported("report", SPLIT, "--part", "totals,peak")
    assert not modules & {"xla_lens.report.report_json", "hashlib", "xla_lens.memory_map.page", "xla_lens.syntax.oom"}


def test_a_check_as_text_needs_no_format_of_ci_systems() -> None:
    modules = imported("check", SPLIT)
    assert modules >= _ENGINE
    assert not modules & {"hashlib", "xml", "http", "ssl"}


@pytest.mark.parametrize("output_format", ["text", "json"])
def test_a_report_of_one_set_needs_neither_processes_nor_masked_arrays(output_format: str) -> None:
    modules = imported("report", SPLIT, "--output-format", output_format)
    assert modules >= _ENGINE
    assert not modules & {"concurrent", "multiprocessing", "numpy.ma", "xla_lens.cli.run"}


def test_the_server_answers_initialize_before_it_imports_the_engine() -> None:
    modules = imported("server")
    assert modules >= {"xla_lens.lsp", "pygls", "lsprotocol"}
    assert not modules & ({*_EXTERNAL, *_ENGINE} - _PROTOCOL)
