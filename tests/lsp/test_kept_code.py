"""What libraries compile while the server starts is kept for its next start."""

import builtins
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lsp.wire import Process, eventually
from xla_lens.lsp.kept_code import keep_code, save_code

_TEXTS = [f"def method(self):\n    return self.field_{number}\n" for number in range(20)]


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The texts that Python itself compiles."""
    original, found = builtins.compile, list[str]()

    def counting(source: Any, *arguments: Any, **named: Any) -> Any:
        found.append(source)
        return original(source, *arguments, **named)

    monkeypatch.setattr(builtins, "compile", counting)
    yield found
    assert builtins.compile is counting


def _compile_all(path: Path, texts: list[str]) -> list[Any]:
    keep_code(path)
    codes = [compile(text, "<generated>", "exec") for text in texts]
    save_code()
    return codes


def test_next_start_compiles_nothing(tmp_path: Path, compiled: list[str]) -> None:
    path = tmp_path / "code"
    before = _compile_all(path, _TEXTS)
    assert compiled == _TEXTS
    assert _compile_all(path, _TEXTS) == before
    assert compiled == _TEXTS


def test_few_new_texts_are_compiled_and_not_saved(tmp_path: Path, compiled: list[str]) -> None:
    path = tmp_path / "code"
    _compile_all(path, _TEXTS)
    saved = path.read_bytes()
    _compile_all(path, [*_TEXTS, "new = 1"])
    assert compiled == [*_TEXTS, "new = 1"]
    assert path.read_bytes() == saved


def test_texts_of_another_version_of_a_library_are_saved(tmp_path: Path, compiled: list[str]) -> None:
    path, others = tmp_path / "code", [text.replace("field", "other") for text in _TEXTS]
    _compile_all(path, _TEXTS)
    _compile_all(path, others)
    _compile_all(path, others)
    assert compiled == [*_TEXTS, *others]


def test_future_of_the_caller_counts(tmp_path: Path) -> None:
    namespace: dict[str, Any] = {}
    exec("from __future__ import annotations\ndef caller(text): return compile(text, '<a>', 'exec')", namespace)
    keep_code(tmp_path / "code")
    without = compile("def f(x: undefined): pass", "<a>", "exec")
    with_future = namespace["caller"]("def f(x: undefined): pass")
    save_code()
    exec(with_future, namespace)
    assert namespace["f"].__annotations__ == {"x": "undefined"}
    assert with_future != without


def test_other_compilations_are_those_of_python(tmp_path: Path) -> None:
    keep_code(tmp_path / "code")
    assert eval(compile("1 + 1", "<a>", "eval")) == 2
    assert compile(b"x = 1", "<a>", "exec", dont_inherit=True).co_names == ("x",)
    with pytest.raises(SyntaxError):
        compile("x =", "<a>", "exec")
    save_code()
    assert not (tmp_path / "code").exists()


@pytest.mark.parametrize("part", [0, 1, 5, 0.3, 0.9, 0.999])
def test_damaged_code_is_compiled_again(tmp_path: Path, compiled: list[str], part: float) -> None:
    path = tmp_path / "code"
    _compile_all(path, _TEXTS)
    saved = path.read_bytes()
    path.write_bytes(saved[: int(part) if part >= 1 else int(len(saved) * part)])
    _compile_all(path, _TEXTS)
    _compile_all(path, _TEXTS)
    assert compiled == [*_TEXTS, *_TEXTS]


def test_code_of_another_python_is_compiled_again(
    tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "code"
    with monkeypatch.context() as other:
        other.setattr("sys.version", "3.11.0 of another build")
        _compile_all(path, _TEXTS)
    _compile_all(path, _TEXTS)
    assert compiled == [*_TEXTS, *_TEXTS]


def test_folder_that_is_missing_is_no_error(tmp_path: Path) -> None:
    _compile_all(tmp_path / "missing" / "code", _TEXTS)
    assert not (tmp_path / "missing").exists()


async def test_server_keeps_code_beside_its_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", os.fspath(tmp_path))
    answers = []
    for _ in range(2):
        server = await Process.start()
        answers.append(await server.initialize())
        await eventually(lambda: any(tmp_path.rglob("kept_code.*.libraries.pyc")))
        await server.stop()
    first, second = answers
    assert first == second
