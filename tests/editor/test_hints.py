"""Inlay hints."""

import re
from pathlib import Path

from msgspec.structs import replace

from samples import SEED, SPLIT, TPU, analysis_of, analysis_of_text, module_of, module_of_text, on_each_dump
from xla_lens.editor.annotations import hints
from xla_lens.model.analysis import Analysis, analyse


def check(analysis: Analysis, part: str, expected: str) -> None:
    """Return some lines with their hints in brackets."""
    for file in analysis.dump.files:
        text = file.document.data.decode()
        if part in text:
            start = text.index(part)
            found = hints(analysis, file, (start, start + len(part)), 100)
            for hint in sorted(found, key=lambda hint: -hint.offset):
                text = f"{text[: hint.offset]} [{hint.label}]{text[hint.offset :]}"
            assert text[start:].startswith(expected.strip("\n"))
            return
    raise AssertionError(part)


def test_correct_printed_peak_has_no_hint() -> None:
    text = SEED.read_text().replace("Live ranges at 5", "Live ranges at 4")
    check(analysis_of_text(text), "  Live ranges at 4 (peak):", "  Live ranges at 4 (peak):\n")


def test_hints_of_wide_rows_follow_the_name() -> None:
    """At the end of a row with a long tuple they would be out of sight."""
    wide = ", ".join(["f32[64,16]{1,0}"] * 20)
    text = SEED.read_text().replace("(size=4096,offset=0): f32[64,16]{1,0}", f"(size=4096,offset=0): ({wide})")
    check(
        analysis_of_text(text),
        f" value: <4 cublas-gemm.1 @0> (size=4096,offset=0): ({wide})",
        f" value: <4 cublas-gemm.1 @0> [4.0 KiB · 0.7 % of the peak · live 4–5] (size=4096,offset=0): ({wide})",
    )


def test_fused_instructions_have_no_hints() -> None:
    module = module_of(SPLIT)
    text = module.data.decode()
    fused = text[: text.index("ENTRY ")]
    assert not hints(replace(analysis_of(SPLIT), module=module), module.file, (0, len(fused)), 100)


def test_no_hints_in_an_unrelated_module() -> None:
    module = module_of(SPLIT)
    assert hints(replace(analyse([]), module=module), module.file, (0, len(module.data)), 100) == []
    empty = module_of_text(b"")
    assert hints(replace(analysis_of(SPLIT), module=empty), empty.file, (0, 9), 100) == []
    hints(replace(analysis_of(TPU), module=module), module.file, (0, len(module.data)), 100)


@on_each_dump
def test_shares_that_are_too_small_are_not_shown(path: Path) -> None:
    analysis = analysis_of(path)
    every = [hint.label for file in analysis.dump.files for hint in hints(analysis, file, (0, 1 << 40), 10**6)]
    assert not any(re.search(r"(?<![0-9])0\.0 %", label) for label in every)
    assert any("live" in label for label in every) >= any(space.peak_live_bytes for space in analysis.memory.spaces)


def test_module_and_schedule_have_the_same_hints() -> None:
    module = module_of(SPLIT)
    analysis = replace(analysis_of(SPLIT), module=module)
    live = analysis.dump.live
    assert live
    beside = {
        module.name(module.instruction_at(hint.offset)).decode(): hint.label
        for hint in hints(analysis, module.file, (0, len(module.data)), 10**6)
    }
    steps = re.findall(r"^    \d+:(\S+)$", live.document.data.decode(), re.MULTILINE)
    end = live.document.data.index(b"  BufferLiveRange")
    found = [hint.label for hint in hints(analysis, live, (0, end), 10**6)]
    assert [beside.get(name) for name in steps] == found
