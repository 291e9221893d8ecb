"""References."""

from pathlib import Path

from samples import DUMPS, SEED, analysis_of, lines_with_marks, mark
from xla_lens.editor.references import references


def check(path: Path, marked: str, expected: str) -> None:
    """Return the references from a marked place, as lines with marks."""
    analysis = analysis_of(path)
    _, mention = mark(analysis, marked)
    assert mention is not None
    assert lines_with_marks(references(analysis.dump, None, mention.target, 100)) == expected.strip("\n")


def test_tuple_elements_have_references() -> None:
    found = references(analysis_of(SEED).dump, None, mark(analysis_of(SEED), "<2 negate.0 @0>\n  ^")[1].target, 100)  # type: ignore[union-attr]
    text = lines_with_marks(found)
    assert (
        """
 from instruction:%tuple = (f32[64,16]{1,0}) tuple(f32[64,16]{1,0} %negate.0)
                                                                   ^^^^^^^^^
"""
        in f"\n{text}\n"
    )


def test_allocations_have_references() -> None:
    path = next(DUMPS.glob("cpu-jaxlib0.8.3/callbacks/*jit_pure*-buffer-assignment.txt"))
    check(
        path,
        "allocation 1: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:\n   ^",
        """
allocation 1: size 64, parameter 0, shape |f32[16]| at ShapeIndex {}:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
 value: <4 x.1 @0> (size=64,offset=0): f32[16]{0}
        ^^^^^^^^^^
      128B(100%);         0B; allocation 1: size 64B, parameter 0, shape |f32[16]| at ShapeIndex {}:
                              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
allocation 1: size 64B, parameter 0, shape |f32[16]| at ShapeIndex {}:
^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )


def test_steps_have_references() -> None:
    check(
        SEED,
        "    5:negate.0\n    ^",
        """
    5:negate.0
      ^^^^^^^^
    negate.0{}:5-7
    ^^^^^^^^^^^^^^
    cublas-gemm.1{}:4-5
    ^^^^^^^^^^^^^^^^^^^
  Live ranges at 5 (peak):
  ^^^^^^^^^^^^^^^^^^^^^^^^
""",
    )
