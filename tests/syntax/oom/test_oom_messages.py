"""The messages in `oom_texts` and one-line forms, read from logs of all kinds."""

import html
import json
import random
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import oom_strings
from oom_texts import GPU_LIST, TPU_LIST, TPU_RUNTIME, TPU_TENSORFLOW, TPU_VMEM
from samples import SHARED_DUMPS, needs_shared_dumps
from xla_lens.syntax.oom import MOST_MESSAGES, read_oom_log
from xla_lens.syntax.oom_messages import WARNINGS, OomBuffer, OomKind, OomMessage
from xla_lens.syntax.printed_size import PrintedSize, printed_size


def _sentences() -> Iterator[tuple[str, dict[str, Any]]]:
    """The forms of sentences in `sentences.txt`, each with some of its fields."""
    text = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8")
    for sentence, fields in re.findall(r"(?m)^# .*\n((?:.+\n)+?)=> (.*)$", text):
        yield sentence.rstrip(), json.loads(fields)


SENTENCES = [*_sentences()]


def read(*blocks: str | bytes) -> tuple[OomMessage, ...]:
    return read_oom_log(block.encode() if isinstance(block, str) else block for block in blocks).messages


def text_of(size: PrintedSize | None) -> str | None:
    return size.text if size else None


def fields_of(message: OomMessage, names: set[str]) -> dict[str, Any]:
    """Some fields of a message; sizes as texts, and the facts in the sentence itself."""
    found = {name: getattr(message, name) for name in names}
    if "facts" in found:
        found["facts"] = {fact.name: text_of(fact.size) for fact in message.facts if not fact.group}
    return {name: text_of(value) if isinstance(value, PrintedSize) else value for name, value in found.items()}


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=lambda one: one[:60] if isinstance(one, str) else "")
def test_sentence_is_read(text: str, expected: dict[str, Any]) -> None:
    (message,) = read(f"step 1\nstep 2\n{text}\nTraceback follows\n")
    assert fields_of(message, set(expected)) == expected
    assert message.line in (3, 4)
    assert message.is_failure is (message.kind not in WARNINGS)


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=lambda one: one[:60] if isinstance(one, str) else "")
def test_sentence_is_read_through_terminals_and_loggers(text: str, expected: dict[str, Any]) -> None:
    """Colors, Windows line ends, workers of Ray, timestamps of Kubernetes, progress bars and structured logs."""
    lines = text.split("\n")
    for wrapped in (
        "\r\n".join(f"\x1b[31;1m{line}\x1b[0m" for line in lines),
        "\n".join(f"\x1b[36m(train_fn pid=4711, ip=10.0.0.2)\x1b[0m {line}" for line in lines),
        "\n".join(f"2026-11-22T09:05:40.721128112Z stderr F {line}" for line in lines),
        "\n".join(f"[2026-11-22 09:05:40] ERROR: {line}" for line in lines),
        " 31%|███      | 12/39 [00:10<00:20]\r" + "\n".join(lines),
        '{"severity": "ERROR", "message": "' + text.replace('"', '\\"').replace("\n", "\\n") + '"}',
        "\n".join(f"> {line}" for line in lines),
    ):
        (message,) = read(wrapped)
        assert fields_of(message, set(expected)) == expected, wrapped


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=lambda one: one[:60] if isinstance(one, str) else "")
def test_sentence_is_read_however_its_lines_are_broken(text: str, expected: dict[str, Any]) -> None:
    """On a single line, in quotes, and wrapped to a narrow width behind a mark of quoted text."""
    words = text.split()
    narrow = "\n".join("> " + line for line in textwrap.wrap(text, 60, break_long_words=False, break_on_hyphens=False))
    for changed in (" ".join(words), f'"{text}"', f"**{text}**", f"`{' '.join(words)}`", f"  {text}", narrow):
        (message,) = read(changed)
        assert fields_of(message, set(expected)) == expected, changed


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=lambda one: one[:60] if isinstance(one, str) else "")
def test_sentence_is_read_as_web_pages_chats_and_clusters_copy_it(text: str, expected: dict[str, Any]) -> None:
    """HTML, blanks and quotes of other alphabets, tables, code, a JSON object for each line, and Weights & Biases."""
    lines = text.split("\n")
    changes = {
        "html": html.escape(text),
        "blanks": text.replace(" ", "\xa0"),
        "quotes": re.sub(r"'([^'\n]*)'", "\u2018\\1\u2019", text),
        "table": "\n".join(f"| {line} |" for line in lines),
        "code": "\n".join(f"`{line}`" for line in lines),
        "records": "\n".join(json.dumps({"log": f"{line}\n", "stream": "stderr"}) for line in lines),
        "wandb": "\n".join(f"wandb: ERROR {line}" for line in lines),
    }
    for name, changed in changes.items():
        (message,) = read(changed)
        assert fields_of(message, set(expected)) == expected, name


