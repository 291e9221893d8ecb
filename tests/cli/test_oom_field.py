"""Out-of-memory messages as people post them, in `tests/field`: their causes, numbers and remedies."""

import re
from typing import Final

import pytest

from commands import run
from samples import FIELD

ANSWERS: Final = {
    "base_limit_alone": [
        "The arguments and outputs of the program alone exceed what XLA may use",
        "line 1, 2 times",
        "needed 122.32 GiB",
        "limit 18.85 GiB",
        "short by 103.48 GiB",
        "so nothing inside the program helps.",
        "Pass fewer or smaller arguments, donate those that outputs can replace, or shard them.",
    ],
    "base_limit_particles": [
        "The arguments and outputs of the program alone exceed what XLA may use",
        "needed 22.461 TiB",
        "limit 25.17 GiB",
        "Rematerialization cannot help.",
        "2 1 41.696 TiB 22.40 GiB Rematerialization did not reach its limit",
    ],
    "base_limit_with_failure": [
        "The arguments and outputs of the program alone exceed what XLA may use",
        "needed 7.92 GiB",
        "limit 5.82 GiB",
        "8 1 1.86 GiB A buffer could not be allocated in device memory while the program ran",
    ],
    "bfc_stats": [
        "requested 12.29 GiB",
        "free 119.22 MiB",
        "37.35 GiB of the limit of 37.47 GiB are in use",
        "the largest free block has 0 B.",
        "The memory is full",
    ],
    "command_buffer": [
        "The driver had no memory for a CUDA graph (command buffer) while the program ran",
        "lower `XLA_CLIENT_MEM_FRACTION`.",
        "switch command buffers off: `XLA_FLAGS=--xla_gpu_enable_command_buffer=`",
        "35 commands",
        "2 alive graphs",
    ],
    "load_program_cut": [
        "Device memory has no room for jit__multi_slice, which was compiled",
        "requested 6.14 GiB",
        "The 6.14 GiB must be free in one piece.",
        "How much was free is not said",
    ],
    "one_line_totals": [
        "needed 49.34 GiB",
        "available 32.00 GiB",
        "short by 17.34 GiB",
        "3.12 MiB Total hbm usage: reserved",
        "unknown Total hbm usage: program",
        "49.34 GiB Total hbm usage: arguments",
    ],
    "one_line_tpu_list": [
        "short by 33.05 GiB",
        "2.00 GiB none f32[32,4096,4096]{1,2,0:T(8,128)} fusion.1265.remat3 model.py:1059",
        "13.91 GiB 12.91 GiB f32[1024,256,8]{2,1,0:T(8,128)} copy.40488",
    ],
    "pinned_host_2024": [
        "Host memory could not be pinned; this is not the memory of the GPU",
        "requested 2.00 GiB",
        "3 2 1.80 GiB Host memory could not be pinned",
    ],
    "remat_negative": [
        "reached 28.35 GiB",
        "What must stay is already 20.61 GiB over the limit before any temporary.",
    ],
    "shared_memory_context": [
        "Kernel gemm_fusion_dot.12 needs more shared memory than the GPU has",
        "needed 4.00 MiB",
        "available 227.0 KiB",
        "short by 3.78 MiB",
    ],
    "tpu_early_abort": [
        "needed 3.47 EiB",
        "available 14.49 GiB",
        "This is an estimate before compilation.",
        "A size in the program is wrong by orders of magnitude.",
    ],
    "vmem_kernel_name": [
        "Kernel reduce-window.1 needs more scoped VMEM than its limit",
        "needed 31.07 MiB",
        "limit 16.00 MiB",
        "short by 15.07 MiB",
    ],
    "vmem_two_sentences": [
        "A kernel needs more scoped VMEM than its limit",
        "needed 37.54 MiB",
        "limit 16.00 MiB",
        "short by about 21.54 MiB",
    ],
}


def words_of(text: str) -> str:
    return re.sub(r"\s+", " ", text)


@pytest.mark.parametrize("name", ANSWERS)
def test_message_of_the_field_is_answered(name: str) -> None:
    status, out, err = run("oom", FIELD / f"{name}.txt")
    assert (status, err) == (0, "")
    for words in ANSWERS[name]:
        assert words in words_of(out), words
    # None of the inputs stops in the middle of a buffer.
    assert "cut off" not in out


def test_names_begin_no_sentence() -> None:
    _, out, _ = run("oom", FIELD / "vmem_kernel_name.txt")
    assert "Reduce-window.1" not in out


def test_a_log_of_programs_that_fit_says_what_they_need() -> None:
    status, out, err = run("oom", FIELD / "tpu_compile_log.txt")
    assert (status, err) == (0, "")
    assert out.startswith("No out-of-memory message: 1 program compiled for a TPU, which fits\n")
    assert "128.56 MiB of 15.75 GiB 14.48 MiB of 128.00 MiB 1.9 KiB of 1.00 MiB jit_loss" in words_of(out)
