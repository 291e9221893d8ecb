"""Keeps examples in `docs/` true: runs the commands and code that they show, and compares or updates the output.

In a `console` block, each line that starts with `$ ` runs `xla-lens` in the root of the repository, and the lines below
it are its output; `| head -N` and `| tail -n +N` cut it as in a shell. The `python` blocks of a file run one after
another, and a `text` block below one is what it prints. The reference in `docs/library.md` comes from docstrings.

`make docs` updates all of them.
"""

import inspect
import io
import re
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

from msgspec import Struct

import xla_lens.api
from samples import ROOT
from xla_lens.cli.main import main

DOCS = ROOT / "docs"

_CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PYTHON = re.compile(r"^```python\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
_REFERENCE = re.compile(r"(?<=<!-- reference: generated from docstrings -->\n).*\Z", re.DOTALL)


def documents() -> list[Path]:
    """The files with examples that this module keeps."""
    return [DOCS / "reports.md", DOCS / "advice.md", DOCS / "out-of-memory.md", DOCS / "diff.md", DOCS / "library.md"]


def updated(text: str) -> str:
    """Return a document with up-to-date examples and reference."""
    text = _CONSOLE.sub(lambda block: f"```console\n{_console(block[1])}```", text)
    names: dict[str, Any] = {}
    text = _PYTHON.sub(lambda block: _python(block[1], names), text)
    return _REFERENCE.sub(lambda _: reference(), text)


def _console(block: str) -> str:
    commands = [line for line in block.splitlines() if line.startswith("$ ")]
    return "".join(f"{command}\n{_output(command)}" for command in commands)


def _output(command: str) -> str:
    first, *pipes = command.removeprefix("$ ").split(" | ")
    program, *arguments = shlex.split(first)
    assert program == "xla-lens", command
    output = io.StringIO()
    with redirect_stdout(output), chdir(ROOT):
        main(arguments)
    lines = output.getvalue().splitlines()
    for pipe in pipes:
        head, tail = re.fullmatch(r"head -(\d+)", pipe), re.fullmatch(r"tail -n \+(\d+)", pipe)
        assert head or tail, command
        lines = lines[: int(head[1])] if head else lines[int(tail[1]) - 1 :] if tail else lines
    return "".join(f"{line}\n" for line in lines)


def _python(code: str, names: dict[str, Any]) -> str:
    output = io.StringIO()
    with redirect_stdout(output), chdir(ROOT):
        exec(code, names)
    printed = output.getvalue()
    return f"```python\n{code}```" + (f"\n\n```text\n{printed}```" if printed else "")


# ---------------------------------------------------------------- the reference


def reference() -> str:
    """The public API by its docstrings: functions first, then the classes that they return."""
    names = [(name, getattr(xla_lens.api, name)) for name in xla_lens.api.__all__]
    functions = [(name, one) for name, one in names if inspect.isfunction(one)]
    classes = [(name, one) for name, one in names if inspect.isclass(one)]
    assert len(functions) + len(classes) == len(names)
    lines = ["", "## Functions", "", *(line for name, one in functions for line in _entry(name, one))]
    lines += ["## Classes", "", *(line for name, one in classes for line in _entry(name, one))]
    return "\n".join(lines).rstrip("\n") + "\n"


def _entry(name: str, one: Any) -> Iterator[str]:
    yield f"### `{name}`"
    yield ""
    if inspect.isfunction(one):
        yield "```text"
        yield f"{name}{_signature(one)}"
        yield "```"
        yield ""
    yield _markdown(inspect.getdoc(one) or "")
    yield ""
    if inspect.isclass(one):
        yield from _members(one)


def _members(one: type) -> Iterator[str]:
    if issubclass(one, Struct):
        names = ", ".join(f"`{field}`" for field in one.__struct_fields__ if not field.startswith("_"))
        yield f"- fields: {names}"
    ours = [base for base in reversed(one.__mro__) if base.__module__.startswith("xla_lens")]
    for name, content in {name: content for base in ours for name, content in vars(base).items()}.items():
        found = content if inspect.isfunction(content) else getattr(content, "fget", getattr(content, "func", None))
        if not name.startswith("_") and found and found.__doc__:
            call = _signature(found, is_method=True) if found is content else ""
            yield f"- `{name}{call}`: {_markdown(' '.join(inspect.cleandoc(found.__doc__).split()))}"
    yield ""


def _signature(function: Any, *, is_method: bool = False) -> str:
    """The signature without `self`, and without the modules of the types."""
    signature = inspect.signature(function)
    if is_method:
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    text = re.sub(r"\b(?:\w+\.)+(?=\w)", "", str(signature).replace("'", ""))
    return _COLUMN.sub("Column", text)


_COLUMN = re.compile(r"NDArray\[\w+\]|ndarray\[(?:tuple\[[^\]]*\]|Any), dtype\[\w+\]\]")
"""A column as numpy 2.5 and as earlier versions print its type."""


def _markdown(docstring: str) -> str:
    """A docstring as Markdown: double backticks become single ones."""
    return docstring.replace("``", "`")


if __name__ == "__main__":
    for document in documents():
        document.write_text(updated(document.read_text(encoding="utf-8")), encoding="utf-8")
