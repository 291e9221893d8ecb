"""The text of hovers."""

import json
import re
import string
from pathlib import Path
from urllib.parse import unquote

import pytest

from samples import DUMPS, SEED, SPLIT, TPU, analysis_of, analysis_of_text, assignments, dump_file, mark
from xla_lens.editor.hover import hover
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.mentions import Mention, Value
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import MentionRole
from xla_lens.words.command_links import CommandLinks
from xla_lens.words.sources import call_chain, source_suffix
from xla_lens.words.terms import term_at


def check(analysis: Analysis, marked: str, expected: str) -> None:
    """Check the hover at a marked place."""
    _, mention = mark(analysis, marked)
    assert mention is not None
    assert hover(analysis, mention) == expected.strip("\n")


def test_hover_of_a_value_shows_size_share_and_placement() -> None:
    check(
        analysis_of(SEED),
        "    cublas-gemm.1{}:4-5\n     ^",
        """
**`cublas-gemm.1`** · 4.0 KiB · 0.7 % of the HBM peak · `test_auto_sharding_basic.py:52`

- op_name `parallelize(func_shard_parallel)/dot_general[dimension_numbers=(((1,), (0,)), ((), ())) precision=None preferred_element_type=None]`
- live from step 4 to step 5 (last read by `negate.0`)
- `f32[64,16]{1,0}`
- 4.0 KiB (4,096 B) at offset 0 of allocation 2, all of it (maybe-live-out, HBM)
- value 4, defined by `custom-call`
- shares its bytes with `negate.0` (steps 5–7)
""",  # noqa: E501
    )


def test_hover_of_a_value_names_its_color_beside_its_memory_space() -> None:
    (path,) = DUMPS.glob("gpu-*/psum_user_buffers/*-buffer-assignment.txt")
    check(
        analysis_of(path),
        "    psum_invariant.7.2{}:2-3\n     ^",
        """
**`psum_invariant.7.2`** · 4.00 MiB · 33.3 % of the HBM peak

- op_name `jit(f)/shard_map/psum_invariant`
- live from step 2 to step 3 (last read by `copy.3`)
- `f32[1,1048576]{1,0:S(7)}`
- 4.00 MiB (4,194,304 B) at offset 0 of allocation 5, all of it (preallocated-temp, HBM, collective memory (color 7))
- value 9, defined by `all-reduce`
- shares its bytes with `loop_multiply_fusion` (steps 1–2)
""",
    )


def test_parameter_lives_to_the_end() -> None:
    check(
        analysis_of(SEED),
        "    param{}:0-7\n     ^",
        """
**`param`** · 256.0 KiB · 44.1 % of the HBM peak

- live from step 0 (`param.1`) to step 7, the end (a parameter: its bytes belong to the caller)
- `f32[64,256,4]{2,1,0}`
- 256.0 KiB (262,144 B) at offset 0 of allocation 0, all of it (parameter, HBM)
- value 0, defined by `parameter`
""",
    )


def test_hover_shows_size_and_padding_of_values() -> None:
    check(
        analysis_of(TPU),
        "    copy-start{2}:3-4\n     ^",
        """
**`copy-start{2}`** · 4 B · 50.0 % of the sync flags peak

- live from step 3 to step 4 (last read by `copy-done`)
- `u32[]{:S(2)}`
- 4 B at offset 4 of allocation 4 of 8 B (preallocated-temp, sync flags)
- value 17, defined by `copy-start`
- shares its bytes with `copy-start.1{2}` (steps 5–6)
""",
    )
    seed = analysis_of(DUMPS / "seeds" / "004_58de9a4b501a9eb8.txt")
    marked = "    Arg_0.1{}:0-7\n     ^"
    text = hover(seed, mark(seed, marked)[1])  # type: ignore[arg-type]
    assert ", 992 B of it padding (32.0 times the size of the shape)" in text


def test_hover_of_an_allocation_shows_its_use() -> None:
    check(
        analysis_of(TPU),
        "allocation 2: size 4243456, page 0, preallocated-temp:\n   ^",
        """
**allocation 2** · 4.05 MiB · 33.3 % of the HBM peak

- preallocated-temp in HBM, 4,243,456 B: one block for temporaries; values that are not live at the same time \
share its bytes
- 4.00 MiB (98.9 %, the most at once) are live at step 3, 47.0 KiB are idle
- 4.00 MiB − 1.0 KiB (98.8 %) are live at step 8, the HBM peak, 48.0 KiB are idle
- 5 values:
  - `broadcast_multiply_fusion` 4.00 MiB
  - `copy-start.1{0}` 4.00 MiB
  - `copy-start{}` 512 B
  - `copy-start.1{}` 512 B
  - `copy-start.2{}` 512 B
""",
    )


