"""Advice to sum the messages of a graph in parts. The programs are those of `proving/graphs.py`; `programs/` has their
dumps.
"""

import re
from pathlib import Path

import pytest

from samples import analysis_of, extracted, module_of
from xla_lens.advice.actions import Action, Cost
from xla_lens.advice.advise import advise
from xla_lens.advice.codes import Rule
from xla_lens.blocks.blocks import plain_text

MIB = 1 << 20


def _summed(path: Path) -> Action | None:
    advice = advise(analysis_of(path), module_of(path))
    assert advice
    return next((action for action in advice.actions if action.rule is Rule.MESSAGES), None)


@pytest.mark.parametrize(
    ("program", "edges", "has_states", "actual_mib"),
    [
        # On a CPU. What an edge is after a layer stays whole for the next one.
        ("edge_states", "batch[1], batch[3] and batch[2]", True, 2130),
        # For a TPU. The scores of all edges are needed for their maximum, but not by the backward pass.
        ("attention_of_edges", "batch[2] and batch[1]", False, 3031),
        # For a GPU, where XLA gathers in the fusion that adds up. Both ends of an edge are in one argument.
        ("filtered_edges", "batch[2]", False, 1145),
    ],
)
def test_messages_are_summed_in_parts(
    program: str, edges: str, has_states: bool, actual_mib: float, tmp_path: Path
) -> None:
    action = _summed(extracted(program, tmp_path))
    assert action
    text = plain_text(action.what)
    assert text.startswith(f"Sum the messages of 32,768 edges ({edges}) at a time, in jax.checkpoint in ")
    assert action.cost is Cost.COMPUTE
    assert action.snippet
    assert action.snippet.startswith("sums, passed = " if has_states else "sums, _ = ")
    assert actual_mib / 1.25 <= action.saved_needed_bytes / MIB <= actual_mib * 1.25


@pytest.mark.parametrize(
    "program",
    [
        # The largest message of each node. Its gradient counts the edges that sent it, in a sum of its own.
        "largest_messages",
        # Where a token goes depends on weights. XLA gathers its embedding in the fusion that scatters it.
        "scattered_tokens",
        # How often labels occur, by which the loss weights the examples.
        "balanced",
        # The rows of a table are weights, not nodes.
        "bags",
    ],
)
def test_what_looks_like_messages_is_not_summed_in_parts(program: str, tmp_path: Path) -> None:
    assert _summed(extracted(program, tmp_path)) is None


def test_a_module_without_the_heads_of_computations_keeps_nothing_waiting(tmp_path: Path) -> None:
    """Its fusions call what is not there, so that operands are looked for in the wrong computation, in a circle."""
    path = extracted("filtered_edges", tmp_path)
    (module,) = path.parent.glob("*after_optimizations.txt")
    heads = b"%fused_scatter.6 (", b"%fused_subtract.13 ("
    lines = module.read_bytes().splitlines(keepends=True)
    left = [line for line in lines if not line.startswith(heads)]
    assert len(left) == len(lines) - len(heads)
    module.write_bytes(b"".join(left))
    assert advise(analysis_of(path), module_of(path))


@pytest.mark.parametrize("program", ["edge_states", "filtered_edges", "decays", "taught"])
def test_fusions_that_call_themselves_end_the_advice(program: str, tmp_path: Path) -> None:
    path = extracted(program, tmp_path)
    (module,) = path.parent.glob("*after_optimizations.txt")
    text, count = module.read_bytes(), 0
    computation = b""
    lines = list[bytes]()
    for line in text.splitlines(keepends=True):
        head = re.match(rb"%(fused[\w.-]+) \(", line)
        computation = head[1] if head else computation
        parts = re.match(rb"(  %[\w.-]+ = \S+) (?:broadcast|multiply|convert|bitcast)\((%[\w.-]+)[^)]*\)(.*\n)", line)
        is_replaced = parts is not None and bool(computation)
        count += is_replaced
        if parts and is_replaced:
            lines.append(b"%b fusion(%b), kind=kLoop, calls=%%%b%b" % (parts[1], parts[2], computation, parts[3]))
        else:
            lines.append(line)
        computation = computation if line.strip() != b"}" else b""
    assert count
    module.write_bytes(b"".join(lines))
    advise(analysis_of(path), module_of(path))