@pytest.mark.parametrize("width", [80, 100, 132])
@pytest.mark.parametrize("text", [TPU_LIST, GPU_LIST, TPU_RUNTIME], ids=["tpu", "gpu", "runtime"])
def test_a_message_that_a_terminal_has_wrapped_in_its_words_is_read(text: str, width: int) -> None:
    whole, *_ = read(text)
    wrapped = [line[start : start + width] for line in text.split("\n") for start in range(0, max(1, len(line)), width)]
    message, *_ = read("\n".join(wrapped))
    for name in ("kind", "space", "module", "needed", "capacity", "excess", "free"):
        assert getattr(message, name) == getattr(whole, name)
    assert [buffer.size for buffer in message.buffers] == [buffer.size for buffer in whole.buffers]
    assert [buffer.shape for buffer in message.buffers] == [buffer.shape for buffer in whole.buffers]


def test_lines_that_are_merely_as_long_as_each_other_stay_apart() -> None:
    line = "could not allocate pinned host memory of size: 214748"
    (message,) = read(f"{line}\n3600 steps\n{line}\n12 more")
    assert message.needed
    assert (message.needed.text, message.times) == ("214748", 2)


@pytest.mark.parametrize(("text", "expected"), SENTENCES, ids=lambda one: one[:60] if isinstance(one, str) else "")
def test_sentence_that_is_cut_off_in_a_number_gives_no_other_number(text: str, expected: dict[str, Any]) -> None:
    for digit in re.finditer(r"[\d.](?=[\w. ])", text):
        cut = text[: digit.end()]
        for message in read(cut):
            for name in {"needed", "capacity", "excess", "free"} & expected.keys():
                size, whole = getattr(message, name), printed_size(expected[name])
                # A number at the very end may lack digits, and does not show it.
                is_last = size and cut.rstrip(".").endswith(size.text)
                assert size is None or is_last or (whole and size.may_be(whole.size_bytes)), (name, cut)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Ran out of memory in memory space vmem while allocating on stack for %k.1 = "
            "(bf16[8,128]{1,0:T(8,128)(2,1)}, f32[8]{0:T(128)}) custom-call(%a). Scoped allocation with size "
            "36.25M and limit 32.00M exceeded scoped vmem limit by 4.25M.",
            OomBuffer(name="k.1", shape="(bf16[8,128]{1,0:T(8,128)(2,1)}, f32[8]{0:T(128)})"),
        ),
        (
            "Allocation (size=512) would exceed memory (size=256) :: #allocation7 [shape = "
            "'u8[4,128]{1,0:T(8,128)(4,1)}', space=hbm, size = 0xffffffffffffffff, "
            "tag = 'output of xor_fusion.2@{1}'] :: <no-hlo-instruction>",
            OomBuffer(
                name="xor_fusion.2",
                shape="u8[4,128]{1,0:T(8,128)(4,1)}",
                size=printed_size("512"),
                tag="output of xor_fusion.2@{1}",
            ),
        ),
        # XLA's docs/errors/error_1001.md of January 2026: the scratch memory of a kernel.
        (
            "Allocation (size=134217728) would exceed memory (size=67108864) :: #allocation25 [shape = "
            "'u8[134217728]{0}', space=vmem, size = 0x8000000, "
            "tag = 'scoped memory for gather_kernel.2'] :: gather_kernel.2",
            OomBuffer(name="gather_kernel.2", tag="scoped memory for gather_kernel.2"),
        ),
    ],
)
def test_buffer_in_a_sentence_is_read(text: str, expected: OomBuffer) -> None:
    (message,) = read(text)
    assert message.buffers == (expected,)


@pytest.mark.parametrize(
    "prefix", ["worker-{n}    | ", "[rank{n}]: ", "{n}: ", "[1,{n}]<stderr>:", "tpu-vm-2 INFO {n} >> ", "(3, 'x') "]
)
@pytest.mark.parametrize("text", [TPU_LIST, GPU_LIST], ids=["tpu", "gpu"])
def test_list_is_read_behind_any_prefix(text: str, prefix: str) -> None:
    lines = [prefix.format(n=number % 13) + line for number, line in enumerate(text.splitlines())]
    found, expected = read("\n".join(lines))[-1], read(text)[-1]
    assert found.buffers == expected.buffers
    assert found.facts == expected.facts
    assert not found.is_cut_off


def test_lists_of_two_workers_do_not_mix() -> None:
    lines = [
        f"(worker pid={pid}) {line}"
        for pair in zip(TPU_LIST.splitlines(), TPU_TENSORFLOW.splitlines(), strict=False)
        for pid, line in enumerate(pair)
    ]
    messages = read("\n".join(lines))
    assert [(text_of(message.needed), [buffer.name for buffer in message.buffers]) for message in messages] == [
        ("41.74G", ["copy.40488"]),
        ("63.80G", ["fusion.1265.remat3"]),
    ]


