"""The memory of Python files in Neovim, beside another server for Python."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.driving import Dump, Home, installed, setup_block, wait_for
from editors.neovim import Neovim
from samples import DUMPS, ROOT

_LINE = "        x = x @ w + b"
_LABEL = "██▉ 1.53 MiB (36.4 %)"


@pytest.fixture
def program(split: Dump) -> Path:
    """The program in the folder of the dump, older than it."""
    path = split.folder / "programs.py"
    shutil.copy(DUMPS / "programs" / "programs.py", path)
    os.utime(path, (1e9, 1e9))
    return path


@pytest.fixture
def beside(home: Home, tmp_path: Path) -> Iterator[Neovim]:
    """Neovim with XLA Lens and basedpyright."""
    server = installed(os.environ.get("BASEDPYRIGHT", str(ROOT / ".venv-editors" / "bin" / "basedpyright-langserver")))
    home.write(".config/nvim/plugin/xla-lens-python.lua", setup_block("Python files", "lua"))
    other = {"cmd": [server, "--stdio"], "filetypes": ["python"]}
    setup = f"vim.lsp.config('basedpyright', vim.json.decode({json.dumps(json.dumps(other))}))\n"
    home.write(".config/nvim/plugin/basedpyright.lua", f"{setup}vim.lsp.enable('basedpyright')\n")
    with Neovim.running(home, tmp_path) as neovim:
        yield neovim


def _clients(neovim: Neovim) -> list[str]:
    found = neovim.lua("return vim.tbl_map(function(c) return c.name end, vim.lsp.get_clients({ bufnr = 0 }))")
    return sorted(found)


def _edit(neovim: Neovim, path: Path) -> None:
    neovim.lua(f"vim.cmd.edit({json.dumps(str(path))}) return true")


def _hints(neovim: Neovim) -> dict[str, str]:
    """The hints of XLA Lens in the buffer, by line."""
    found = neovim.lua("""
        local found = {}
        local namespace = vim.api.nvim_get_namespaces()["xla-lens"]
        for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })) do
          table.insert(found, { mark[2], mark[4].virt_text[1][1] })
        end
        return found""")
    lines = neovim.lines()
    return {lines[row]: label for row, label in found or []}


def test_neovim_attaches_only_to_files_that_a_dump_names(beside: Neovim, split: Dump, program: Path) -> None:
    neovim, other = beside, program.with_name("other.py")
    other.write_text("x = 1\n")
    _edit(neovim, program)
    wait_for(lambda: _clients(neovim), lambda names: names == ["basedpyright"])
    # The dump is opened after the program.
    neovim.open(split.file("live-range"))
    _edit(neovim, program)
    wait_for(lambda: _clients(neovim), lambda names: names == ["basedpyright", "xla-lens"])
    wait_for(lambda: _hints(neovim).get(_LINE), lambda label: label == _LABEL)
    # Both servers answer.
    neovim.go_to(_LINE, "x =")
    neovim.keys("K")
    shown = "\n".join(neovim.float())
    assert "**1.53 MiB** · 36.4 % of the host memory peak" in shown
    assert "(parameter) x" in shown
    # A new line above moves the hint.
    neovim.keys("O# new<Esc>")
    wait_for(lambda: _hints(neovim), lambda hints: hints.get(_LINE) == _LABEL and "# new" not in str(hints))
    assert neovim.lua("return vim.lsp.inlay_hint.is_enabled({ bufnr = 0 })") is False
    # Saved after the dump: the hints have its time.
    neovim.keys(":silent write<CR>")
    wait_for(lambda: _hints(neovim).get(_LINE, ""), lambda label: label.startswith(f"{_LABEL} · dump of 20"))
    _edit(neovim, other)
    wait_for(lambda: _clients(neovim), lambda names: names == ["basedpyright"])
