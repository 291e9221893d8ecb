"""Requests for which Neovim has a key, a function, or neither."""

import json
from pathlib import Path
from typing import Any

from editors.driving import Dump, wait_for
from editors.neovim import Neovim
from samples import DUMPS


def _open(neovim: Neovim, dump: Dump) -> None:
    neovim.open(dump.file("live-range"))
    neovim.go_to("    dot{}:35-37", "dot")


def _request(neovim: Neovim, method: str, params: str) -> Any:
    """The answer to a request for which Neovim has no function."""
    answer = neovim.lua(f"return vim.lsp.get_clients()[1]:request_sync('{method}', {params}, 20000, 0)")
    assert "error" not in answer
    return answer["result"]


def test_mentions_are_highlighted(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.lua("vim.lsp.buf.document_highlight() return true")
    rows = wait_for(
        lambda: neovim.lua("""
            local rows = {}
            for _, mark in ipairs(vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })) do
              if (mark[4].hl_group or ""):find("^LspReference") then table.insert(rows, mark[2] + 1) end
            end
            return rows""")
    )
    assert sorted(set(rows)) == [38, 67, 85]


def test_workspace_symbols_are_found(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.lua("vim.lsp.buf.workspace_symbol('multiply_tanh') return true")
    assert [entry.partition(" (")[0] for entry in neovim.quickfix()] == [
        "buffer-assignment.txt:72:14 [Variable] multiply_tanh_fusion.1",
        "buffer-assignment.txt:75:14 [Variable] multiply_tanh_fusion",
    ]


def test_implementation_is_the_line_in_the_module(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.keys("gri")
    _, line, rest = wait_for(neovim.here, lambda here: here[1].startswith("  %dot = "))
    assert line == f"  %{rest}"
    # Back from the module to the dump.
    assert neovim.lua("return vim.bo.filetype") == "hlo"
    neovim.lua("vim.lsp.buf.type_definition() return true")
    wait_for(neovim.here, lambda here: here[1].startswith(" value: <244 dot @0>"))


def test_call_hierarchy_lists_producers_and_consumers(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.lua("vim.lsp.buf.incoming_calls() return true")
    assert neovim.quickfix() == [
        "buffer-assignment-values.txt:125:3 x.1",
        "buffer-assignment-values.txt:277:3 multiply_add_fusion",
    ]
    neovim.go_to("    dot{}:35-37", "dot")
    neovim.lua("vim.fn.setqflist({}) vim.lsp.buf.outgoing_calls() return true")
    assert neovim.quickfix() == ["buffer-assignment-values.txt:284:3 multiply_subtract_fusion.5"]


def _unknown_commands(neovim: Neovim, commands: list[str]) -> set[str]:
    """The commands that the server cannot run. Neovim defines none itself."""
    known = neovim.lua("return vim.lsp.get_clients()[1].server_capabilities.executeCommandProvider.commands")
    return set(commands) - set(known)


def test_lenses_are_shown(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.lua("vim.lsp.codelens.refresh({ bufnr = 0 }) return true")
    wait_for(neovim.screen, lambda rows: any(row.endswith(" show values live here: 3.96 MiB") for row in rows))
    lenses = neovim.lua("return vim.tbl_map(function(lens) return lens.command.command end, vim.lsp.codelens.get(0))")
    assert not _unknown_commands(neovim, lenses)


def test_links_have_targets(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    links = _request(
        neovim, "textDocument/documentLink", "{ textDocument = vim.lsp.util.make_text_document_params(0) }"
    )
    assert {link["target"].rpartition("#")[0] for link in links if "target" in link} == {
        split.file(end).as_uri() for end in ("buffer-assignment", "buffer-assignment-values")
    }
    # Links to sources are resolved when they are followed.
    sources = {(link["data"]["path"], link["data"]["line"]) for link in links if "target" not in link}
    assert ("/home/user/programs/programs.py", 50) in sources


def test_actions_are_offered(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    neovim.go_to("  Live ranges at 37 (peak):", "Live")
    wait_for(lambda: neovim.lua("return #vim.diagnostic.get(0)"))
    neovim.lua("vim.ui.select = function(items) _G.offered = items end return true")
    neovim.keys("gra")
    actions = [each["action"] for each in wait_for(lambda: neovim.lua("return _G.offered"))]
    assert "Explain peak-understated" in [action["title"] for action in actions]
    assert not _unknown_commands(neovim, [action["command"]["command"] for action in actions])
    # XLA Lens never edits a dump.
    assert not any("edit" in action for action in actions)


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
    (line,) = (line for line in neovim.lines() if line.startswith("  peaks "))
    neovim.go_to(line, "step")
    neovim.lua("vim.lsp.buf.definition() return true")
    # The peaks of both dumps.
    files = "return vim.tbl_map(function(one) return vim.fn.bufname(one.bufnr) end, vim.fn.getqflist())"
    found = wait_for(lambda: neovim.lua(files), lambda found: len(found) == 2)
    assert {Path(name).name for name in found} == {old.name, split.file("live-range").name}


def test_selection_grows(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    params = """{ textDocument = vim.lsp.util.make_text_document_params(0),
                  positions = { vim.lsp.util.make_position_params(0, 'utf-8').position } }"""
    (selection,) = _request(neovim, "textDocument/selectionRange", params)
    rows = []
    while selection:
        rows.append((selection["range"]["start"]["line"], selection["range"]["end"]["line"]))
        selection = selection.get("parent")
    assert rows[0] == (66, 66)
    # The selection grows to the list and finally to the file.
    assert any(first <= 42 and last >= 82 for first, last in rows)
    assert rows == sorted(rows, key=lambda row: row[1] - row[0])


def test_semantic_tokens_are_received(neovim: Neovim, split: Dump) -> None:
    _open(neovim, split)
    params = """{ textDocument = vim.lsp.util.make_text_document_params(0),
                  range = { start = { line = 66, character = 0 }, ["end"] = { line = 67, character = 0 } } }"""
    data = _request(neovim, "textDocument/semanticTokens/range", params)["data"]
    assert data
    assert len(data) % 5 == 0
    assert data[0] == 66
