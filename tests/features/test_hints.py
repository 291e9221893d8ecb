"""Inlay hints."""

import re
from pathlib import Path

import pytest

from samples import SEED, SPLIT, TPU, analysis_of, analysis_of_text, module_of, module_of_text, never, on_each_dump
from xla_lens.features.hints import hints, module_hints
from xla_lens.files import NotADump, find_set, load_module
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.module import HloModule
from xla_lens.syntax.columns import NONE


def check(analysis: Analysis, part: str, expected: str) -> None:
    """Return some lines with their hints in brackets."""
    for file in analysis.dump.files:
        text = file.document.data.decode()
        if part in text:
            start = text.index(part)
            found = hints(analysis, file, start, start + len(part), 100)
            for hint in sorted(found, key=lambda hint: -hint.offset):
                text = f"{text[: hint.offset]} [{hint.label}]{text[hint.offset :]}"
            assert text[start:].startswith(expected.strip("\n"))
            return
    raise AssertionError(part)


def _part(path: Path, first: str, last: str) -> str:
    text = path.read_text()
    start = text.index(first)
    return text[start : text.index(last, start) + len(last)]


def test_hints_show_live_bytes_of_one_memory_space() -> None:
    check(
        analysis_of(SEED),
        _part(SEED, "  InstructionSequence:", "(peak):"),
        """
  InstructionSequence:
    0:param.1 [320.0 KiB live]
    1:bitcast.1 [320.0 KiB live]
    2:param [320.0 KiB live]
    3:fusion [+256.0 KiB → 576.0 KiB live]
    4:cublas-gemm.1 [+4.0 KiB → 580.0 KiB live ◀ peak]
    5:negate.0 [−256.0 KiB → 324.0 KiB live]
    6:tuple [324.0 KiB live]
  BufferLiveRange:
    param{}:0-7 [256.0 KiB]
    param.1{}:0-7 [64.0 KiB]
    negate.0{}:5-7 [4.0 KiB]
    tuple{}:6-7 [8 B]
    cublas-gemm.1{}:4-5 [4.0 KiB]
    fusion{}:3-4 [256.0 KiB]
  Live ranges at 5 (peak): [real HBM peak: 580.0 KiB at step 4 (324.0 KiB here)]
""",
    )


def test_hints_show_live_bytes_of_several_memory_spaces() -> None:
    live = next(TPU.parent.glob("*roundtrip*-live-range.txt"))
    check(
        analysis_of(TPU),
        _part(live, "    3:copy-start\n", "    8:fusion.2"),
        """
    3:copy-start [HBM 8.00 MiB, SMEM +4 B → 8 B, host memory 4.00 MiB ◀ peak of SMEM, host memory]
    4:copy-done [8.00 MiB live]
    5:copy-start.1 [8.00 MiB live]
    6:copy-done.1 [8.00 MiB live]
    7:copy-done.2 [8.00 MiB live]
    8:fusion.2 [+4.00 MiB → 12.00 MiB live ◀ peak]
""",
    )


def test_values_in_allocations_have_live_ranges() -> None:
    check(
        analysis_of(SEED),
        _part(SEED, "allocation 2:", "offset=0): (f32[64,16]{1,0})"),
        """
allocation 2: 0x399bf70, size 4096, maybe-live-out: [4.0 KiB · 0.7 % of the HBM peak]
 value: <2 negate.0 @0> (size=4096,offset=0): f32[64,16]{1,0} [4.0 KiB · live 5–7]
 value: <4 cublas-gemm.1 @0> (size=4096,offset=0): f32[64,16]{1,0} [4.0 KiB · 0.7 % of the peak · live 4–5]
allocation 3: 0x399c020, size 8, output shape is |(f32[64,16])|, maybe-live-out:
 value: <3 tuple{} @0> (size=8,offset=0): (f32[64,16]{1,0}) [live 6–7]
""",
    )


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


