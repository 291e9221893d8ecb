"""Pages: their text, and the targets of their links."""

import re

import pytest
from msgspec.structs import replace

from samples import SEED, SPLIT, TPU, analysis_of, analysis_of_text, joined, on_dumps
from xla_lens.blocks.blocks import Explanation
from xla_lens.editor.page_kinds import HistoryPage, LiveSetPage, Page, SummaryPage, page_name, page_of_name
from xla_lens.editor.page_text import page_text
from xla_lens.editor.pages import Link, PageText
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.stack_frames import StackFrame
from xla_lens.model.places.entities import Entity, EntityKind, entity_place
from xla_lens.model.places.places import Place
from xla_lens.words.sources import frame_text


def _page(analysis: Analysis, page: Page, limit: int = 1000) -> PageText:
    return page_text(analysis, page, limit)


def _target_text(place: Place) -> str:
    return place.file.document.data[place.start : place.end].decode()


def _link_target(link: Link) -> str:
    match link.target:
        case StackFrame():
            return frame_text(link.target)
        case Explanation(code):
            return f"`xla-lens explain {code}`"
        case tuple():
            return f"{len(link.target)} values in the map"
    assert link.place
    return _target_text(link.place)


def check(analysis: Analysis, page: Page, expected: str, limit: int = 1000) -> None:
    """A page, and below each line where its links lead."""
    shown = _page(analysis, page, limit)
    lines, end = [], 0
    for line in shown.text.encode().splitlines(keepends=True):
        start, end = end, end + len(line)
        lines.append(line.decode().rstrip("\n"))
        here = [link for link in shown.links if start <= link.start < end]
        if here:
            marks = bytearray(b" " * len(line))
            for link in here:
                marks[link.start - start : link.end - start] = b"^" * (link.end - link.start)
            targets = ", ".join(map(_link_target, here))
            lines.append(f"{marks.decode().rstrip()} {targets}")
    assert "\n".join(lines) == expected.strip("\n")


def test_live_set_page_lists_live_values() -> None:
    check(
        analysis_of(TPU),
        LiveSetPage(3),
        """
Live at step 3
        ^^^^^^ copy-start
  runs       copy-start
             ^^^^^^^^^^ copy-start
  peak       XLA prints the peak at step 5
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ Live ranges at 5 (peak):

Live in HBM: 8.00 MiB in 4 values at step 3 (copy-start)
                                     ^^^^^^ copy-start
      size   share  value                      shape                                                                           live  op_name
  4.00 MiB  50.0 %  x.1                        f32[1024,1024]{1,0:T(8,128)}                                                    0–9   x
                    ^^^ <13 x.1 @0>
  4.00 MiB  50.0 %  broadcast_multiply_fusion  f32[1024,1024]{1,0:T(8,128)}                                                    2–4   jit(roundtrip)/mul
                    ^^^^^^^^^^^^^^^^^^^^^^^^^ <14 broadcast_multiply_fusion @0>
     512 B   0.0 %  copy-start{}               (f32[1024,1024]{1,0:T(8,128)S(5)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)})  3–4
                    ^^^^^^^^^^^^ <15 copy-start{} @0>
     512 B   0.0 %  copy-start.2{}             (f32[1024,1024]{1,0:T(8,128)S(1)}, f32[1024,1024]{1,0:T(8,128)}, u32[]{:S(2)})  1–7
                    ^^^^^^^^^^^^^^ <21 copy-start.2{} @0>

Live in VMEM: 4.00 MiB in 1 value at step 3 (copy-start)
                                     ^^^^^^ copy-start
      size    share  value            shape                             live
  4.00 MiB  100.0 %  copy-start.2{0}  f32[1024,1024]{1,0:T(8,128)S(1)}  1–8
                     ^^^^^^^^^^^^^^^ <22 copy-start.2{0} @1>

Live in sync flags: 8 B in 2 values at step 3 (copy-start)
                                       ^^^^^^ copy-start
  size   share  value            shape         live
   4 B  50.0 %  copy-start{2}    u32[]{:S(2)}  3–4
                ^^^^^^^^^^^^^ <17 copy-start{2} @2>
   4 B  50.0 %  copy-start.2{2}  u32[]{:S(2)}  1–7
                ^^^^^^^^^^^^^^^ <23 copy-start.2{2} @2>

Live in host memory: 4.00 MiB in 1 value at step 3 (copy-start)
                                            ^^^^^^ copy-start
      size    share  value          shape                             live
  4.00 MiB  100.0 %  copy-start{0}  f32[1024,1024]{1,0:T(8,128)S(5)}  3–6
                     ^^^^^^^^^^^^^ <16 copy-start{0} @5>
""",  # noqa: E501
    )


