"""What `xla_lens.compare` returns: a comparison that shows itself in a notebook."""

from xla_lens.features.diff.facts import Diff, diff_of
from xla_lens.features.diff.options import DEFAULT_DIFF_TOP, DiffOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.diff import comparison as model
from xla_lens.model.diff.comparable import DiffSide
from xla_lens.package_files import page_sources
from xla_lens.render.captures import comparison_html, comparison_text


class Comparison(model.Comparison):
    """Two dumps of one module, or of two similar modules."""

    def __repr__(self) -> str:
        return comparison_text(self._diff())

    def _repr_html_(self) -> str:
        return comparison_html(self._diff(), page_sources())

    def _diff(self) -> Diff:
        old, new = _side(self.old), _side(self.new)
        return diff_of(self, old, new, DiffOptions(DEFAULT_DIFF_TOP))


def _side(analysis: Analysis) -> DiffSide:
    return DiffSide(analysis, {file.kind: file.label for file in analysis.dump.files})
