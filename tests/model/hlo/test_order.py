"""Which instructions run before others in any schedule, and where XLA for CPUs runs an instruction that it adds."""

from samples import module_of_text
from xla_lens.model.hlo.order import before_written, post_order, queued_behind

# Weights `w` are read by the gradient of a layer below (`below`), which leads to no update of them.
_STEP = b"""\
HloModule step, is_scheduled=true

ENTRY main {
  x = f32[4]{0} parameter(0)
  w = f32[4]{0} parameter(1)
  v = f32[4]{0} parameter(2)
  u = f32[4]{0} parameter(3)
  product = f32[4]{0} multiply(x, w)
  view = f32[4]{0} bitcast(w)
  gradient = f32[4]{0} add(product, v)
  below = f32[4]{0} multiply(product, view)
  new_w = f32[4]{0} subtract(w, gradient)
  new_v = f32[4]{0} subtract(v, gradient)
  new_u = f32[4]{0} negate(below)
  ROOT results = (f32[4]{0}, f32[4]{0}, f32[4]{0}) tuple(new_w, new_v, new_u)
}
"""
_MODULE = module_of_text(_STEP)
_WRITERS = {"w": "new_w", "v": "new_v", "u": "new_u"}


def _row(name: str) -> int:
    return _MODULE.row_of(name.encode())


def _names(rows: set[int]) -> set[str]:
    return {_MODULE.name(row).decode() for row in rows}


def test_a_parameter_is_read_before_it_is_written_if_all_that_reads_it_leads_there() -> None:
    writers = {_row(parameter): _row(writer) for parameter, writer in _WRITERS.items()}
    assert _names(before_written(_MODULE, writers).read) == {"v", "u"}
    assert _names(before_written(_MODULE, writers).computed_from) == {"w", "v"}


def test_operands_are_visited_first() -> None:
    places = post_order(_MODULE)
    wanted = ["w", "x", "product", "v", "gradient", "new_w", "new_v", "view", "below", "new_u", "results"]
    assert sorted(places, key=places.__getitem__) == [_row(name) for name in wanted]


def test_what_is_added_runs_when_it_is_ready() -> None:
    # A copy of `x` is ready before `product`, those of `w` and `v` after `view`, and one of `product` before `below`.
    behind = queued_behind(_MODULE, [_row(name) for name in ("x", "w", "v", "product", "results")])
    assert behind == [_row(name) for name in ("product", "gradient", "gradient", "below", "results")]


def test_a_schedule_for_memory_has_no_queue() -> None:
    lines = _STEP.splitlines(keepends=True)
    # The gradient of the layer below runs before that of this one, which was ready first.
    lines[10], lines[11] = lines[11], lines[10]
    assert queued_behind(module_of_text(b"".join(lines)), [0]) is None