def test_hovers_show_the_path_of_the_parameter_whose_buffer_it_is() -> None:
    def lines(marked: str) -> list[str]:
        mention = mark(analysis_of(SPLIT), marked)[1]
        assert mention
        return hover(analysis_of(SPLIT), mention).split("\n")

    header = "allocation 1: size 524288, page 0, parameter 2, shape |f32[512,256]| at ShapeIndex {}, maybe-live-out:"
    assert "- parameter 2, `params[1][0]`" in lines(f"{header}\n   ^")
    output = lines("    multiply_subtract_fusion.3{}:33-40\n      ^")
    assert "- in the buffer of the parameter `params[1][0]`" in output
    parameter = lines("    params_0__0_.1{}:0-37\n      ^")
    assert [line for line in parameter if "params[0][0]" in line] == ["- op_name `params[0][0]`"]


def test_hover_of_a_step_shows_live_bytes() -> None:
    check(
        analysis_of(TPU),
        "    5:copy-start.1\n    ^",
        """
**step 5** · `copy-start.1`

- HBM: 8.00 MiB live (before: 8.00 MiB, after: 8.00 MiB)
- VMEM: 4.00 MiB live (before: 4.00 MiB, after: 4.00 MiB)
- sync flags: 8 B live (before: 8 B, after: 8 B)
- host memory: 4.00 MiB live (before: 4.00 MiB, after: 4.00 MiB)
- first live here: `copy-start.1{0}` 4.00 MiB, `copy-start.1{}` 512 B, `copy-start.1{2}` 4 B
- last live here: nothing
""",
    )


def test_printed_peak_explains_why_numbers_differ() -> None:
    check(
        analysis_of(SEED),
        "  Live ranges at 5 (peak):\n     ^",
        """
**Printed peak** · 328.0 KiB at step 5

| memory space | needed | real peak | at step | live at the printed step |
|---|--:|--:|--:|--:|
| HBM | 580.0 KiB | 580.0 KiB | 4 `cublas-gemm.1` | 324.0 KiB |

What the printed peak counts:

|  | printed list | counted at step 5 | counted at step 4 |
|---|--:|--:|--:|
| live in HBM | 324.0 KiB | 324.0 KiB | 580.0 KiB |
| ended one step earlier | 0 B | +256.0 KiB | 0 B |
| shared bytes counted more than once | +4.0 KiB | +4.0 KiB | 0 B |
| = XLA's sum | 328.0 KiB | 584.0 KiB | 580.0 KiB |

XLA prints the first step at which its own sum is largest.
""",
    )
    check(
        analysis_of(TPU),
        "  Live ranges at 5 (peak):\n     ^",
        """
**Printed peak** · 16.00 MiB at step 5

| memory space | needed | real peak | at step | live at the printed step |
|---|--:|--:|--:|--:|
| HBM | 12.05 MiB | 12.00 MiB | 8 `fusion.2` | 8.00 MiB |
| VMEM | 4.00 MiB | 4.00 MiB | 1 `copy-start.2` | 4.00 MiB |
| sync flags | 8 B | 8 B | 3 `copy-start` | 8 B |
| host memory | 4.00 MiB | 4.00 MiB | 3 `copy-start` | 4.00 MiB |

What the printed peak counts:

|  | printed list | counted at step 5 | counted at step 8 |
|---|--:|--:|--:|
| live in HBM | 8.00 MiB | 8.00 MiB | 12.00 MiB |
| ended one step earlier | 0 B | +4.00 MiB | +48 B |
| tuple elements counted as whole tuples | 0 B | −12.00 MiB | −8.00 MiB |
| in other memory spaces | +8.00 MiB | +8.00 MiB | +4.00 MiB |
| padding, which XLA does not count | −976 B | −976 B | 0 B |
| = XLA's sum | 16.00 MiB | 8.00 MiB | 8.00 MiB |

XLA prints the first step at which its own sum is largest.
""",
    )


def test_alias_shows_the_value_it_refers_to() -> None:
    _, mention = mark(analysis_of(TPU), "    6:copy-done.1\n      ^")
    assert mention
    lines = hover(analysis_of(TPU), mention).split("\n")
    assert lines[0] == "**`copy-start.1{0}`** · 4.00 MiB · 33.3 % of the HBM peak"
    assert "- `copy-done.1` is an alias of it, without bytes of its own" in lines