def test_message_that_is_printed_twice_counts_once() -> None:
    cut = TPU_LIST[: TPU_LIST.index("  2. Size")]
    (message,) = read(f"{cut}\nThe above exception was the direct cause of the following exception:\n{TPU_LIST}")
    assert (message.times, message.line, len(message.buffers)) == (2, 4, 2)


def test_two_failures_are_two_messages_in_order() -> None:
    texts = [SENTENCES[0][0], SENTENCES[9][0], TPU_LIST]
    assert [message.needed and message.needed.text for message in read("\nstep\n".join(texts))] == [
        "44.36G",
        "29.49G",
        "63.80G",
    ]


def test_a_wrapped_label_is_joined() -> None:
    (message,) = read(TPU_LIST.replace("fusion(custom-call.224, ", "fusion(custom-call.224,\n        "))
    assert message.buffers[0].label
    assert "224, custom-call.241), kind=kOutput" in message.buffers[0].label


@pytest.mark.parametrize("text", [TPU_LIST, GPU_LIST, TPU_TENSORFLOW], ids=["tpu", "gpu", "tensorflow"])
def test_a_list_on_a_single_line_is_read_as_its_lines_are(text: str) -> None:
    """Chats, shells and tracebacks join lines with blanks."""
    found, expected = read(" ".join(text.split()))[-1], read(text)[-1]
    assert found.facts == expected.facts
    assert found.buffers == expected.buffers
    assert not found.is_cut_off


def test_statistics_of_an_allocator_are_read_behind_many_chunks() -> None:
    chunk = (
        "2024-07-12 14:40:46.380606: I xla/tsl/framework/bfc_allocator.cc:1095] InUse at 7f0000 of size 256 next 3\n"
    )
    warning = (
        "bfc_allocator.cc:485] Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00GiB (rounded to 10)\n"
    )
    stats = "bfc_allocator.cc:1114] Stats: \nLimit:      100\nInUse:       97\nNumAllocs:    5\nLargestFreeBlock: 2\n"
    (message,) = read(warning + chunk * 50_000 + stats)
    assert [(fact.name, text_of(fact.size)) for fact in message.facts] == [
        ("Limit", "100"),
        ("InUse", "97"),
        ("LargestFreeBlock", "2"),
    ]
    assert text_of(message.free) == "3"


def test_statistics_on_a_single_line_are_read() -> None:
    warning = "Allocator (GPU_0_bfc) ran out of memory trying to allocate 4.00GiB (rounded to 10)requested by op"
    (message,) = read(f"{warning} Stats: Limit: 100 InUse: 97 MaxInUse: 98 NumAllocs: 5 LargestFreeBlock: 2")
    assert [(fact.name, text_of(fact.size)) for fact in message.facts] == [
        ("Limit", "100"),
        ("InUse", "97"),
        ("MaxInUse", "98"),
        ("LargestFreeBlock", "2"),
    ]
    assert text_of(message.free) == "3"


# ---------------------------------------------------------------- hostile logs


@pytest.mark.parametrize("cut", range(0, len(TPU_LIST), 97))
def test_log_may_stop_anywhere(cut: int) -> None:
    text = TPU_LIST[:cut]
    messages = read(text)
    assert len(messages) == ("Ran out of memory in memory space hbm" in text)
    # The last field and the line below a buffer show that it is whole.
    last = text.rpartition("Size: ")[2]
    is_whole = "Size: " not in text or "Allocation type: H" in last or "========" in last
    assert all(message.is_cut_off is not is_whole for message in messages)


def test_log_may_begin_in_the_middle() -> None:
    (message,) = read(TPU_LIST[TPU_LIST.index("Total hbm usage") :])
    assert (message.kind, message.space, len(message.buffers)) == (OomKind.LIST, "hbm", 2)
    (message,) = read(TPU_LIST[TPU_LIST.index("  Largest") :])
    assert (message.kind, message.space, len(message.buffers)) == (OomKind.LIST, "hbm", 2)


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_blocks_may_end_anywhere(size: int) -> None:
    data = ("step\n" * 30 + GPU_LIST + "step\n" * 30 + TPU_LIST).encode()
    blocks = [data[start : start + size] for start in range(0, len(data), size)]
    assert read(*blocks) == read(data)
    assert [message.line for message in read(data)] == [31, 32, 30 + GPU_LIST.count("\n") + 30 + 4]


