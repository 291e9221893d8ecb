"""Findings about parameters and outputs in edited headers."""

import re

from goldens import SWAP, findings_text
from samples import analysis_of_text


def test_reports_wrong_parameter_number_without_quotes() -> None:
    text = re.sub(r"\n from instruction:.*", "", SWAP.read_text())
    assert not findings_text(analysis_of_text(text))
    assert (
        findings_text(analysis_of_text(text.replace("parameter 1, shape", "parameter 5, shape")))
        == """\
error[parameter-mismatch] Allocation 1 is marked as parameter 5, but no allocation holds the parameter before it.
XLA numbers parameters without gaps.
allocation 1: size 400, parameter 5, shape |f32[100]| at ShapeIndex {}, maybe-live-out:"""
    )
