"""Neovim, set up as in docs/editors.md, on dumps of three files and of one file."""

import json
import shutil
from pathlib import Path

import pytest

from editors.driving import Dump, wait_for
from editors.neovim import Neovim
from samples import SEED, SPLIT, WHILE


def _hover(neovim: Neovim, line: str, word: str) -> list[str]:
    """The lines that `K` shows. Checks that they equal the answer of the server."""
    neovim.go_to(line, word)
    neovim.keys("K")
    shown = neovim.float()
    assert shown == neovim.home.answers("textDocument/hover")[-1]["contents"]["value"].split("\n")
    return shown


def test_columns_are_counted_in_bytes(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    (request,) = neovim.home.sent("initialize")
    assert request["params"]["capabilities"]["general"]["positionEncodings"][0] == "utf-8"
    assert neovim.lua("return vim.lsp.get_clients()[1].offset_encoding") == "utf-8"
    (opened,) = neovim.home.sent("textDocument/didOpen")
    assert opened["params"]["textDocument"]["languageId"] == "xla-dump"


@pytest.mark.parametrize(
    "path",
    [SEED, SPLIT, WHILE.with_name(WHILE.name.split("-buffer")[0] + ".txt")],
    ids=["one-file", "three-files", "module"],
)
def test_dump_is_recognized_by_its_content(neovim: Neovim, tmp_path: Path, path: Path) -> None:
    copy = tmp_path / "notes.log"
    shutil.copy(path, copy)
    neovim.lua(f"vim.cmd.edit({json.dumps(str(copy))}) return true")
    neovim.wait_for_server()
    assert neovim.lua("return vim.bo.filetype") == ("hlo" if path.read_bytes().startswith(b"HloModule") else "xla-dump")


def test_other_text_is_not_taken_for_a_dump(neovim: Neovim, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("About dumps:\n\nBuffers\nand more\nBufferAssignment:\n")
    neovim.lua(f"vim.cmd.edit({json.dumps(str(other))}) return true")
    assert neovim.lua("return vim.bo.filetype") == "text"


def test_hover_works_in_three_files(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    shown = _hover(neovim, "    dot{}:35-37", "dot")
    # Its source line follows once the module beside the dump is loaded.
    assert shown[0].startswith("**`dot`** · 1.53 MiB · 36.3 % of the host memory peak")
    assert "- op_name `jit(train_step)/transpose(jvp())/transpose`" in shown
    shown = _hover(neovim, "  Live ranges at 37 (peak):", "37")
    assert shown[0] == "**Printed peak** · 5.50 MiB at step 37"
    assert "| host memory | 4.21 MiB | 4.21 MiB | 36 `ynn_fusion.1` | 3.96 MiB |" in shown


def test_jumps_work_across_files(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    neovim.go_to("    dot{}:35-37", "dot")
    start = neovim.here()
    neovim.keys("<C-]>")
    definition = "buffer-assignment-values.txt", "<244 dot @0>", "<244 dot @0>"
    wait_for(neovim.here, lambda here: here == definition)
    # The same server handles the other file.
    neovim.wait_for_server()
    assert len(neovim.home.sent("initialize")) == 1
    neovim.lua("vim.lsp.buf.declaration() return true")
    row = " value: <244 dot @0> (size=1605632,offset=0): f32[784,512]{1,0}"
    wait_for(neovim.here, lambda here: here == ("buffer-assignment.txt", row, row[8:]))
    neovim.lua("vim.lsp.buf.type_definition() return true")
    header = "allocation 29: size 1869824, page 0, preallocated-temp:"
    wait_for(neovim.here, lambda here: here == ("buffer-assignment.txt", header, header))
    neovim.keys("3<C-t>")
    wait_for(neovim.here, lambda here: here == start)


def test_references_fill_the_quickfix_list(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    neovim.go_to("    dot{}:35-37", "dot")
    neovim.keys("grr")
    found = neovim.quickfix()
    found = [entry.partition(" = ")[0].rpartition("/")[2] for entry in found]
    assert found == [
        "buffer-assignment-values.txt:280:1 <244 dot @0>",
        "buffer-assignment-values.txt:282:3   dot",
        "buffer-assignment-values.txt:284:3   multiply_subtract_fusion.5, operand 1",
        "buffer-assignment-values.txt:292:92  from instruction: %multiply_subtract_fusion.5",
        "buffer-assignment.txt:84:9  value: <244 dot @0> (size=1605632,offset=0): f32[784,512]{1,0}",
        "live-range.txt:38:8     35:dot",
        "live-range.txt:67:5     dot{}:35-37",
        "live-range.txt:85:5     dot{}: 1605632 bytes (cumulative: 1605632 bytes)",
        "module_0000.jit_train_step.cpu_after_optimizations.txt:393:4   %dot",
        "module_0000.jit_train_step.cpu_after_optimizations.txt:395:75   %multiply_subtract_fusion.5",
    ]


def test_outline_is_shown(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    neovim.keys("gO")
    assert neovim.location_list()[:4] == [
        "live-range.txt:1:1 [Namespace] HloLiveRange (max 40)",
        "live-range.txt:2:3 [Namespace] InstructionSequence",
        "live-range.txt:43:3 [Namespace] BufferLiveRange",
        "live-range.txt:84:3 [Namespace] Live ranges at 37 (peak)",
    ]


def _findings(neovim: Neovim) -> list[str]:
    """The diagnostics of the current buffer as `row:column code: message`."""
    return neovim.lua("""
        local found = {}
        for _, d in ipairs(vim.diagnostic.get(0)) do
          table.insert(found, ("%d:%d %s: %s"):format(d.lnum + 1, d.col + 1, d.code, d.message))
        end
        return found""")


def test_edit_is_checked(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    before = wait_for(lambda: _findings(neovim))
    assert [finding.split(":")[:2] for finding in before] == [["84", "3 peak-understated"]]
    neovim.go_to("    dot{}:35-37", "37")
    neovim.keys("cw47<Esc>")
    after = wait_for(lambda: _findings(neovim), lambda found: found != before)
    found = (
        "`dot{}` is live from step 35 to step 47. A live range starts before it ends, and the schedule ends at step 40."
    )
    assert after == [f"67:5 invalid-live-range: {found}"]
    neovim.go_to("    dot{}:35-47", "dot")
    neovim.keys("<C-w>d")
    assert "is live from step 35 to step 47" in neovim.float()[1]
    assert wait_for(neovim.screen, lambda rows: any(row.startswith("E     dot{}:35-47") for row in rows))
    neovim.keys("u")
    wait_for(lambda: _findings(neovim), lambda found: found == before)


def test_inlay_hints_are_shown(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("live-range"))
    wait_for(neovim.screen, lambda rows: "      0:params_0__0_.1 2.43 MiB live" in rows)
    neovim.go_to("    36:ynn_fusion.1", "36")
    rows = neovim.screen()
    assert "      36:ynn_fusion.1 4.21 MiB live ◀ peak" in rows
    neovim.go_to("  Live ranges at 37 (peak):", "Live")
    assert "I   Live ranges at 37 (peak): real host memory peak: 4.21 MiB at step 36 (3.96 MiB here)" in neovim.screen()
    labels = neovim.lua("""
        return vim.tbl_map(function(h) return { h.inlay_hint.position.line + 1, h.inlay_hint.label } end,
          vim.lsp.inlay_hint.get({ bufnr = 0 }))""")
    assert len(labels) == 40 + 40 + 1
    assert [66, "256.0 KiB"] in labels


def _folded(neovim: Neovim, line: str) -> list[str]:
    """The lines of the closed fold around a line, after `zM`, `zO` and `zc` on it."""
    wait_for(lambda: neovim.lua("return vim.fn.foldlevel(2)"))
    neovim.go_to(line, line.strip())
    neovim.keys("zMzOzc")
    first, last = neovim.lua("return { vim.fn.foldclosed('.'), vim.fn.foldclosedend('.') }")
    return neovim.lines()[first - 1 : last]


def test_dump_can_be_folded(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("buffer-assignment"))
    assert _folded(neovim, "allocation 9: size 4, page 0, maybe-live-out:") == [
        "allocation 9: size 4, page 0, maybe-live-out:",
        " value: <259 reduce_multiply_fusion @0> (size=4,offset=0): f32[]",
    ]


def test_grammar_highlights_dumps(neovim: Neovim, split: Dump) -> None:
    neovim.open(split.file("buffer-assignment"))
    assert neovim.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil")
    header = "allocation 2: size 401408, page 0, parameter 6, shape |f32[128,784]| at ShapeIndex {}:"
    row = " value: <222 x.1 @0> (size=401408,offset=0): f32[128,784]{1,0}"
    for line, word, capture in [
        (header, "allocation", "xla_dump keyword"),
        (header, "401408", "xla_dump number"),
        (header, "f32", "hlo type"),
        (header, "784", "hlo number"),
        (row, "222", "xla_dump label"),
        (row, "x.1", "xla_dump variable"),
        ("allocation 29: size 1869824, page 0, preallocated-temp:", "preallocated", "xla_dump attribute"),
    ]:
        neovim.go_to(line, word)
        captures = neovim.lua("""
            return vim.tbl_map(function(c) return c.lang .. " " .. c.capture end, vim.inspect_pos().treesitter)""")
        assert captures[-1] == capture, (line, word)


def test_grammars_are_optional(neovim: Neovim, split: Dump) -> None:
    (neovim.home.folder / ".local" / "share" / "nvim").unlink()
    neovim.open(split.file("buffer-assignment"))
    row = " value: <222 x.1 @0> (size=401408,offset=0): f32[128,784]{1,0} 392.0 KiB · 9.1 % of the peak · live 0–40"
    wait_for(neovim.screen, lambda rows: any(each.endswith(row) for each in rows))
    assert not neovim.lua("return vim.treesitter.highlighter.active[vim.api.nvim_get_current_buf()] ~= nil")
    assert neovim.lua("return vim.v.errmsg .. vim.api.nvim_exec2('messages', { output = true }).output") == ""