def test_truncated_live_set_says_so() -> None:
    check(
        analysis_of(SEED),
        LiveSetPage(4),
        """
Live at step 4
        ^^^^^^ cublas-gemm.1
  runs       cublas-gemm.1
             ^^^^^^^^^^^^^ cublas-gemm.1
  peak       XLA prints the peak at step 5
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ Live ranges at 5 (peak):

Live in HBM: 580.0 KiB in 4 values at step 4 (cublas-gemm.1)
                                      ^^^^^^ cublas-gemm.1
       size   share  value  shape                 live
  256.0 KiB  44.1 %  param  f32[64,256,4]{2,1,0}  0–7
                     ^^^^^ <0 param @0>
  ... and 3 smaller values
""",
        limit=1,
    )


def test_allocation_history_page_lists_values_by_time() -> None:
    check(
        analysis_of(TPU),
        HistoryPage(2),
        """
History of allocation 2
           ^^^^^^^^^^^^ allocation 2: size 4243456, page 0, preallocated-temp:
  size       4.05 MiB (4,243,456 bytes) in HBM
  values     5

Values by offset, then by time
  start offset  end offset      size  live  value
             0         512     512 B  1–7   copy-start.2{}
                                              ^^^^^^^^^^^^^^ <21 copy-start.2{} @0>
        16,384      16,896     512 B  3–4   copy-start{}
                                              ^^^^^^^^^^^^ <15 copy-start{} @0>
        32,768      33,280     512 B  5–6   copy-start.1{}
                                              ^^^^^^^^^^^^^^ <18 copy-start.1{} @0>
        49,152   4,243,456  4.00 MiB  2–4   broadcast_multiply_fusion
                                              ^^^^^^^^^^^^^^^^^^^^^^^^^ <14 broadcast_multiply_fusion @0>
        49,152   4,243,456  4.00 MiB  5–8   copy-start.1{0}
                                              ^^^^^^^^^^^^^^^ <19 copy-start.1{0} @0>
""",
    )


def test_live_set_page_names_and_links_source_lines() -> None:
    shown = page_text(joined(SPLIT), LiveSetPage(36))
    rows = {line.split()[4]: line for line in shown.text.splitlines() if "f32[" in line}
    # As the HLO module resolves the stack frames of the instructions.
    assert re.search(
        r"  dot +programs.py:50  f32\S+ +35–37  jit\(train_step\)/transpose\(jvp\(\)\)/transpose", rows["dot"]
    )
    assert re.search(r"  programs.py:59  f32\S+ +33–40  jit\(train_step\)/sub", rows["multiply_subtract_fusion.3"])
    assert re.search(r"  params_0__0_.1 +f32\S+ +0–37 +params\[0\]\[0\]", rows["params_0__0_.1"])
    links = [link for link in shown.links if isinstance(link.target, StackFrame)]
    texts = [shown.text.encode()[link.start : link.end].decode() for link in links]
    assert texts == [f"programs.py:{line}" for line in (50, 59, 51, 59, 50, 59, 59, 57)]
    assert {frame_text(link.target).partition(":")[0] for link in links if isinstance(link.target, StackFrame)} == {
        "/home/user/programs/programs.py"
    }


def test_pages_of_missing_steps_and_allocations_say_so() -> None:
    check(analysis_of(TPU), LiveSetPage(10), "The dump has no step 10: the steps are 0–9.")
    check(analysis_of(TPU), HistoryPage(6), "The dump has no allocation 6.")
    without_schedule = SEED.read_text().partition("HloLiveRange")[0]
    unknown = "The live bytes at step 0 are unknown (the live ranges are missing)"
    check(analysis_of_text(without_schedule), LiveSetPage(0), unknown)


def test_live_set_page_covers_the_end_of_the_program() -> None:
    text = _page(analysis_of(SEED), LiveSetPage(7)).text
    assert "  runs       nothing; the program ends here\n" in text


def test_summary_page_shows_the_report_with_links() -> None:
    shown = _page(analysis_of(SPLIT), SummaryPage())
    assert shown.text.startswith(
        "jit_train_step\n  It needs 4.21 MiB of host memory.\n  All but 56 B of it is live at once, at step 36 of 40 "
    )
    assert "\n\n  files      " in shown.text
    assert "\n  lists      the first 20 rows of each\n" in shown.text
    assert "\nDonation: outputs reuse the memory of 6 parameters (2.04 MiB)" in shown.text
    texts = [shown.text.encode()[link.start : link.end].decode() for link in shown.links]
    for link in ("36", "XLA prints a peak of 5.50 MiB at step 37", "params_0__0_.1", "allocation 29", "copy.2"):
        assert link in texts


