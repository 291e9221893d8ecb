"""Emacs with eglot, set up as in docs/editors.md, on a dump of three files."""

import re
from typing import Any

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


def _outline(emacs: Emacs) -> dict[str, Any]:
    """The outline in imenu: the row of each entry by name, with its nested entries."""
    return emacs.lisp("""
        (cl-labels ((rows (entries)
                      (mapcar (lambda (entry)
                                (cons (substring-no-properties (car entry))
                                      (if (consp (cdr entry)) (rows (cdr entry)) (line-number-at-pos (cdr entry)))))
                              entries)))
          (rows (remove imenu--rescan-item (imenu--make-index-alist))))""")


def test_outline_is_shown(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("live-range"))
    outline = _outline(emacs)
    # Eglot has one menu for each kind of symbol.
    assert outline["Namespace"] == {
        "HloLiveRange (max 40)": {
            "InstructionSequence": 2,
            "BufferLiveRange": 43,
            "Live ranges at 37 (peak)": 84,
            "Stack trace breakdown for peak usage: 5 763 116 bytes": 97,
        }
    }
    assert outline["Variable"]["HloLiveRange (max 40)::Live ranges at 37 (peak)"]["multiply_subtract_fusion.5{}"] == 86


def _shown(emacs: Emacs) -> list[str]:
    """The visible lines."""
    return emacs.lisp("""
        (save-excursion
          (goto-char (point-min))
          (let (shown)
            (while (not (eobp))
              (unless (invisible-p (point))
                (push (buffer-substring-no-properties (point) (line-end-position)) shown))
              (forward-line))
            (vconcat (nreverse shown))))""")


def test_dump_can_be_folded(emacs: Emacs, split: Dump) -> None:
    emacs.open(split.file("buffer-assignment"))
    emacs.go_to("allocation 9: size 4, page 0, maybe-live-out:", "allocation")
    before = _shown(emacs)
    assert before == emacs.lines()[:-1]
    emacs.type("\t")
    hidden = " value: <259 reduce_multiply_fusion @0> (size=4,offset=0): f32[]"
    wait_for(lambda: _shown(emacs), lambda shown: shown == [line for line in before if line != hidden])
