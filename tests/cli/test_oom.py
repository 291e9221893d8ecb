"""`xla-lens oom`, as people and programs run them."""

import gzip
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

import xla_lens
from cli.test_schema import printed_fields
from commands import run
from oom_texts import GPU_LIST, TPU_LIST, TPU_VMEM
from samples import DUMPS, FIELD, ROOT, SHARED_DUMPS, TPU, TPU_LOG, needs_shared_dumps

FOLDER = DUMPS / "tpu-v5e2x2-libtpu0.0.51" / "mlp_train"
"""Has a module of the name in the message, which fits into a device easily."""

SCHEMA = json.loads((ROOT / "docs" / "oom.schema.json").read_text(encoding="utf-8"))
REPORT_SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))


def feed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


@pytest.mark.parametrize("how", ["name", "dash", "nothing", "gzip", "gzip-pipe", "utf-16"])
def test_log_comes_from_a_file_or_a_pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, how: str) -> None:
    data = b"step\n" * 240_000 + TPU_LOG.read_bytes()
    path = tmp_path / "log"
    path.write_bytes(
        gzip.compress(data) if how == "gzip" else data.decode().encode("utf-16") if how == "utf-16" else data
    )
    feed(monkeypatch, gzip.compress(data[:1000]) + gzip.compress(data[1000:]) if how == "gzip-pipe" else data)
    arguments = {"dash": ["-"], "nothing": [], "gzip-pipe": ["-"]}.get(how, [str(path)])
    status, out, err = run("oom", *arguments)
    assert (status, err) == (0, "")
    assert "line 240,001, error code E1000" in out


def test_a_folder_alone_joins_it_with_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, fitting_log().encode())
    status, out, _ = run("oom", FOLDER)
    assert status == 0
    assert "log        <stdin>, line 1" in out
    assert re.search(r"^Dump: .*mlp_train/module_\d+\.jit_train_step\.", out, re.MULTILINE)


def test_message_is_joined_with_its_dump_and_its_capacity_is_the_budget(tmp_path: Path) -> None:
    status, out, err = run("oom", TPU_LOG, FOLDER)
    assert (status, err) == (1, "")
    assert "The only dump of the module that the message names." in out
    # Nothing in this small dump has 44.36 GiB, and the answer does not pretend otherwise.
    assert "It is of another run: all its sizes are far from those in the message." in out
    assert re.search(r"44\.36 GiB  HLO temporaries  no such sum: preallocated temporaries take [\d.]+ KiB", out)
    assert "The program fits into 15.75 GiB already." in out
    (tmp_path / "log").write_text(fitting_log())
    status, out, err = run("oom", tmp_path / "log", FOLDER)
    assert (status, err) == (0, "")
    assert "another run" not in out
    assert re.search(r"^  It needs [\d.]+ \wiB of HBM, with [\d.]+ \wiB of parameters and ", out, re.MULTILINE)
    assert re.search(r"and does not fit the device: [\d.]+ \wiB too much", out)


def fitting_log() -> str:
    """The message, with what the dump of `FOLDER` reserves, and half of it as the capacity."""
    (capture,) = xla_lens.read_captures(FOLDER)
    reserved = capture.peak().reserved_bytes / 2**20
    return TPU_LOG.read_text().replace("44.36G", f"{reserved:.2f}M").replace("15.75G", f"{reserved / 2:.2f}M")


def test_chosen_parts_follow_the_message(tmp_path: Path) -> None:
    (tmp_path / "log").write_text(fitting_log())
    status, out, _ = run("oom", tmp_path / "log", FOLDER, "--part", "donation", "--budget", "1KiB")
    assert status == 0
    assert out.startswith("HBM ran out when XLA compiled jit_train_step\n")
    assert "\nDonation: " in out
    assert "1 KiB" in out
    assert "15.75 GiB, remove" not in out
    # One dump is reported, although the folder has several.
    assert out.count("\n  files ") == 1


def test_capacity_in_the_message_takes_precedence_over_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "log").write_text(fitting_log())
    expected = run("oom", tmp_path / "log", FOLDER)
    monkeypatch.setenv("XLA_LENS_BUDGET", "1KiB")
    assert run("oom", tmp_path / "log", FOLDER) == expected


def test_message_without_its_dump_is_still_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(TPU_LOG.read_text().replace("jit_train_step", "jit_strange"))
    status, out, err = run("oom", log, FOLDER)
    assert (status, err) == (1, "")
    assert "HBM ran out when XLA compiled jit_strange" in out
    assert "The dump is not about this message: it is not of module jit_strange\n" in out


