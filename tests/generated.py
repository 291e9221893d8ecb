"""A generated dump set of any size, without findings: a program that updates each of its parameters in place."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

STEM: Final = "module_0000.jit_train_step.cpu_after_optimizations"

_SHAPES: Final = (("f32[64]", "{0}"), ("f32[8,8]", "{1,0}"), ("bf16[128]", "{0}"))
"""Shapes of 256 bytes, with their layouts."""

_SIZE: Final = 256


def write_update(folder: Path, count: int) -> int:
    """Write the set of a program with `count` parameters into a folder, and return the bytes of its files.

    Step `n + 2k` squares parameter `k` of `n`, and the next one adds the square to it. The result is a tuple of all.
    """
    files = {
        "-buffer-assignment.txt": _assignment(count),
        "-buffer-assignment-values.txt": _used_values(count),
        "-live-range.txt": _live_ranges(count),
        "-memory-usage-report.txt": _usage_report(count),
        ".txt": _module(count),
    }
    folder.mkdir(parents=True, exist_ok=True)
    texts = {f"{STEM}{end}": "".join(f"{line}\n" for line in lines) for end, lines in files.items()}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return sum(map(len, texts.values()))


def _square(number: int) -> str:
    return f"square.{number:06}"


def _update(number: int) -> str:
    return f"update.{number:06}"


def _shape(number: int) -> str:
    return "".join(_SHAPES[number % len(_SHAPES)])


def _plain(number: int) -> str:
    return _SHAPES[number % len(_SHAPES)][0]


def _tuple(count: int, *, has_layout: bool) -> str:
    """The shape of the result."""
    return f"({_list(_shape(number) if has_layout else _plain(number) for number in range(count))})"


def _list(elements: Iterator[str]) -> str:
    """A list as XLA prints it, with the number of every fifth element."""
    return ", ".join(
        f"/*index={number}*/{one}" if number % 5 == 0 and number else one for number, one in enumerate(elements)
    )


def _human(size_bytes: int) -> str:
    if size_bytes < 1 << 10:
        return f"{size_bytes}B"
    return f"{size_bytes / 1024:.1f}KiB" if size_bytes < 1 << 20 else f"{size_bytes // 1024 / 1024:.2f}MiB"


def _arena_bytes(count: int) -> int:
    return _SIZE * ((count + 1) // 2)


def _assignment(count: int) -> Iterator[str]:
    yield "BufferAssignment:"
    for number in range(count):
        kind = f"parameter {number}, shape |{_plain(number)}| at ShapeIndex {{}}, maybe-live-out"
        yield f"allocation {number}: size {_SIZE}, page 0, {kind}:"
        yield f" value: <{number} weights_{number} @0> (size={_SIZE},offset=0): {_shape(number)}"
        yield f" value: <{count + 2 * number + 1} {_update(number)} @0> (size={_SIZE},offset=0): {_shape(number)}"
    kind = f"output shape is |{_tuple(count, has_layout=False)}|, maybe-live-out"
    yield f"allocation {count}: size {8 * count}, page 0, {kind}:"
    yield f" value: <{3 * count} tuple{{}} @0> (size={8 * count},offset=0): {_tuple(count, has_layout=True)}"
    yield f"allocation {count + 1}: size {_arena_bytes(count)}, page 0, preallocated-temp:"
    for number in range(count):
        place = f"(size={_SIZE},offset={_SIZE * (number // 2)})"
        yield f" value: <{count + 2 * number} {_square(number)} @0> {place}: {_shape(number)}"


def _instructions(count: int) -> Iterator[str]:
    for number in range(count):
        path = f"op_name=\"params['layer_{number % 64}']['w_{number // 64}']\""
        yield f"%weights_{number} = {_shape(number)} parameter({number}), metadata={{{path}}}"
    for number in range(count):
        layer, frame = f"jit(train_step)/layer_{number % 64}", f"stack_frame_id={number % 3 + 1}}}"
        weights, square = f"%weights_{number}", f"%{_square(number)}"
        metadata = f'metadata={{op_name="{layer}/square" {frame}'
        yield f"{square} = {_shape(number)} multiply({weights}, {weights}), {metadata}"
        metadata = f'metadata={{op_name="{layer}/add" {frame}'
        yield f"%{_update(number)} = {_shape(number)} add({weights}, {square}), {metadata}"
    operands = _list(f"%{_update(number)}" for number in range(count))
    yield f"%tuple = {_tuple(count, has_layout=True)} tuple({operands})"


def _used_values(count: int) -> Iterator[str]:
    total = _SIZE * count + 8 * count + _arena_bytes(count)
    yield from ("", f"Total bytes used: {total} ({_human(total)})", "", "Used values:")
    instructions = list(_instructions(count))
    for number in range(count):
        uses = [f"{_square(number)}, operand {operand}" for operand in (0, 1)]
        yield from _used_value(
            f"<{number} weights_{number} @0>",
            [f"weights_{number}"],
            [*uses, f"{_update(number)}, operand 0"],
            instructions[number],
        )
    for number in range(count):
        square, update = _square(number), _update(number)
        row = count + 2 * number
        yield from _used_value(f"<{row} {square} @0>", [square], [f"{update}, operand 1"], instructions[row])
        positions, uses = [update, f"tuple {{{number}}}"], [f"tuple, operand {number}"]
        yield from _used_value(f"<{row + 1} {update} @0>", positions, uses, instructions[row + 1])
    yield from _used_value(f"<{3 * count} tuple{{}} @0>", ["tuple {}"], ["(none)"], instructions[-1])


def _used_value(header: str, positions: list[str], uses: list[str], instruction: str) -> Iterator[str]:
    yield from (header, " positions:", *(f"  {position}" for position in positions))
    yield from (" uses:", *(f"  {use}" for use in uses), f" from instruction: {instruction}")


def _live_ranges(count: int) -> Iterator[str]:
    end = 3 * count
    yield from (f"HloLiveRange (max {end + 1}):", "  InstructionSequence:")
    names = [instruction.split(" ")[0].removeprefix("%") for instruction in _instructions(count)]
    yield from (f"    {step}:{name}" for step, name in enumerate(names))
    yield "  BufferLiveRange:"
    for number in range(count):
        step = count + 2 * number
        yield f"    weights_{number}{{}}:0-{step + 1}"
        yield f"    {_square(number)}{{}}:{step}-{step + 1}"
        yield f"    {_update(number)}{{}}:{step + 1}-{end + 1}"
    yield f"    tuple{{}}:{end}-{end + 1}"
    yield f"  Live ranges at {end} (peak):"
    total = 8 * count
    yield f"    tuple{{}}: {total} bytes (cumulative: {total} bytes)"
    for number in range(count):
        total += _SIZE
        yield f"    {_update(number)}{{}}: {_SIZE} bytes (cumulative: {total} bytes)"
    grouped = f"{total:,}".replace(",", " ")
    yield f"  Stack trace breakdown for peak usage: {grouped} bytes"
    yield f"    main (100.0%, total: {grouped} bytes, current: {grouped} bytes, remaining: 0 bytes)"


def _usage_report(count: int) -> Iterator[str]:
    total = _SIZE * count + 8 * count + _arena_bytes(count)
    yield from ("Memory Space: default (color=0)", f"Total bytes: {total} ({_human(total)})")
    # The largest allocations come first; XLA leaves out small ones after 50.
    rows = ((count + 1) // 2, [_plain(number) for number in range(count)])
    tables: list[list[list[str]]] = [[rows[1][2 * row : 2 * row + 2] for row in range(rows[0])]]
    sizes = [[_SIZE] * rows[0]]
    tables.append([[_tuple(count, has_layout=False)]])
    sizes.append([8 * count])
    for number in range(min(count, 48)):
        tables.append([[_plain(number)] * 2])
        sizes.append([_SIZE])
    for shapes, row_sizes in zip(tables, sizes, strict=True):
        yield "  cumulative_size;       size;       offset; used_by_n_values; shapes_list"
        yield f"  {'-' * 60}"
        cumulative = 0
        for row, (of_row, size) in enumerate(zip(shapes, row_sizes, strict=True)):
            cumulative += size
            share = f"{_human(cumulative)}({100.0 * cumulative / sum(row_sizes):3.0f}%)"
            listed = ", ".join(
                f"{of_row.count(shape)}×{shape}" if of_row.count(shape) > 1 else shape
                for shape in dict.fromkeys(of_row)
            )
            yield f"  {share:>15};{_human(size):>11};{row * _SIZE:>13};{len(of_row):>17}; {listed}"
        yield ""
    yield ""


def _module(count: int) -> Iterator[str]:
    aliases = ", ".join(f"{{{number}}}: ({number}, {{}}, may-alias)" for number in range(count))
    arguments = _list(_shape(number) for number in range(count))
    layout = f"entry_computation_layout={{({arguments})->{_tuple(count, has_layout=True)}}}"
    yield f"HloModule jit_train_step, is_scheduled=true, input_output_alias={{ {aliases} }}, {layout}"
    yield from ("", "FileNames", '1 "/home/user/train.py"', "", "FunctionNames", '1 "train_step"', '2 "update"', "")
    yield from (
        "FileLocations",
        *(f"{line} {{file_name_id=1 function_name_id={line % 2 + 1} line={line}}}" for line in (1, 2, 3)),
    )
    yield from ("", "StackFrames", *(f"{frame} {{file_location_id={frame} parent_frame_id=1}}" for frame in (1, 2, 3)))
    yield from ("", "", f"ENTRY %main (arguments: f32[64]) -> {_tuple(count, has_layout=False)} {{")
    *instructions, root = _instructions(count)
    yield from (f"  {instruction}" for instruction in instructions)
    yield from (f"  ROOT {root}", "}", "", "")