def test_instruction_without_a_value() -> None:
    text = SEED.read_text().replace("    3:fusion", "    3:after-all")
    check(
        analysis_of_text(text),
        "    3:after-all\n        ^",
        "`after-all` runs at step 3.\n\nIt has no buffer of its own.",
    )


def test_calls_lead_from_the_line_outwards_and_repeat_nothing() -> None:
    def frame(line: int, function: str, file: str = "/src/train.py") -> StackFrame:
        return StackFrame(file, line, 0, function)

    scan = [frame(41, "fwd"), frame(49, "loss"), frame(51, "train_step")]
    stack = (frame(25, "layer"), *scan, *scan, *scan, frame(1, "<module>", "<string>"))
    assert source_suffix(stack) == " · `train.py:25`"
    assert list(call_chain(stack)) == [
        "- in `layer` of `/src/train.py` ← `train.py:41` in `fwd` ← `train.py:49` in `loss` ← `train.py:51` in "
        "`train_step` ← `<string>:1` in `<module>`, with repeated calls left out"
    ]
    assert list(call_chain((StackFrame("train.py", 3),))) == list(call_chain(())) == []
    library = frame(7, "silu", "/venv/site-packages/jax/nn.py")
    assert source_suffix((library, *scan)) == " · `train.py:41`"
    assert list(call_chain((library, scan[0]))) == ["- `nn.py:7` in `silu` ← in `fwd` of `/src/train.py`"]


def test_links_run_commands_and_resist_names_of_the_dump() -> None:
    links = CommandLinks("file:///d/module_0001.f).txt")
    odd = StackFrame('/a b/x")](http://evil)`.py', 3, 0, "f")
    (command,) = re.findall(r"\]\((\S+)\)$", source_suffix((odd,), links))
    name, argument = command.removeprefix("command:").split("?")
    assert (name, json.loads(unquote(argument))) == ("xla-lens.goTo", [{"path": odd.file, "line": 3}])
    assert set(argument) <= set(string.ascii_letters + string.digits + "_.-~%")
    assert links.source("`<string>:1`", StackFrame("<string>", 1)) == "`<string>:1`"


def test_hover_links_steps_sources_and_the_allocation() -> None:
    analysis = analysis_of(SEED)
    _, mention = mark(analysis, "    cublas-gemm.1{}:4-5\n     ^")
    assert mention
    linked = hover(analysis, mention, CommandLinks("file:///dump.txt"))
    found = re.findall(r"\[([^]]+)\]\(command:xla-lens\.(\w+)\?([^)]*)\)", linked)
    assert [(text, name, json.loads(unquote(argument))[0]) for text, name, argument in found] == [
        ("`test_auto_sharding_basic.py:52`", "goTo", {"path": "test_auto_sharding_basic.py", "line": 52}),
        ("step 4", "showLiveSet", {"uri": "file:///dump.txt", "step": 4}),
        ("step 5", "showLiveSet", {"uri": "file:///dump.txt", "step": 5}),
        ("allocation 2", "showAllocationHistory", {"uri": "file:///dump.txt", "allocation": 2}),
    ]
    assert re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", linked) == hover(analysis, mention)