def test_numbers_of_a_dump_that_is_cut_off_are_bounds(tmp_path: Path) -> None:
    for path in FOLDER.glob("module_*jit_train_step*"):
        data = path.read_bytes()
        is_cut = path.name.endswith("-buffer-assignment.txt")
        (tmp_path / path.name).write_bytes(data[: len(data) // 2] if is_cut else data)
    status, out, _ = run("oom", TPU_LOG, tmp_path)
    assert status == 1
    assert re.search(r"^  It needs ≥ [\d.]+ \wiB of HBM", out, re.MULTILINE)
    assert "44.36 GiB  HLO temporaries  unknown: dump is cut off" in out


def test_messages_besides_the_first_failure_are_listed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(GPU_LIST + TPU_LIST + GPU_LIST)
    status, out, _ = run("oom", log)
    assert status == 0
    assert out.startswith("A buffer could not be allocated in device memory while the program ran\n")
    assert ", line 2, 2 times; 2 other messages" in out
    others = out[out.index("Other messages in the log") :].splitlines()
    assert [line.split()[:2] for line in others[2:]] == [["1", "2"], [f"{GPU_LIST.count(chr(10)) + 4}", "1"]]


def test_list_that_is_cut_off_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(TPU_LIST[: TPU_LIST.index("     Unpadded size: 1.00G")])
    assert "  The message is cut off: the last buffer is incomplete" in run("oom", log)[1]
    log.write_text(TPU_LIST)
    assert "cut off" not in run("oom", log)[1]


# ---------------------------------------------------------------- JSON


def data_of(*arguments: object) -> Any:
    _, out, err = run(*arguments, "--output-format", "json")
    assert not err
    data = json.loads(out)
    Draft202012Validator(SCHEMA).validate(data)
    return data


def test_json_matches_its_schema_and_prints_every_field(tmp_path: Path) -> None:
    seen: set[str] = set()
    log = tmp_path / "log"
    log.write_text(TPU_LIST + GPU_LIST + TPU_VMEM)
    seen.update(printed_fields(data_of("oom", log)))
    seen.update(printed_fields(data_of("oom", TPU_LOG, FOLDER)))
    seen.update(printed_fields(data_of("oom", FIELD / "tpu_compile_log.txt")))
    seen.update(printed_fields(data_of("oom", FIELD / "command_buffer.txt")))
    seen.update(printed_fields(data_of("oom", TPU_LOG, FOLDER, "--part", "totals")))
    name = next(line for line in TPU.read_text().splitlines() if line.startswith(" value: <") and " @0>" in line)
    log.write_text(
        TPU_LIST.replace("copy.40488", re.split(r"[ {]", name.removeprefix(" value: <").split(" ", 1)[1])[0])
    )
    seen.update(printed_fields(data_of("oom", log, TPU)))
    for name, definition in SCHEMA["$defs"].items():
        # `tests/cli/test_schema.py` does this for the fields of reports.
        assert name in REPORT_SCHEMA["$defs"] or set(definition["properties"]) <= seen, name


# ---------------------------------------------------------------- what cannot be answered


def test_log_without_a_message_is_one_line_and_status_1(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for data in (b"", b"all is well\n", bytes(range(256)) * 50):
        log.write_bytes(data)
        words = (
            "no out-of-memory message of XLA found. Looked for RESOURCE_EXHAUSTED and the sentences about memory of "
            "compilers, runtimes and allocators of TPUs, GPUs and CPUs. Expected the log of the failed program"
        )
        assert run("oom", log) == (1, "", f"xla-lens: {log}: {words}\n")
        assert run("oom", log, FOLDER) == (1, "", f"xla-lens: {log}: {words}\n")
        feed(monkeypatch, data)
        assert run("oom") == (1, "", f"xla-lens: <stdin>: {words}\n")


def test_damaged_log_and_folder_without_dumps_are_errors(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(gzip.compress(TPU_LOG.read_bytes())[:30] + b"\xff" * 50)
    for arguments, words in ((["oom", broken], "cannot be decompressed"), (["oom", TPU_LOG, tmp_path], "no dumps")):
        status, out, err = run(*arguments)
        assert (status, out, err.count("\n")) == (2, "", 1), arguments
        assert words in err


def test_terminal_is_not_read_as_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    feed(monkeypatch, b"")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    status, _, err = run("oom")
    assert (status, err) == (
        2,
        "xla-lens: no log given: name the file, or pipe the output of the program into this command\n",
    )


# ---------------------------------------------------------------- the library, and the collection


@needs_shared_dumps
def test_message_of_the_collection_finds_its_dump_among_all() -> None:
    folders = [path for path in sorted(SHARED_DUMPS.iterdir()) if path.name.startswith("tpu") and path.is_dir()]
    data = data_of("oom", TPU_LOG, *folders)
    (message,) = data["messages"]
    assert message["dump"]["chosen_by"] == "number"
    assert "tpu-v5e-oom" in message["dump"]["files"]["buffer-assignment"]
    assert message["facts"][0]["equals"] == ["reserved", "peak"]
    assert message["dump"]["sums"]["temporaries"] == {"size_bytes": 27555742208, "bound": "exact"}
    advice = data["report"]["advice"]
    assert advice["budget"]["size_bytes"] == 63 << 28
    # The decisive fact: the parameters alone do not fit.
    assert advice["argument_bytes"] > 63 << 28
    assert advice["budget"]["arguments_exceed"] is True
