"""Requests for which Neovim has a key, a function, or neither."""

import json

from editors.driving import Dump, wait_for
from editors.neovim import Neovim
from samples import DUMPS


def _open(neovim: Neovim, dump: Dump) -> None:
    neovim.open(dump.file("live-range"))
    neovim.go_to("    dot{}:35-37", "dot")


def test_pages_are_shown(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.go_to("  Live ranges at 37 (peak):", "Live")
    neovim.lua("""
        local function shows_what_is_live(action) return vim.startswith(action.title, "Show values live at step") end
        vim.lsp.buf.code_action({ apply = true, filter = shows_what_is_live }) return true""")
    wait_for(neovim.lines, lambda lines: lines[0] == "Live at step 37")
    assert neovim.lua("return { vim.bo.modifiable, vim.bo.modified }") == [False, False]
    (line,) = (line for line in neovim.lines() if "  dot  " in line)
    neovim.go_to(line, "dot")
    neovim.keys("<C-]>")
    definition = "buffer-assignment-values.txt", "<244 dot @0>", "<244 dot @0>"
    wait_for(neovim.here, lambda here: here == definition)


def test_two_dumps_are_compared(neovim: Neovim, split: Dump) -> None:
    """The user command of the set-up compares with a dump anywhere on disk."""
    old = next(DUMPS.glob("cpu-jaxlib0.6.2/donation/*jit_f.*-buffer-assignment.txt"))
    _open(neovim, split)
    neovim.lua(f"vim.cmd.XlaLensCompare({json.dumps(str(old))}) return true")
    wait_for(neovim.lines, lambda lines: lines[0].startswith("jit_train_step: host memory peak 25.1 KiB → 4.21 MiB"))


def test_out_of_memory_message_is_explained(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    log = split.file("live-range").with_name("error.log")
    log.write_text("RESOURCE_EXHAUSTED: Out of memory allocating 5000000 bytes.\n")
    neovim.lua(f"vim.cmd.XlaLensOutOfMemory({json.dumps(str(log))}) return true")
    wait_for(neovim.lines, lambda lines: lines[0].startswith("## A buffer could not be allocated"))
    assert neovim.lua("return vim.fn.bufname()").endswith("error.log-explained.md")