@pytest.mark.parametrize("page", [SummaryPage(), LiveSetPage(0), LiveSetPage(120), HistoryPage(0), HistoryPage(10**17)])
def test_page_name_round_trips(page: Page) -> None:
    assert page_of_name(page_name(page)) == page


@pytest.mark.parametrize(
    "name",
    [
        "",
        "summary",
        "Summary.txt",
        "summary.txt ",
        "live-set-at-.txt",
        "live-set-at--1.txt",
        "live-set-at-01.txt",
        "live-set-at-1.txt\n",
        "live-set-at-١.txt",
        "live-set-at-1_0.txt",
        "live-set-at-1e3.txt",
        f"live-set-at-{10**18}.txt",
        "live-set-at-4.txt/summary.txt",
        "../live-set-at-4.txt",
        "history-of-allocation-.txt",
        "history-of-allocation-4",
    ],
)
def test_invalid_names_are_not_pages(name: str) -> None:
    assert page_of_name(name) is None


def test_missing_entities_have_no_place() -> None:
    dump = analysis_of(SEED).dump
    for kind in EntityKind:
        for number in (-1, 99, 10**18, -(10**30), 10**30):
            assert entity_place(dump, Entity(kind, number)) is None, (kind, number)


def test_links_are_right_after_multibyte_characters() -> None:
    text = SEED.read_text().replace('op_name="parallelize(', 'op_name="größe→𝔵(').replace("cublas-gemm.1", "größe.1")
    analysis = analysis_of_text(text)
    for page in (LiveSetPage(4), SummaryPage()):
        assert "größe→𝔵(" in _page(analysis, page).text
        _check_links(analysis, page)


@pytest.mark.parametrize("name", ["a\\nb", "a\\r\\nb", "a\\u2028b", "a\\342\\200\\250b", "a\\x0bb", "a\\fb\\034c"])
def test_no_name_breaks_a_line(name: str) -> None:
    text = SEED.read_text()
    analysis = analysis_of_text(text.replace('op_name="parallelize(', f'op_name="{name}('))
    for page in (SummaryPage(), LiveSetPage(4)):
        shown, plain = _page(analysis, page).text, _page(analysis_of_text(text), page).text
        assert len(shown.splitlines()) == len(plain.splitlines()) == shown.count("\n")
        _check_links(analysis, page)


def test_invalid_unicode_in_a_path_is_replaced() -> None:
    file = replace(analysis_of(SEED).dump.files[0], label="/a/\udcff/b.txt")
    text = _page(analyse([file]), SummaryPage()).text
    assert "\n  files      buffer-assignment in /a/?\n" in text


def _pages(analysis: Analysis) -> list[Page]:
    dump = analysis.dump
    counts = dump.allocations.slice_count
    indices = [int(dump.allocations.index[counts.argmax()])] if len(counts) else []
    steps = {0, (dump.last_step or 0) // 2, *(space.peak_step or 0 for space in analysis.memory.spaces)}
    return [SummaryPage(), *map(LiveSetPage, sorted(steps)), *map(HistoryPage, indices)]


def _check_links(analysis: Analysis, page: Page) -> int:
    """Check that each link leads to a row with its text. Return the number of links."""
    dump = analysis.dump
    shown = _page(analysis, page, limit=200)
    data = shown.text.encode()
    end = 0
    for link in shown.links:
        text, target = data[link.start : link.end].decode(), _link_target(link)
        assert end <= link.start < link.end
        end = link.end
        if isinstance(link.target, StackFrame):
            assert target.endswith(text) or text.removesuffix("…") in target
            continue
        if step := re.fullmatch(r"(?:step )?(\d+)", text):
            place = entity_place(dump, Entity(EntityKind.STEP, int(step[1])))
            assert place
            assert place == link.place
            document = place.file.document
            start, stop = document.line_span(document.row(place.start))
            assert document.data[start:stop].decode().strip() == f"{step[1]}:{target}"
        elif text.startswith("allocation "):
            assert target.startswith(f"{text}: ")
        elif text.startswith("XLA prints "):
            assert re.fullmatch(r"Live ranges at \d+ \(peak\):", target)
        else:
            assert text.removesuffix("…") in target
    return len(shown.links)


@on_dumps
def test_links_of_all_pages(analysis: Analysis) -> None:
    assert sum(_check_links(analysis, page) for page in _pages(analysis))