def test_shares_and_changes_need_exact_peaks() -> None:
    """The bytes that a cut dump lacks may be live at any step."""
    text = SEED.read_text()
    cut = analysis_of_text(text[: text.index("    negate.0{}:5-7")])
    (file,) = cut.dump.files
    labels = [hint.label for hint in hints(cut, file, 0, len(file.document.data), 100)]
    assert len(labels) > 10
    assert not any("%" in label or "→" in label for label in labels), labels


def test_limit_truncates_hints() -> None:
    analysis = analysis_of(SEED)
    file = analysis.dump.files[0]
    assert len(hints(analysis, file, 0, 10_000, 7)) == 7


def _with_hints(analysis: Analysis, module: HloModule, part: str) -> list[str]:
    """Return the starts of some lines of a module with their hints in brackets."""
    text = module.data.decode()
    start = text.index(part)
    found = module_hints(analysis, module, start, start + len(part), 100)
    for hint in sorted(found, key=lambda hint: -hint.offset):
        text = f"{text[: hint.offset]} [{hint.label}]{text[hint.offset :]}"
    return [line.partition(" = ")[0] for line in text[start:].split("\n")[: part.count("\n") + 1]]


def test_instructions_of_a_module_have_hints() -> None:
    module = module_of(SPLIT)
    assert _with_hints(analysis_of(SPLIT), module, _lines(module, "  %dot = ", 3)) == [
        "  %dot [+1.53 MiB → 4.21 MiB live] [1.53 MiB]",
        "  %ynn_fusion.1 [4.21 MiB live ◀ peak] [2.0 KiB]",
        "  %multiply_subtract_fusion.5 [−256.0 KiB → 3.96 MiB live] [1.53 MiB]",
    ]


def _lines(module: HloModule, first: str, count: int) -> str:
    text = module.data.decode()
    return "\n".join(text[text.index(first) :].split("\n")[:count])


def test_fused_instructions_have_no_hints() -> None:
    module = module_of(SPLIT)
    text = module.data.decode()
    fused = text[: text.index("ENTRY ")]
    assert not module_hints(analysis_of(SPLIT), module, 0, len(fused), 100)


def test_no_hints_in_an_unrelated_module() -> None:
    module = module_of(SPLIT)
    assert module_hints(analyse([]), module, 0, len(module.data), 100) == []
    assert module_hints(analysis_of(SPLIT), module_of_text(b""), 0, 9, 100) == []
    module_hints(analysis_of(TPU), module, 0, len(module.data), 100)


@on_each_dump
def test_module_and_schedule_have_the_same_hints(path: Path) -> None:
    try:
        loaded = load_module(find_set(path), {}, None, never)
    except NotADump:
        loaded = None
    analysis = analysis_of(path)
    live = analysis.dump.live
    if loaded is None or live is None:
        pytest.skip("no HLO module or no schedule in this set")
    module = loaded.module
    beside = module_hints(analysis, module, 0, len(module.data), 10**6)
    module_labels = {
        module.name(module.instruction_at(hint.offset)).decode(): hint.label
        for hint in beside
        if "live" in hint.label or "," in hint.label
    }
    expected: dict[str, str] = {}
    for hint in hints(analysis, live, 0, len(live.document.data), 10**6):
        start, end = live.document.line_span(live.document.row(hint.offset))
        step, _, name = live.document.data[start:end].decode().strip().partition(":")
        if step.isdigit():
            expected.setdefault(name, hint.label)
    # Newer modules have no lines for tuple elements.
    known = {name: label for name, label in expected.items() if module.row_of(name.encode()) != NONE}
    assert module_labels == known
    every = [hint.label for file in analysis.dump.files for hint in hints(analysis, file, 0, 1 << 40, 10**6)]
    assert not any(re.search(r"(?<![0-9])0\.0 %", label) for label in every), "shares that are too small are not shown"
    assert bool(known) == any(space.peak_live_bytes for space in analysis.memory.spaces)