@pytest.mark.parametrize(
    "path",
    [*assignments(), DUMPS / "seeds" / "004_58de9a4b501a9eb8.txt"],
    ids=lambda path: f"{path.parent.name}-{path.name[:30]}",
)
def test_hovers_of_values_repeat_no_size(path: Path) -> None:
    analysis = analysis_of(path)
    for value in range(min(len(analysis.dump.values), 200)):
        text = hover(analysis, Mention(Value(value), MentionRole.USED_VALUE, 0, 0))
        # Several causes of padding can have one size. `1.0 KiB + 20 B` is another size than `1.0 KiB`.
        size = r"\d[\d.,]* (?:KiB|MiB|GiB)\b(?: [+−] \d[\d.]* \w+)?"
        # The place repeats the size with the exact bytes.
        sizes = re.findall(size, re.sub(r"\n  - .*|\n- .*(?= at offset )|(?<= of )\d\S* \w+(?= \()", "", text))
        assert len(sizes) == len(set(sizes)), text


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        (
            "preallocated-temp:\n^",
            "**`preallocated-temp`**: one block for temporaries; values that are not live at the same time share its "
            "bytes.",
        ),
        (
            "maybe-live-out:\n^",
            "**`maybe-live-out`**: the buffer may hold an output of the program, so it is kept to the end.",
        ),
        (
            " f32[1024,1024]{1,0:T(8,128)S(1)}\n                     ^",
            "**`T(8,128)`**: the array is stored in tiles of 8 × 128 elements; in memory order, its last 2 dimensions "
            "are padded to multiples of 8 and 128.",
        ),
        (
            " f32[1024,1024]{1,0:T(8,128)S(1)}\n                             ^",
            "**`S(1)`**: the array is in VMEM, memory space 1.",
        ),
        (" f32[1024,1024]{1,0:T(8,128)S(1)}\n     ^", None),
    ],
)
def test_terms_are_explained_in_one_sentence(marked: str, expected: str | None) -> None:
    analysis = analysis_of(TPU)
    text, pointer = marked.split("\n")
    (file, start) = next(
        (file, file.document.data.index(text.encode()))
        for file in analysis.dump.files
        if text.encode() in file.document.data
    )
    found = term_at(analysis.dump, file.document, start + pointer.index("^"))
    assert (found and found.markdown) == expected
    if found:
        assert found.markdown.startswith(f"**`{file.document.data[found.start : found.end].decode()}`**")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T(256)", "tiles of 256 elements; in memory order, its last dimension is padded to a multiple of 256."),
        (
            "T(8,128)(2,1)",
            "tiles of 8 × 128 elements, each made of tiles of 2 × 1; in memory order, its last 2 dimensions are padded "
            "to multiples of 8 and 128.",
        ),
    ],
)
def test_tiles_of_every_form_are_explained(text: str, expected: str) -> None:
    document = dump_file(f" value: <0 a @0> (size=4,offset=0): f32[1]{{0:{text}}}\n".encode()).document
    found = term_at(analysis_of(TPU).dump, document, document.data.index(b"T("))
    assert found
    assert found.markdown.endswith(f"stored in {expected}")


def test_rematerialized_values_are_explained() -> None:
    text = SEED.read_text().replace("cublas-gemm.1", "gemm.remat2")
    analysis = analysis_of_text(text)
    _, mention = mark(analysis, "    gemm.remat2{}:4-5\n     ^")
    assert mention
    markdown = hover(analysis, mention)
    assert "- `remat`: XLA computes the value again instead of keeping it live" in markdown
    assert "remat" not in hover(analysis_of(SEED), mention)


def test_missing_files_are_listed() -> None:
    analysis = analyse([dump_file(TPU.read_bytes())])
    check(
        analysis,
        " value: <13 x.1 @0> (size=4194304,offset=0): f32[1024,1024]{1,0:T(8,128)}\n           ^",
        """
**`x.1`** · 4.00 MiB

- `f32[1024,1024]{1,0:T(8,128)}`
- 4.00 MiB (4,194,304 B) at offset 0 of allocation 1, all of it (parameter, HBM)
- value 13
- the dump set lacks the values (`-buffer-assignment-values.txt`): positions, uses and instructions are unknown
- the dump set lacks the live ranges (`-live-range.txt` since 2026): lifetimes are unknown
""",
    )
    live = next(TPU.parent.glob("*roundtrip*-live-range.txt")).read_bytes()
    alone = analyse([dump_file(live, FileKind.LIVE_RANGE)])
    assert mark(alone, "    x.1{}:0-9\n     ^")[1] is not None
    missing = (
        "- the dump set lacks the buffer assignment (`-buffer-assignment.txt`): size and placement are unknown\n"
        "- the dump set lacks the values (`-buffer-assignment-values.txt`): positions, uses and instructions are "
        "unknown"
    )
    check(alone, "    x.1{}:0-9\n     ^", f"`x.1` runs at step 0.\n\n{missing}")
    check(alone, "    3:copy-start\n    ^", f"**step 3** · `copy-start`\n\n{missing}")
    check(alone, "  Live ranges at 5 (peak):\n     ^", f"**Printed peak** · 16.00 MiB at step 5\n\n{missing}")


def test_hover_of_several_outputs_has_the_size_place_and_live_range_of_each() -> None:
    mention = mark(analysis_of(TPU), "    3:copy-start\n      ^")[1]
    assert mention
    lines = hover(analysis_of(TPU), mention).split("\n")
    first = lines.index("- outputs, 4,194,308 B together:")
    assert lines[first + 1 : first + 3] == [
        "  - `copy-start{0}` 4.00 MiB, at offset 0 of allocation 5, live 3–6",
        "  - `copy-start{2}` 4 B, at offset 4 of allocation 4, live 3–4",
    ]
