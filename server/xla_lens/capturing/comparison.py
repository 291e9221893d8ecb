"""What `xla_lens.compare` returns: a comparison that shows itself in a notebook."""

from dataclasses import dataclass, fields

from xla_lens.features.diff.facts import Diff, DiffSide, diff_of
from xla_lens.features.diff.options import DEFAULT_DIFF_TOP, DiffOptions
from xla_lens.model.analysis import Analysis
from xla_lens.model.diff import comparison as model
from xla_lens.model.hlo.module import HloModule
from xla_lens.package_files import page_sources
from xla_lens.render.captures import comparison_html, comparison_text


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(model.Comparison):
    """Two dumps of one module, or of two similar modules."""

    old_module: HloModule | None = None
    new_module: HloModule | None = None

    def __repr__(self) -> str:
        return comparison_text(self._diff())

    def _repr_html_(self) -> str:
        return comparison_html(self._diff(), page_sources())

    def _diff(self) -> Diff:
        old, new = _side(self.old, self.old_module), _side(self.new, self.new_module)
        return diff_of(self, old, new, DiffOptions(DEFAULT_DIFF_TOP))


def compared(old: Analysis, old_module: HloModule | None, new: Analysis, new_module: HloModule | None) -> Comparison:
    """Compare two dumps."""
    found = model.compare_analyses(old, old_module, new, new_module)
    numbers = {field.name: getattr(found, field.name) for field in fields(found)}
    return Comparison(**numbers, old_module=old_module, new_module=new_module)


def _side(analysis: Analysis, module: HloModule | None) -> DiffSide:
    return DiffSide(analysis, module, {file.kind: file.label for file in analysis.dump.files})
