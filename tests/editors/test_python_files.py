"""The memory of Python files in Neovim and Emacs, beside another server for Python."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.driving import Dump, Home, installed, setup_block, wait_for
from editors.emacs import Emacs
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


def _basedpyright() -> str:
    return installed(os.environ.get("BASEDPYRIGHT", str(ROOT / ".venv-editors" / "bin" / "basedpyright-langserver")))


@pytest.fixture
def beside(home: Home, tmp_path: Path) -> Iterator[Neovim]:
    """Neovim with XLA Lens and basedpyright."""
    server = _basedpyright()
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


@pytest.fixture
def emacs(home: Home, tmp_path: Path) -> Iterator[Emacs]:
    """Emacs with XLA Lens and basedpyright."""
    home.write(".emacs.d/xla-lens-python.el", setup_block("Python files", "elisp"))
    other = f"""
        (load (locate-user-emacs-file "xla-lens-python"))
        (add-to-list 'eglot-server-programs '(python-mode {json.dumps(_basedpyright())} "--stdio"))
        (add-hook 'python-mode-hook #'eglot-ensure)"""
    with Emacs.running(home, tmp_path, other) as emacs:
        yield emacs


def _overlays(emacs: Emacs) -> dict[str, str]:
    """The hints of XLA Lens in the buffer, by line. Checks that they are at the ends of lines."""
    found = emacs.lisp("""
        (vconcat
         (mapcar (lambda (it)
                   (cl-assert (= (overlay-end it) (save-excursion (goto-char (overlay-end it)) (line-end-position))))
                   (vector (line-number-at-pos (overlay-start it)) (overlay-get it 'after-string)))
                 (seq-filter (lambda (it) (and (overlay-get it 'xla-lens) (overlay-get it 'after-string)))
                             (overlays-in (point-min) (point-max)))))""")
    lines = emacs.lines()
    return {lines[row - 1]: label.strip() for row, label in found}


def test_emacs_shows_memory_beside_another_server(emacs: Emacs, split: Dump, program: Path) -> None:
    other = program.with_name("other.py")
    other.write_text("x = 1\n")
    emacs.open(program)
    assert not _overlays(emacs)
    # The dump is opened after the program.
    emacs.open(split.file("live-range"))
    emacs.open(program)
    wait_for(lambda: _overlays(emacs).get(_LINE), lambda label: label == _LABEL)
    # Both servers answer.
    emacs.go_to(_LINE, "x =")
    emacs.command("eldoc")
    buffer = '(or (get-buffer "*eldoc*") " *eldoc*")'
    shown = wait_for(lambda: emacs.text(buffer), lambda text: "36.4 %" in text and "(parameter) x" in text)
    assert "**1.53 MiB** · 36.4 % of the host memory peak" in shown
    # A new line above moves the hint, and text at the end of the line leaves it there.
    emacs.lisp('(progn (beginning-of-line) (insert "        # new\\n") (end-of-line) (insert "  # why") nil)')
    hints = _overlays(emacs)
    assert hints[f"{_LINE}  # why"] == _LABEL
    assert "# new" not in str(hints)
    emacs.lisp('(progn (end-of-line) (insert "\\n        # below") nil)')
    hints = _overlays(emacs)
    assert hints[f"{_LINE}  # why"] == _LABEL
    assert "# below" not in str(hints)
    emacs.lisp("(progn (set-buffer-modified-p nil) (revert-buffer t t) nil)")
    wait_for(lambda: _overlays(emacs).get(_LINE), lambda label: label == _LABEL)
    # A file that is newer than the dump has the time of the dump.
    os.utime(program)
    emacs.lisp("(progn (revert-buffer t t) nil)")
    wait_for(lambda: _overlays(emacs).get(_LINE, ""), lambda label: label.startswith(f"{_LABEL} · dump of 20"))
    emacs.open(other)
    assert not _overlays(emacs)
