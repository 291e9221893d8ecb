"""The numbers of two peers: `python peers.py FOLDER` prints them as JSON, by module. For the file of a proto
in place of a folder, it prints what the memory viewer shows of memory space 0.

One peer is XLA itself: the `buffer_assignment` of the HLO proto that it writes beside the texts. The other is xprof's
memory viewer, which computes from the same proto. Needs xprof (and its protobuf), but not XLA Lens.
"""

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

NAME = re.compile(r"module_\d+\.(?P<module>.+?)(?:\.cl_\d+)?\.(?:cpu_|sm_[\w.]+_gpu_)?after_optimizations\.hlo\.pb")
MIB = 1 << 20

# ---------------------------------------------------------------- XLA's own proto

_FIELDS = """
HloProto: hlo_module 1 Module, buffer_assignment 3 Assignment
Module: computations 3 Computation*, entry_computation_id 6 int64, schedule 7 Schedule
Computation: instructions 2 Instruction*, id 5 int64, root_id 6 int64
Instruction: name 1 string, opcode 2 string, id 35 int64, operand_ids 36 int64*, called_computation_ids 38
    int64*
Schedule: sequences 1 Item*
Item: key 1 int64, value 2 Sequence
Sequence: instruction_ids 1 int64*
Assignment: logical_buffers 1 Buffer*, buffer_allocations 3 Allocation*, heap_simulator_traces 4 Trace*
Buffer: id 1 int64, size 2 int64, defined_at 3 Location, color 4 int64
Location: shape_index 3 int64*, instruction_id 4 int64
Allocation: index 1 int64, size 2 int64, is_thread_local 3 bool, is_entry_computation_parameter 5 bool,
    parameter_number 6 int64, maybe_live_out 7 bool, color 8 int64, assigned 9 Assigned*, parameter_shape_index
    10 int64*, is_constant 12 bool
Assigned: logical_buffer_id 1 int64, offset 2 int64, size 3 int64
Trace: events 1 Event*, buffer_allocation_index 3 int64
Event: kind 1 int64, buffer_id 2 int64, share_with_canonical_id 5 int64
"""
"""The part of xla/service/hlo.proto that we compare: the name, number and type of each field. `*` marks a list, as
which a map is written. On PyPI, only TensorFlow ships that proto.
"""


