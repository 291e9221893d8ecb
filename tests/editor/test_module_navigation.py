"""Navigation in HLO modules, and between a module and its dump."""

import random
from pathlib import Path

from samples import SPLIT, analysis_of, module_of, never, on_dumps
from xla_lens.disk.loading import load_module
from xla_lens.disk.sets import find_set
from xla_lens.editor.navigation import definition, implementation, type_definition
from xla_lens.editor.references import references
from xla_lens.model.analysis import Analysis, analyse
from xla_lens.model.hlo.mentions import HloMention, hlo_mention_at
from xla_lens.model.hlo.module import HloModule
from xla_lens.model.places.mentions import Mention, Value
from xla_lens.model.places.places import Place, slice_place, used_value_place
from xla_lens.syntax.file_names import FileKind
from xla_lens.syntax.tables import MentionRole

WHILE = next(SPLIT.parent.parent.glob("nested_tuples/module_0010*-buffer-assignment.txt"))
SHORT = next(SPLIT.parent.parent.parent.glob("cpu-jaxlib0.4.30/zero_size/module_0000*-buffer-assignment.txt"))
"""A set whose module prints names without `%`."""

_NOTHING = analyse([]).dump


def mark(module: HloModule, marked: str) -> HloMention:
    """The mention at the `^` in a piece of text that occurs once in the module."""
    before, after = marked.split("^")
    text = module.data.decode()
    assert text.count(before + after) == 1
    mention = hlo_mention_at(module, len(text[: text.index(before + after) + len(before)].encode()))
    assert mention
    return mention


def shown(places: list[Place]) -> list[str]:
    """Places as text: the kind of the file, and the line with the place in brackets."""
    return [_shown(place) for place in places]


def _shown(place: Place) -> str:
    document = place.file.document
    start, end = document.line_span(document.row(place.start))
    line = document.data[start : place.start], document.data[place.start : place.end], document.data[place.end : end]
    before, within, after = (part.decode() for part in line)
    return f"{place.file.kind}: {before}[{within}]{after}"[:100]


def test_computation_leads_to_its_head_and_root() -> None:
    module, dump = module_of(WHILE), analysis_of(WHILE).dump
    mention = mark(module, "calls=%wrapped_add^_computation")
    assert shown(definition(_NOTHING, module, mention, 9)) == [
        "hlo: %[wrapped_add_computation] (param_0.1: s32[], param_1.2: s32[]) -> s32[] {"
    ]
    assert type_definition(dump, module, mention, 9) == []
    assert shown(implementation(dump, module, mention, 9)) == [
        'hlo:   ROOT %[add.1] = s32[] add(%param_0.1, %param_1.2), metadata={op_name="jit(tuple_while)/while/'
    ]
    assert len(references(dump, module, mention.target, 9)) == 2


def test_name_behind_a_comment_is_found() -> None:
    mention = mark(module_of(SHORT), "/*index=5*/cop^y.4)")
    assert shown(definition(_NOTHING, module_of(SHORT), mention, 9))[0].startswith("hlo:   [copy.4] = f32[0,7,3]")


@on_dumps
def test_values_lead_to_their_lines_and_back(analysis: Analysis) -> None:
    """From values to the lines that define them, and back to their rows in the buffer assignment."""
    dump = analysis.dump
    files = find_set(Path(dump.files[0].label))
    loaded = load_module(files, {}, None, never)
    module = loaded.module if loaded else None
    assert (module is None) == (FileKind.HLO not in files.paths)
    if module is None:
        return
    values = random.Random(0).sample(range(len(dump.values)), min(100, len(dump.values)))
    for value in values:
        (line,) = implementation(dump, module, Mention(Value(value), MentionRole.SLICE, 0, 0), 1)
        assert module.data.startswith(dump.names[dump.values.name[value]] + b" = ", line.start)
        mention = hlo_mention_at(module, line.start)
        assert mention
        assert mention.is_definition
        assert (slice_place(dump, value) or used_value_place(dump, value)) in type_definition(
            dump, module, mention, 10**6
        )
