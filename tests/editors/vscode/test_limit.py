"""The limit of the device, hovers with links, and the telling numbers beside the text."""

import contextlib
import json
import re
import shutil
from pathlib import Path

from editors.driving import wait_for
from editors.vscode.server import SECONDS
from editors.vscode.window import Error, OpenWindow
from samples import TPU

_MESSAGE = (
    "RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the total memory required for HLO "
    "temporaries (12.05M) exceeds available HBM (10.00M). HLO module: jit_roundtrip."
)
_ROW = " value: <24 fusion.2 @0> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)}"


def test_program_that_does_not_fit_is_red_and_leads_to_the_answer(open_window: OpenWindow, tmp_path: Path) -> None:
    folder = tmp_path / "roundtrip"
    shutil.copytree(TPU.parent, folder)
    (folder / "error.txt").write_text(_MESSAGE)
    file = folder / TPU.name
    with open_window(folder, file, viewport={"width": 1600, "height": 900}) as window:
        text = " 12.05 MiB of 10.00 MiB HBM, over by 2.05 MiB"
        wait_for(window.status, lambda texts: text in texts, SECONDS)
        item = window.page.locator(".statusbar-item", has_text=text.strip())
        red, green, blue = map(
            int, re.findall(r"\d+", item.evaluate("one => getComputedStyle(one).backgroundColor"))[:3]
        )
        assert red > 2 * max(green, blue)
        # The numbers of an allocation and of its values.
        line = next(number for number, row in enumerate(file.read_text().splitlines(), 1) if row == _ROW)
        window.go_to(line, _ROW.index("fusion") + 1)
        window.wait_for_line(f"{_ROW}4.00 MiB · 33.3 % of the peak · live 8–9")
        # The hover has links, and a word of the dump is explained.
        hover = window.hover()
        assert hover.startswith("fusion.2 · 4.00 MiB · 33.3 % of the HBM peak · tpu_programs.py:81")
        links = window.texts(".monaco-editor .monaco-hover .hover-contents a")
        places = ["tpu_programs.py:81", "run_progs.py:54", "step 8", "step 9", "allocation 0"]
        assert links == [*places, "Show in the memory map", "Actions…"]
        window.page.locator(".monaco-editor .monaco-hover a", has_text="allocation 0").click()
        wait_for(window.active_tab, lambda name: "history-of-allocation-0" in name, SECONDS)
        window.open(file)
        window.go_to(line, _ROW.index("T(8") + 1)
        assert window.hover().startswith("T(8,128): the array is stored in tiles of 8 × 128 elements")
        window.command("XLA Lens: Focus on XLA Memory View")
        window.expand("XLA Memory", "jit_roundtrip")
        (row,) = window.has_rows("XLA Memory", "12.05 MiB HBM")
        assert "of 10.00 MiB, over by 2.05 MiB" in row
        item.click()
        wait_for(window.active_tab, lambda name: "answer" in name, SECONDS)
        # A setting counts more than the message, at once.
        (folder / ".vscode").mkdir(exist_ok=True)
        (folder / ".vscode" / "settings.json").write_text(json.dumps({"xla-lens.device.memory": "16MiB"}))
        wait_for(window.status, lambda texts: " 12.05 MiB of 16.00 MiB HBM" in texts, SECONDS)


def test_out_of_memory_message_is_explained(open_window: OpenWindow, tmp_path: Path) -> None:
    folder = tmp_path / "roundtrip"
    shutil.copytree(TPU.parent, folder)
    log = folder / "error.txt"
    log.write_text(f"step 1\n{_MESSAGE}\n")
    with open_window(folder, log) as window:

        def headings() -> list[str]:
            found = []
            for frame in window.page.frames:
                with contextlib.suppress(Error):
                    found += frame.locator("h1, h2").all_inner_texts()
            return found

        expected = {"HBM ran out when XLA compiled jit_roundtrip", "What to do"}
        wait_for(window.lenses, lambda lenses: lenses == ["explain out-of-memory message"], SECONDS)
        window.page.locator(".codelens-decoration a").click()
        wait_for(window.active_tab, lambda name: name == "error.txt-explained.md", SECONDS)
        wait_for(headings, lambda found: expected <= {*found}, SECONDS)
        # A selection is explained by itself. The palette finds the command in other words, too.
        window.open(log)
        window.go_to(1)
        window.page.keyboard.press("Shift+ArrowDown")
        window.command("XLA Lens: Explain Out-of-Memory Message (OOM)")
        wait_for(window.notices, lambda texts: any("no out-of-memory message" in text for text in texts), SECONDS)
        for words in ("oom", "out of memory"):
            assert "Explain Out-of-Memory Message" in str(window.offered(words))