def _message() -> Any:
    """The message class `HloProto`."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field_type = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="crosscheck.proto", package="crosscheck", syntax="proto3")
    messages = re.findall(r"(\w+): (.*(?:\n    .*)*)", _FIELDS)
    for name, fields in messages:
        message = file.message_type.add(name=name)
        for field, number, kind in map(str.split, fields.split(",")):
            one = message.field.add(name=field, number=int(number), label=field_type.LABEL_OPTIONAL)
            if kind.endswith("*"):
                one.label = field_type.LABEL_REPEATED
            item = kind.rstrip("*")
            if item in dict(messages):
                one.type, one.type_name = field_type.TYPE_MESSAGE, f".crosscheck.{item}"
            else:
                one.type = getattr(field_type, f"TYPE_{item.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("crosscheck.HloProto"))


def proto_facts(data: bytes) -> dict[str, Any]:
    """The allocations with their buffers, the definitions of buffers, the schedule and the heap simulator's traces.

    A buffer starts at the step of its defining instruction, or at None inside computations without steps of their own,
    such as fusions and the comparator of a sort. A parameter starts with its computation, and the result of an
    asynchronous computation with the instruction that calls it.
    """
    hlo = _message().FromString(data)
    instructions = {one.id: one for computation in hlo.hlo_module.computations for one in computation.instructions}
    schedule, starts = _flat_schedule(hlo.hlo_module, instructions)
    assignment = hlo.buffer_assignment
    return {
        "allocations": [
            {
                "index": one.index,
                "size": one.size,
                "color": one.color,
                "parameter": _place(one.parameter_number, one.parameter_shape_index)
                if one.is_entry_computation_parameter
                else None,
                "live_out": one.maybe_live_out,
                "constant": one.is_constant,
                "thread_local": one.is_thread_local,
                "buffers": sorted([it.logical_buffer_id, it.offset, it.size] for it in one.assigned),
            }
            for one in assignment.buffer_allocations
        ],
        "buffers": {
            str(one.id): [
                _place(instructions[one.defined_at.instruction_id].name, one.defined_at.shape_index),
                one.size,
                one.color,
            ]
            for one in sorted(assignment.logical_buffers, key=lambda one: one.id)
        },
        "schedule": schedule,
        "starts": {
            str(one.id): starts.get(one.defined_at.instruction_id)
            for one in sorted(assignment.logical_buffers, key=lambda one: one.id)
        },
        "traces": [
            {
                "allocation": trace.buffer_allocation_index,
                # ALLOC: [0, id], FREE: [1, id], SHARE_WITH: [2, id, id that holds the bytes already].
                "events": [
                    [one.kind, one.buffer_id, one.share_with_canonical_id][: 3 if one.kind == 2 else 2]
                    for one in trace.events
                ],
            }
            for trace in assignment.heap_simulator_traces
        ],
    }


def _flat_schedule(module: Any, instructions: dict[int, Any]) -> tuple[list[str], dict[int, int]]:
    """The names of the instructions in the order in which HloLiveRange numbers them, and the step at which the buffers
    of each instruction start.

    The computations that a loop, a call or a conditional calls come before it. That of an async-start without operands
    comes before the async-update that gives it operands.
    """
    sequences = {item.key: item.value.instruction_ids for item in module.schedule.sequences}
    roots = {one.id: one.root_id for one in module.computations}
    schedule: list[str] = []
    starts: dict[int, int] = {}

    def called_by(one: Any) -> list[int]:
        if one.opcode == "async-update" and not (start := instructions[one.operand_ids[0]]).operand_ids:
            return list(start.called_computation_ids)
        if one.opcode == "async-start" and not one.operand_ids:
            return []
        # A loop lists its body first, but tests its condition first.
        is_followed = one.opcode in ("call", "conditional", "while", "async-start")
        return list(one.called_computation_ids[:: -1 if one.opcode == "while" else 1]) if is_followed else []

    def run(computation: int) -> None:
        first = len(schedule)
        for id in sequences[computation]:
            one = instructions[id]
            for called in called_by(one):
                run(called)
                if one.opcode == "async-start":
                    starts[roots[called]] = len(schedule)
            starts[id] = first if one.opcode == "parameter" else len(schedule)
            schedule.append(one.name)

    run(module.entry_computation_id)
    return schedule, starts


def _place(of: Any, index: Any) -> str:
    return f"{of}{{{','.join(map(str, index))}}}"


# ---------------------------------------------------------------- xprof


def xprof_shows(path: Path, colors: list[int]) -> dict[str, Any]:
    """The output of the memory viewer for each memory space."""
    from xprof.convert.raw_to_tool_data import xspace_to_tool_data

    shown = {}
    with tempfile.TemporaryDirectory() as session:
        shutil.copy(path, Path(session) / "module.hlo_proto.pb")
        space = Path(session) / "host.xplane.pb"
        space.touch()
        for color in colors:
            wanted = {"module_name": "module", "memory_space": str(color)}
            text, _ = xspace_to_tool_data([str(space)], "memory_viewer", wanted)
            shown[str(color)] = json.loads(text)
    return shown


def stacks(shown: dict[str, Any]) -> dict[str, list[str]]:
    """The stack frames of each object at the peak, innermost first, by instruction. The elements of a tuple have those
    of their instruction.
    """
    objects = [one for one in shown.get("maxHeap", []) if "instructionName" in one and "sourceInfo" in one]
    return {one["instructionName"].partition("{")[0]: one["sourceInfo"]["stackFrame"].split("\n") for one in objects}


def unpadded(shown: dict[str, Any]) -> dict[str, int]:
    """The bytes of the shape of each object at the peak, without padding, by the id of the buffer."""
    objects = [one for one in shown.get("maxHeap", []) if "instructionName" in one]
    return {str(one["logicalBufferId"]): _bytes(one, "unpaddedShapeMib") for one in objects}


def viewer_facts(shown: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the memory viewer for one memory space. Its MiB convert to bytes exactly."""
    objects = shown.get("maxHeap", [])
    return {
        "total": _bytes(shown, "totalBufferAllocationMib"),
        "parameters": _bytes(shown, "entryComputationParametersMib"),
        "live_out": _bytes(shown, "maybeLiveOutMib"),
        "indefinite": _bytes(shown, "indefiniteBufferAllocationMib"),
        "peak": _bytes(shown, "peakHeapMib"),
        "peak_event": shown.get("peakHeapSizePosition", 0),
        "heap_sizes": [_exact(size * MIB) for size in shown.get("heapSizes", [])],
        "spans": {
            id: [span.get("start", 0), span.get("limit", 0)]
            for id, span in sorted(shown.get("logicalBufferSpans", {}).items(), key=lambda item: int(item[0]))
        },
        # The object without an instruction is the sum of all small ones.
        "at_peak": sorted([one["logicalBufferId"], _bytes(one, "logicalBufferSizeMib")] for one in objects),
        "blocks": sorted(
            [one["logicalBufferId"], *(_exact(one.get(key, 0)) for key in ("offset", "size", "start_step", "end_step"))]
            for one in shown.get("bufferBlocks", [])
        ),
    }


def _bytes(shown: dict[str, Any], key: str) -> int:
    return _exact(shown.get(key, 0) * MIB)


def _exact(number: float) -> int:
    assert number == int(number), number
    return int(number)


# ---------------------------------------------------------------- all


def modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """The modules in a folder of dumps, with their protos."""
    for path in sorted(folder.glob("*.hlo.pb")):
        if name := NAME.fullmatch(path.name):
            yield name["module"], path


def facts(folder: Path) -> dict[str, Any]:
    found = {}
    for name, path in modules(folder):
        proto = proto_facts(path.read_bytes())
        colors = sorted({one["color"] for one in proto["allocations"]})
        shown = xprof_shows(path, colors)
        found[name] = {
            "proto": proto,
            "xprof": {color: viewer_facts(one) for color, one in shown.items()},
            "stacks": {name: frames for one in shown.values() for name, frames in stacks(one).items()},
            "unpadded": {color: unpadded(one) for color, one in shown.items()},
        }
    is_tpu = any(NAME.fullmatch(path.name) and ".cpu_" not in path.name for path in folder.iterdir())
    names = ("jax", "jaxlib", "xprof", *(("libtpu",) if is_tpu else ()))
    return {"versions": {name: version(name) for name in names}, "modules": found}


if __name__ == "__main__":
    PATH = Path(sys.argv[1])
    print(json.dumps(facts(PATH) if PATH.is_dir() else xprof_shows(PATH, [0])))
