"""Fixtures of the editor tests, which run in `make test-editors` only."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.driving import Dump, Home, setup_block
from editors.emacs import Emacs
from editors.neovim import Neovim
from samples import ROOT, SEED, SPLIT


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home folder with a name short enough for sockets. Fails the test if a server in it has reported an error."""
    home = Home(tmp_path_factory.mktemp("home"))
    yield home
    home.close()
    assert home.errors() == ""


@pytest.fixture(scope="session")
def grammars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Neovim after the grammars were installed as in docs/editors.md."""
    home = Home(tmp_path_factory.mktemp("home"))
    home.paste(setup_block("Neovim", "sh"), ROOT)
    home.close()
    return home.folder / ".local" / "share" / "nvim"


@pytest.fixture
def neovim(home: Home, tmp_path: Path, grammars: Path) -> Iterator[Neovim]:
    """Neovim set up as in docs/editors.md."""
    (home.folder / ".local" / "share" / "nvim").symlink_to(grammars)
    with Neovim.running(home, tmp_path) as neovim:
        yield neovim


@pytest.fixture
def emacs(home: Home, tmp_path: Path) -> Iterator[Emacs]:
    """Emacs set up as in docs/editors.md."""
    with Emacs.running(home, tmp_path) as emacs:
        yield emacs


@pytest.fixture
def split(tmp_path: Path) -> Dump:
    """A dump of three files from 2026."""
    folder = tmp_path / "split"
    folder.mkdir()
    for path in SPLIT.parent.glob("module_0000*"):
        shutil.copy(path, folder)
    return Dump(folder)


@pytest.fixture
def single(tmp_path: Path) -> Dump:
    """A dump of one file from 2022, under the name that XLA gives it."""
    folder = tmp_path / "single"
    folder.mkdir()
    shutil.copy(SEED, folder / "module_0001.jit_f.sm_7.0_gpu_after_optimizations-buffer-assignment.txt")
    return Dump(folder)
