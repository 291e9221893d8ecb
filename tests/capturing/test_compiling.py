"""`capture` and `dumping` with a jax of a few lines, which writes the dumps of `tests/dumps`."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import xla_lens
from samples import SPLIT, TPU, TPU_LOG
from xla_lens.words.numbers import human

_OOM = TPU_LOG.read_text(encoding="utf-8")


class _Lowered:
    """Writes a dump, like the compiler, before it fails."""

    def __init__(self, jax: "_Jax", arguments: tuple[Any, ...], dump: Path | None = SPLIT) -> None:
        self.jax, self.arguments, self.dump = jax, arguments, dump

    def compile(self, compiler_options: dict[str, Any]) -> str:
        folder = Path(compiler_options.pop("xla_dump_to"))
        assert compiler_options == {"xla_dump_hlo_as_text": True, "xla_dump_hlo_module_re": ".*"}
        assert [*folder.iterdir()] == []
        self.jax.log.append(f"compile {self.arguments}, cache {self.jax.config.jax_enable_compilation_cache}")
        self.jax.folders.append(folder)
        for file in self.dump.parent.glob(f"{self.dump.name.split('.')[0]}.*") if self.dump else ():
            shutil.copy(file, folder)
        if self.jax.error:
            raise self.jax.error
        return "compiled"


class _Jitted:
    def __init__(self, jax: "_Jax", function: Callable[..., Any]) -> None:
        self.jax, self.__wrapped__ = jax, function

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("capture runs nothing")

    def lower(self, *args: Any, **kwargs: Any) -> _Lowered:
        return _Lowered(self.jax, (self.__wrapped__.__name__, *args, *kwargs.items()))


class _Compiled:
    def __call__(self) -> None: ...


class _Jax(ModuleType):
    def __init__(self) -> None:
        super().__init__("jax")
        self.log: list[str] = []
        self.folders: list[Path] = []
        self.error: Exception | None = None
        self.is_started = False
        self.tree = SimpleNamespace(map=lambda _function, tree: tree)
        self.stages = SimpleNamespace(Compiled=_Compiled)
        self.config = SimpleNamespace(jax_enable_compilation_cache=True, update=self._update)

    def _update(self, name: str, value: object) -> None:
        setattr(self.config, name, value)

    def jit(self, function: Callable[..., Any]) -> _Jitted:
        return _Jitted(self, function)


@pytest.fixture
def jax(monkeypatch: pytest.MonkeyPatch) -> _Jax:
    jax = _Jax()
    cache = SimpleNamespace(reset_cache=lambda: jax.log.append("reset"))
    modules: dict[str, Any] = {
        "jax": jax,
        "jax.experimental": ModuleType("jax.experimental"),
        "jax.experimental.compilation_cache": SimpleNamespace(compilation_cache=cache),
        "jax._src.xla_bridge": SimpleNamespace(backends_are_initialized=lambda: jax.is_started),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    return jax


def step(x: object) -> object:
    """A function of a user."""
    return x


# ---------------------------------------------------------------- capture


def test_the_persistent_cache_is_off_meanwhile(jax: _Jax) -> None:
    capture = xla_lens.capture(step, 1)
    assert jax.log == ["reset", "compile ('step', 1), cache False", "reset"]
    assert jax.config.jax_enable_compilation_cache is True
    assert (capture.compiled, capture.error, capture.name) == ("compiled", None, "jit_train_step")
    assert capture.module


def test_each_capture_has_a_fresh_folder_that_goes_with_it(jax: _Jax) -> None:
    first, second = xla_lens.capture(step, 1), xla_lens.capture(step, 1)
    assert first.folder != second.folder
    assert second.folder.is_dir()
    del first
    assert [folder.exists() for folder in jax.folders] == [False, True]


def test_a_compiler_that_runs_out_of_memory_leaves_its_dump(jax: _Jax) -> None:
    jax.error = RuntimeError(f"RESOURCE_EXHAUSTED: {_OOM}")
    capture = xla_lens.capture(step, 1)
    assert capture.error is jax.error
    assert capture.compiled is None
    assert int(capture.peak()) > 0
    assert "The compiler ran out of memory: RESOURCE_EXHAUSTED" in repr(capture)
    assert "The compiler ran out of memory: RESOURCE_EXHAUSTED" in capture._repr_html_()
    with pytest.raises(
        AssertionError, match=r"^jit_train_step did not compile\. The compiler ran out of memory"
    ) as raised:
        capture.assert_fits(hbm="1TiB")
    assert raised.value.__cause__ is jax.error
    assert jax.config.jax_enable_compilation_cache is True


def test_the_message_of_the_compiler_states_the_capacity(jax: _Jax) -> None:
    jax.error = RuntimeError(
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. "
        "Used 44.36G of 15.75G hbm. Exceeded hbm capacity by 28.61G."
    )
    capture = xla_lens.capture(_Lowered(jax, (), TPU))
    assert capture.analysis.capacity
    assert capture.analysis.capacity.size_bytes == 16911433728
    assert f"It needs {human(capture.needed)} of 15.75 GiB of HBM " in repr(capture)


def test_other_errors_are_raised_and_leave_nothing(jax: _Jax) -> None:
    jax.error = ValueError("INVALID_ARGUMENT: no such thing")
    with pytest.raises(ValueError, match="no such thing"):
        xla_lens.capture(step, 1)
    assert [folder.exists() for folder in jax.folders] == [False]
    assert jax.log[-1] == "reset"


def test_a_backend_that_writes_no_dump_is_an_error(jax: _Jax) -> None:
    with pytest.raises(RuntimeError, match="the compiler wrote no buffer assignment"):
        xla_lens.capture(_Lowered(jax, (), None))
    jax.error = RuntimeError("RESOURCE_EXHAUSTED: out of memory")
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED"):
        xla_lens.capture(_Lowered(jax, (), None))
    assert not any(folder.exists() for folder in jax.folders)


@pytest.mark.parametrize(
    ("function", "args", "message"),
    [
        (_Compiled(), (), "compiled already"),
        (3, (), "int is neither a function nor a lowered one"),
        ("text", (1,), "str is neither"),
        (SimpleNamespace(compile=None), (1,), "a lowered function takes no arguments"),
    ],
)
def test_what_cannot_be_compiled(jax: _Jax, function: object, args: tuple[int, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        xla_lens.capture(function, *args)


# ---------------------------------------------------------------- dumping


@pytest.fixture(autouse=True)
def _flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XLA_FLAGS", raising=False)


def test_dumping_completes_the_flags_and_restores_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")
    with xla_lens.dumping(tmp_path / "a b") as folder:
        assert folder == tmp_path / "a b"
        assert os.environ["XLA_FLAGS"] == (
            f'--xla_cpu_enable_fast_math=true --xla_dump_hlo_as_text --xla_dump_to="{folder}"'
        )
        assert os.environ["JAX_ENABLE_COMPILATION_CACHE"] == "false"
        shutil.copy(SPLIT, folder)
    assert os.environ["XLA_FLAGS"] == "--xla_cpu_enable_fast_math=true"
    assert "JAX_ENABLE_COMPILATION_CACHE" not in os.environ
    assert xla_lens.read_captures(folder)[0].name == "jit_train_step"


@pytest.mark.parametrize("flag", ["--xla_dump_to={}", '--xla_dump_to="{}"', "--x=1 --xla_dump_to='{}' --y=2"])
def test_a_folder_in_the_flags_is_used(jax: _Jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str) -> None:
    jax.is_started = True
    monkeypatch.setenv("XLA_FLAGS", flag.format(tmp_path))
    with xla_lens.dumping() as folder:
        assert jax.config.jax_enable_compilation_cache is False
        assert os.environ["XLA_FLAGS"] == flag.format(tmp_path)
    assert folder == tmp_path
    assert jax.config.jax_enable_compilation_cache is True


def test_a_backend_that_has_read_its_flags_is_an_error(jax: _Jax, monkeypatch: pytest.MonkeyPatch) -> None:
    jax.is_started = True
    with pytest.raises(RuntimeError, match=r"jax has opened its device and read XLA_FLAGS.*use xla_lens\.capture"):
        xla_lens.dumping().__enter__()
    torch = SimpleNamespace(_XLAC=SimpleNamespace(_xla_runtime_is_initialized=lambda: True))
    jax.is_started = False
    monkeypatch.setitem(sys.modules, "torch_xla", torch)
    with pytest.raises(RuntimeError, match="PyTorch/XLA has opened its device and read XLA_FLAGS"):
        xla_lens.dumping().__enter__()
    assert "XLA_FLAGS" not in os.environ


def test_a_block_without_a_dump_is_an_error_unless_it_has_another(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no dump was written to"), xla_lens.dumping(tmp_path):
        pass
    with pytest.raises(KeyError), xla_lens.dumping(tmp_path):
        raise KeyError
    assert "XLA_FLAGS" not in os.environ
