"""Drive Neovim with keys and query it in Lua."""

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from editors.driving import SECONDS, Home, Terminal, installed, setup_block, wait_for
from samples import ROOT


@cache
def _program() -> str:
    """The path of the program itself. The command that a package installs may be a slow script."""
    nvim = installed(os.environ.get("NVIM", str(ROOT / ".venv-editors" / "bin" / "nvim")))
    asked = [nvim, "--clean", "--headless", "-c", "lua io.stdout:write(vim.v.progpath)", "-c", "quit"]
    environment = os.environ | {"NVIM_LOG_FILE": os.devnull}
    return subprocess.run(asked, env=environment, capture_output=True, text=True, check=True, timeout=SECONDS).stdout


class Neovim:
    """A running Neovim."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._socket = home.folder / "run" / "nvim"

    @classmethod
    @contextlib.contextmanager
    def running(cls, home: Home, folder: Path) -> "Iterator[Neovim]":
        """Start Neovim with the configuration in docs/editors.md, and quit it with `:qall!` afterwards."""
        home.write(".config/nvim/plugin/xla-lens.lua", setup_block("Neovim", "lua"))
        # Its default may be a file in the folder where the tests run.
        home.environment["NVIM_LOG_FILE"] = os.devnull
        neovim = cls(home)
        with Terminal.running([_program(), "--listen", neovim._socket], home, folder) as terminal:
            wait_for(neovim._is_up)
            yield neovim
            home.wait_for_answers()
            # Neovim may exit before it answers.
            with contextlib.suppress(AssertionError):
                neovim.keys("<C-\\><C-n>:qall!<CR>")
            terminal.wait()
        home.wait_for_exit()

    def _is_up(self) -> bool:
        """Whether Neovim has read its configuration. It listens before that."""
        try:
            return self.lua("return vim.v.vim_did_enter == 1")
        except AssertionError:
            return False

    def lua(self, code: str) -> Any:
        """Run Lua, and return its result."""
        code = f"(function() {code} end)()".replace("'", "''").replace("\n", " ")
        return json.loads(self._ask("--remote-expr", f"luaeval('vim.json.encode({code})')"))

    def keys(self, keys: str) -> None:
        """Type keys, in the notation of Vim."""
        self._ask("--remote-send", keys)

    def _ask(self, *arguments: str) -> str:
        command = [_program(), "--server", str(self._socket), *arguments]
        done = subprocess.run(
            command, env=self.home.environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def open(self, path: Path) -> None:
        """Open a file, and wait until the server has loaded it: Neovim waits at most one second for a tag."""
        self.lua(f"vim.cmd.edit({json.dumps(str(path))}) return true")
        self.wait_for_server()
        self.home.answers("textDocument/inlayHint")

    def wait_for_server(self) -> None:
        """Wait until the server is attached to the current buffer."""
        wait_for(
            lambda: self.lua("local c = vim.lsp.get_clients({ bufnr = 0 })[1] return c and c.initialized or false")
        )

    def go_to(self, line: str, word: str) -> None:
        """Put the cursor on the first occurrence of `word` in `line`, which occurs once in the file."""
        rows = [row for row, found in enumerate(self.lines()) if found == line]
        assert len(rows) == 1, f"{line!r} occurs {len(rows)} times in the file"
        column = len(line[: line.index(word)].encode())
        self.lua(f"vim.api.nvim_win_set_cursor(0, {{{rows[0] + 1}, {column}}}) return true")

    def lines(self) -> list[str]:
        """The lines of the current buffer."""
        return self.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, true)")

    def here(self) -> tuple[str, str, str]:
        """The position of the cursor: the end of the file name, the line, and its text from the cursor on."""
        name, line, column = self.lua(
            "return { vim.api.nvim_buf_get_name(0), vim.api.nvim_get_current_line(), vim.fn.col('.') }"
        )
        return name.rpartition("optimizations-")[2], line, line.encode()[column - 1 :].decode()

    def float(self) -> list[str]:
        """The lines of the floating window. Waits for it, and closes it."""
        found = wait_for(
            lambda: self.lua("""
                for _, window in ipairs(vim.api.nvim_list_wins()) do
                  if vim.api.nvim_win_get_config(window).relative ~= "" then
                    return vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, true)
                  end
                end
                return false""")
        )
        self.keys("<Esc>")
        return found

    def quickfix(self) -> list[str]:
        """The quickfix list as `end of the file name:line:column text`. Waits for it, and closes it."""
        return self._list("getqflist()", "cclose")

    def location_list(self) -> list[str]:
        """The location list of the window, in the same format."""
        return self._list("getloclist(0)", "lclose")

    def _list(self, function: str, close: str) -> list[str]:
        entries = wait_for(
            lambda: self.lua(f"""
                local found = {{}}
                for _, e in ipairs(vim.fn.{function}) do
                  table.insert(found, {{ vim.api.nvim_buf_get_name(e.bufnr), e.lnum, e.col, e.text }})
                end
                return found""")
        )
        self.keys(f"<C-\\><C-n>:{close}<CR>")
        return [f"{name.rpartition('optimizations-')[2]}:{row}:{column} {text}" for name, row, column, text in entries]

    def screen(self) -> list[str]:
        """The rows on the screen."""
        return self.lua("""
            vim.cmd.redraw()
            local rows = {}
            for row = 1, vim.o.lines do
              local cells = {}
              for column = 1, vim.o.columns do cells[column] = vim.fn.screenstring(row, column) end
              rows[row] = (table.concat(cells):gsub("%s+$", ""))
            end
            return rows""")
