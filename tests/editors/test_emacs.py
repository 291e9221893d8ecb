"""Emacs with eglot, set up as in docs/editors.md, on a dump of three files."""

import re

from editors.driving import Dump, wait_for
from editors.emacs import Emacs


def _hover(emacs: Emacs, line: str, word: str) -> list[str]:
    """The lines that `M-x eldoc` shows. Checks that they equal the answer of the server."""
    emacs.go_to(line, word)
    emacs.command("eldoc")

    def last_answer() -> str:
        hover = emacs.home.answers("textDocument/hover")[-1]
        return hover["contents"]["value"] if hover else ""

    # While the buffer is hidden, its name starts with a space.
    buffer = '(or (get-buffer "*eldoc*") " *eldoc*")'
    return wait_for(lambda: emacs.text(buffer), lambda text: text and text == last_answer()).split("\n")


def test_emacs_sends_the_language(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    (opened,) = emacs.home.sent("textDocument/didOpen")
    assert opened["params"]["textDocument"]["languageId"] == "xla-dump"


def test_hover_works(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    shown = _hover(emacs, "    dot{}:35-37", "dot")
    # Its source line follows once the module beside the dump is loaded.
    assert shown[0].startswith("dot · 1.53 MiB · 36.3 % of the host memory peak")
    assert "- op_name jit(train_step)/transpose(jvp())/transpose" in shown


def test_jumps_work_across_files(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    emacs.go_to("    dot{}:35-37", "dot")
    start = emacs.here()
    emacs.type("\033.")
    definition = "buffer-assignment-values.txt", "<244 dot @0>", "<244 dot @0>"
    wait_for(emacs.here, lambda here: here == definition)
    # The same server handles the other file.
    emacs.wait_for_server()
    assert len(emacs.home.sent("initialize")) == 1
    emacs.type("\033,")
    wait_for(emacs.here, lambda here: here == start)


def _findings(emacs: Emacs) -> list[str]:
    """The diagnostics of the current buffer in Flymake, as `row: text`."""
    return emacs.lisp("""
        (vconcat
         (mapcar (lambda (it)
                   (format "%d: %s" (line-number-at-pos (flymake-diagnostic-beg it)) (flymake-diagnostic-text it)))
                 (flymake-diagnostics)))""")


def test_edit_is_checked(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    (before,) = wait_for(lambda: _findings(emacs))
    assert re.match(r"84: .*The printed peak is not the real one: 3\.96 MiB .* 4\.21 MiB at step 36", before)
    emacs.go_to("    dot{}:35-37", "37")
    emacs.type("\033d47")
    (found,) = wait_for(lambda: _findings(emacs), lambda found: found and before not in found)
    assert re.match(r"67: .*`dot\{\}` is live from step 35 to step 47\. .* the schedule ends at step 40\.", found)
    # The inserted name, and the one it replaces.
    emacs.type("\x1f\x1f")
    wait_for(lambda: _findings(emacs), lambda found: found == [before])


def test_out_of_memory_message_is_explained(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    log = split.file("live-range").with_name("error.log")
    log.write_text("RESOURCE_EXHAUSTED: Out of memory allocating 5000000 bytes.\n")
    emacs.lisp(f'(progn (xla-lens-out-of-memory "{log}") t)')
    assert "4.77 MiB" in emacs.text('"*out of memory*"')
