"""The groups of devices of a collective, in all forms that XLA prints."""

import pytest

from xla_lens.syntax.hlo.instruction import read_instruction
from xla_lens.syntax.hlo.replica_groups import group_size


@pytest.mark.parametrize(
    ("groups", "size"),
    [
        ("{}", 8),
        ("{{0,1,2,3}}", 4),
        ("{{0,4},{1,5},{2,6},{3,7}}", 2),
        ("{{0,1},{2}}", None),
        ("[2,4]<=[8]", 4),
        ("[4,2]<=[2,4]T(1,0)", 2),
        ("mesh['axis_0'=8] {'axis_0'}", 8),
        ("mesh['axis_0'=2,'axis_1'=4] {'axis_1'}", 4),
        ("mesh['axis_0'=2,'axis_1'=1,'axis_2'=4], device_ids=([4,2]T(1,0)) {'axis_0','axis_2'}", 8),
        ("mesh['axis_0'=2,'axis_1'=4], device_ids=(3,2,1,0,4,5,6,7) {'axis_0'}", 2),
        # A part of an axis.
        ("mesh['axis_0'=8,'axis_1'=2] {'axis_0':(2)4,'axis_1'}", 8),
        ("mesh['axis_0'=8] {'axis_1'}", None),
    ],
)
def test_groups_tell_how_many_devices_they_have(groups: str, size: int | None) -> None:
    text = f"%add.1 = f32[8]{{0}} all-reduce(%x), channel_id=1, replica_groups={groups}, use_global_device_ids=true"
    instruction = read_instruction(text.encode(), 0, len(text))
    assert instruction
    assert group_size(instruction, 8) == size


def test_collectives_without_groups_tell_nothing() -> None:
    text = b"%add.1 = f32[8]{0} all-reduce(%x), to_apply=%add"
    instruction = read_instruction(text, 0, len(text))
    assert instruction
    assert group_size(instruction, 8) is None