def test_binary_and_random_bytes_hold_no_message() -> None:
    generator = random.Random(16)
    assert read(bytes(range(256)) * 100) == ()
    assert read(generator.randbytes(1 << 20)) == ()
    assert read("nothing to see here\n" * 1000) == ()
    assert read() == ()
    (message,) = read(generator.randbytes(1 << 16) + b"\n" + TPU_LIST.encode() + generator.randbytes(1 << 16))
    assert len(message.buffers) == 2


def test_line_of_many_megabytes_is_read_in_pieces() -> None:
    blocks = [b"x" * (1 << 20)] * 20 + [b"\n" + SENTENCES[0][0].encode() + b"\n"]
    (message,) = read(*blocks)
    assert (message.line, text_of(message.needed)) == (2, "44.36G")


def test_damaged_messages_do_not_raise() -> None:
    generator = random.Random(5)
    data = (TPU_LIST + GPU_LIST + TPU_VMEM).encode()
    for _ in range(300):
        broken = bytearray(data)
        for _ in range(generator.randrange(1, 30)):
            start = generator.randrange(len(broken))
            broken[start : start + generator.randrange(40)] = generator.randbytes(generator.randrange(40))
        read(bytes(broken))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Ran out of memory in memory space vmem while allocating on stack for x " * 20_000, 1),
        ("RESOURCE_EXHAUSTED: " + " " * (1 << 20), 0),
        ("Size: 1.00G\n" * 50_000 + "Ran out of memory in memory space hbm.", 1),
        ("Largest program allocations in hbm:\n" + "  1. Size: 2.00G\n" * 50_000, 1),
        ("Out of memory while trying to allocate " + "9" * (1 << 20), 1),
        ("Ran out of memory in memory space hbm.\n  1. Size: " + "9" * 5000, 1),
        ("XLA label: x = " + "(" * (1 << 20) + " RESOURCE_EXHAUSTED", 0),
    ],
    ids=["heads", "blanks", "sizes", "entries", "digits", "size", "brackets"],
)
def test_hostile_text_is_read_to_its_end(text: str, count: int) -> None:
    """A pattern that backtracks without limit would run into the time limit of all tests."""
    assert len(read(text)) == count


def test_number_of_messages_is_limited() -> None:
    text = "".join(f"Out of memory while trying to allocate {number} bytes.\n" for number in range(MOST_MESSAGES + 50))
    log = read_oom_log([text.encode()])
    assert (len(log.messages), log.left_out) == (MOST_MESSAGES, 50)


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("15.75G", 16911433728),
        ("512.00M", 536870912),
        ("2.25K", 2304),
        ("0B", 0),
        ("384.0KiB", 393216),
        ("6,291,456 bytes", 6291456),
        ("17179869184", 17179869184),
    ],
)
def test_sizes_are_in_powers_of_1024(text: str, size_bytes: int) -> None:
    size = printed_size(text)
    assert size
    assert size.size_bytes == size_bytes
    assert size.may_be(size_bytes)
    assert size.is_exact is ("." not in text)


@pytest.mark.parametrize("size_bytes", [47633524736, 47628852736, 27555742208, 1023, 1025, 1 << 40, 999999999])
def test_rounded_and_truncated_sizes_keep_the_real_one(size_bytes: int) -> None:
    """XLA formats with `%.2f`; older versions divide integers first, which truncates."""
    for unit, power in (("K", 1), ("M", 2), ("G", 3)):
        rounded = printed_size(f"{size_bytes / 1024**power:.2f}{unit}")
        truncated = printed_size(f"{size_bytes * 100 // 1024**power / 100:.2f}{unit}")
        assert rounded
        assert truncated
        assert rounded.may_be(size_bytes)
        assert truncated.may_be(size_bytes)
        assert not rounded.may_be(size_bytes + 2 * 1024**power)


@needs_shared_dumps
def test_message_of_the_collection_is_read() -> None:
    (path,) = SHARED_DUMPS.glob("tpu-v5e-oom-*/*/error_*.txt")
    (message,) = read(path.read_bytes())
    assert (message.code, message.module, text_of(message.needed)) == ("E1000", "jit_train_step", "44.36G")


# ---------------------------------------------------------------- the strings of a compiler


def test_strings_of_a_library_without_a_row_are_listed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strings = (
        "Out of memory allocating %d bytes.",  # which is read
        "That was not possible. There are ",  # a part of an example
        "Could not allocate buffer for X509_STORE.",  # which is known to need no row
        "The frobnicator ran out of memory in %s",
        "no sentence about anything that matters",
    )
    library = tmp_path / "plugin.so"
    library.write_bytes(b"\0\x7fELF\0" + b"\0".join(string.encode() for string in strings) + b"\0")
    monkeypatch.setattr(sys, "argv", ["oom_strings.py", str(library)])
    oom_strings.main()
    assert capsys.readouterr().out == (
        "The frobnicator ran out of memory in %s\nplugin.so: 2 of 4 are read, 1 need no row, 1 are new\n"
    )
