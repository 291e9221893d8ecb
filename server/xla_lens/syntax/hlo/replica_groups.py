"""`replica_groups`: the groups of devices whose values a collective combines.

XLA prints three forms: the devices of each group (``{{0,1},{2,3}}``), the numbers of groups and of their devices
(``[2,2]<=[4]``), and a mesh with those of its axes, or parts of them, along which values are combined
(``mesh['x'=2,'y'=8] {'x','y':(2)4}``). ``{}`` stands for one group of all devices.
"""

from math import prod
from typing import Final

from xla_lens.syntax.hlo.instruction import InstructionText
from xla_lens.syntax.numbers import integer
from xla_lens.text.patterns import lazy_pattern


def group_size(own: InstructionText, devices: int) -> int | None:
    """Return how many devices each group of a collective has, of all `devices` of the program. None if the instruction
    does not tell, or if groups differ in size.
    """
    groups = _GROUPS.search(own.text, own.operands_end, own.end)
    if groups is None:
        return None
    if groups["lists"]:
        sizes = {listed.count(b",") + 1 for listed in groups["lists"].split(b"},{")}
        return sizes.pop() if len(sizes) == 1 else None
    if groups["size"]:
        return integer(groups["size"])
    if groups["axes"] is None:
        return devices
    lengths = {axis["name"]: axis["length"] for axis in _AXIS.finditer(groups["mesh"])}
    parts = [axis["part"] or lengths.get(axis["name"]) for axis in _COMBINED.finditer(groups["axes"])]
    return prod(map(integer, filter(None, parts))) if all(parts) else None


_GROUPS: Final = lazy_pattern(
    rb"\breplica_groups=(?:\{\}|\{\{(?P<lists>[\d,{}]+)\}\}|\[\d+,(?P<size>\d+)\]<="
    rb"|mesh\[(?P<mesh>[^\]]+)\][^{]*\{(?P<axes>[^}]*)\})"
)
_NAME: Final = rb"(?P<name>'[^']*'|\w+)"
_AXIS: Final = lazy_pattern(_NAME + rb"=(?P<length>\d+)")
_COMBINED: Final = lazy_pattern(_NAME + rb"(?::\(\d+\)(?P<part>\d+))?")
