"""Compile one module of StableHLO with changes, as a process of its own: `python compile_child.py REQUEST RESULT`.

The Python is that of the user's program, so this file imports only the standard library and jax. REQUEST is a JSON file
that `process.py` writes. RESULT gets `{"flops": …}`, with `"error"` if the compiler failed. XLA writes the dump.
"""

import json
import os
import re
import sys
import threading
from typing import Any


def main() -> None:
    """Compile what the request says."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    if request["memory_bytes"]:
        threading.Thread(target=_watch_memory, args=(request["memory_bytes"],), daemon=True).start()
    try:
        _finish({"flops": _compiled(request)})
    except BaseException as error:
        # Whatever it is, the process that waits has to say it.
        _finish({"flops": None, "error": f"{type(error).__name__}: {error}"})


def _finish(result: Any) -> None:
    """Write the result and end, also while other threads compile."""
    with open(f"{sys.argv[2]}.part", "w", encoding="utf-8") as file:
        json.dump(result, file)
    os.replace(f"{sys.argv[2]}.part", sys.argv[2])
    os._exit(0)


def _watch_memory(limit_bytes: int) -> None:
    """End this process when it has used more memory than a limit, before the system kills another one for it."""
    try:
        import resource
    except ImportError:
        # Windows does not tell.
        return
    unit = 1 if sys.platform == "darwin" else 1024
    while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= limit_bytes:
        threading.Event().wait(0.1)
    _finish({"flops": None, "error": "memory limit"})


def _compiled(request: Any) -> "float | None":
    """Compile, and return the floating-point operations of the products, None if they cannot be counted."""
    import jax
    from jax.extend.backend import get_compile_options
    from jax.extend.mlir import ir
    from jaxlib import xla_client  # type: ignore[import-not-found,unused-ignore]

    # The context that jax makes has all dialects.
    context = jax.jit(lambda: 0).lower().compiler_ir().context
    with open(request["module"], "rb") as file:
        module = ir.Module.parse(file.read(), context)
    _change(ir, module, request["donated"], request["narrowed"])
    attributes = module.operation.attributes
    replicas, partitions = (
        ir.IntegerAttr(attributes[name]).value if name in attributes else 1
        for name in ("mhlo.num_replicas", "mhlo.num_partitions")
    )
    if request["topology"]:
        from jax.experimental import topologies

        devices = topologies.get_topology_desc(platform=request["platform"], topology_name=request["topology"]).devices
    else:
        devices = jax.devices(request["platform"])
    if len(devices) < replicas * partitions:
        raise RuntimeError(f"the program is for {replicas * partitions} devices, and {len(devices)} are here")
    used = devices[: replicas * partitions]
    rows = [used[row * partitions : (row + 1) * partitions] for row in range(replicas)]
    options = get_compile_options(
        num_replicas=replicas,
        num_partitions=partitions,
        device_assignment=[[device.id for device in row] for row in rows],
        env_options_overrides={name: _value(text) for name, text in request["options"].items()},
        backend=used[0].client,
    )
    build = options.executable_build_options
    for name, value in request["build_options"].items():
        if hasattr(build, name):
            setattr(build, name, value)
    client, of_devices = used[0].client, xla_client.DeviceList(tuple(used))
    compile_it = client.compile if request["topology"] else getattr(client, "compile_and_load", client.compile)
    # The compiler may run out of memory afterwards.
    flops = _flops(ir, _functions(ir, module), "main", {})
    try:
        compile_it(module, executable_devices=of_devices, compile_options=options)
    except Exception as error:
        _finish({"flops": flops, "error": f"{type(error).__name__}: {error}"})
    return flops


def _value(text: str) -> Any:
    """The value of an option, of the type that it looks like."""
    if text in ("true", "false"):
        return text == "true"
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            pass
    return text


# ---------------------------------------------------------------- changes of the module


def _change(ir: Any, module: Any, donated: "list[int]", narrowed: "list[int]") -> None:
    main = _functions(ir, module)["main"]
    with module.context, ir.Location.unknown():
        _donate(ir, main, donated)
        for number in narrowed:
            _narrow(ir, main, number)


def _functions(ir: Any, module: Any) -> "dict[str, Any]":
    operations = [operation for operation in module.body.operations if "sym_name" in operation.attributes]
    return {ir.StringAttr(operation.attributes["sym_name"]).value: operation for operation in operations}


def _donate(ir: Any, main: Any, donated: "list[int]") -> None:
    """Donate arguments, as `donate_argnums` does it."""
    if not donated:
        return
    count = len(main.regions[0].blocks[0].arguments)
    before = main.attributes["arg_attrs"] if "arg_attrs" in main.attributes else [ir.DictAttr.get({})] * count
    attributes = [{named.name: named.attr for named in of_argument} for of_argument in map(ir.DictAttr, before)]
    for number in donated:
        if "tf.aliasing_output" not in attributes[number]:
            attributes[number]["jax.buffer_donor"] = ir.BoolAttr.get(True)
    main.attributes["arg_attrs"] = ir.ArrayAttr.get([ir.DictAttr.get(of_argument) for of_argument in attributes])


def _narrow(ir: Any, main: Any, number: int) -> None:
    """Pass an argument in bfloat16, and return its update so. The program converts both where they enter and leave."""
    block = main.regions[0].blocks[0]
    argument, end = block.arguments[number], list(block.operations)[-1]
    result = _updated_result(end, block.arguments, number)
    wide = argument.type
    narrow = ir.RankedTensorType.get(ir.RankedTensorType(wide).shape, ir.BF16Type.get())
    argument.set_type(narrow)
    with ir.InsertionPoint.at_block_begin(block):
        widened = ir.Operation.create("stablehlo.convert", results=[wide], operands=[argument])
    argument.replace_all_uses_with(widened.result)
    widened.operands[0] = argument
    if result is not None:
        with ir.InsertionPoint(end):
            narrowed = ir.Operation.create("stablehlo.convert", results=[narrow], operands=[end.operands[result]])
        end.operands[result] = narrowed.result
    types = [value.type for value in block.arguments], [value.type for value in end.operands]
    main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(*types))


def _updated_result(end: Any, arguments: Any, number: int) -> "int | None":
    """The result that is the update of an argument: of those computed from it element by element, the one that is
    computed from the fewest arguments. The update of a moment reads no weights, and that of weights reads the moments.
    """
    known = {argument: position for position, argument in enumerate(arguments)}
    found = {}
    for position, output in enumerate(end.operands):
        if output.type == arguments[number].type:
            reached, waiting, seen = set(), [output], set()
            while waiting:
                value = waiting.pop()
                if value in seen or value.type != arguments[number].type:
                    continue
                seen.add(value)
                if value in known:
                    reached.add(known[value])
                elif value.owner.name in _ELEMENTWISE:
                    waiting.extend(value.owner.operands)
            if number in reached:
                found[position] = len(reached)
    return min(found, key=found.__getitem__) if found else None


_ELEMENTWISE = frozenset(
    f"stablehlo.{name}"
    for name in ("add", "subtract", "multiply", "divide", "select", "maximum", "minimum", "negate", "sqrt", "rsqrt")
)


# ---------------------------------------------------------------- operations
# XLA's own cost analysis counts the body of a loop once, whatever the number of its iterations.


def _flops(ir: Any, functions: "dict[str, Any]", name: str, known: "dict[str, float | None]") -> "float | None":
    """The floating-point operations of the matrix products and convolutions of a function, with those of each iteration
    of its loops. None if the number of iterations of a loop is unknown.
    """
    if name not in known:
        known[name] = _flops_of_block(ir, functions, functions[name].regions[0].blocks[0], known)
    return known[name]


def _flops_of_block(ir: Any, functions: "dict[str, Any]", block: Any, known: "dict[str, float | None]") -> Any:
    total = 0.0
    for operation in block.operations:
        name = operation.operation.name
        found: float | None = 0.0
        if name == "stablehlo.dot_general":
            found = _flops_of_dot(operation)
        elif name == "stablehlo.convolution":
            found = _flops_of_convolution(operation)
        elif name in ("func.call", "call"):
            found = _flops(ir, functions, ir.FlatSymbolRefAttr(operation.attributes["callee"]).value, known)
        elif name == "stablehlo.while":
            found = _flops_of_block(ir, functions, operation.regions[1].blocks[0], known)
            if found:
                iterations = _iterations(ir, operation)
                found = None if iterations is None else found * iterations
        else:
            branches = [block for region in operation.regions for block in region.blocks]
            found = max([_flops_of_block(ir, functions, branch, known) or 0.0 for branch in branches], default=0.0)
        if found is None:
            return None
        total += found
    return total


def _size(lengths: Any) -> int:
    size = 1
    for length in lengths:
        size *= length
    return size


def _flops_of_dot(operation: Any) -> float:
    numbers = str(operation.attributes["dot_dimension_numbers"])
    dimensions = re.search(r"lhs_contracting_dimensions = \[([\d, ]*)\]", numbers)
    lengths = operation.operands[0].type.shape
    contracted = [lengths[int(number)] for number in dimensions[1].split(",") if number.strip()] if dimensions else []
    return 2.0 * _size(operation.results[0].type.shape) * _size(contracted)


def _flops_of_convolution(operation: Any) -> float:
    kernel = operation.operands[1].type.shape
    dimensions = re.search(r"x\[([^\]]*)\]", str(operation.attributes["dimension_numbers"]))
    names = [name.strip() for name in dimensions[1].split(",")] if dimensions else []
    features = kernel[names.index("o")] if "o" in names else 1
    return 2.0 * _size(operation.results[0].type.shape) * _size(kernel) / features


def _iterations(ir: Any, loop: Any) -> "int | None":
    """The number of iterations of a loop that counts from one constant to another, as those of jax do."""
    condition = loop.regions[0].blocks[0]
    compared = list(condition.operations)[-1].operands[0].owner
    if getattr(compared, "name", "") != "stablehlo.compare":
        return None
    if "LT" not in str(compared.attributes["comparison_direction"]):
        return None
    counter = [number for number, argument in enumerate(condition.arguments) if argument == compared.operands[0]]
    last = _constant(ir, compared.operands[1])
    first = _constant(ir, loop.operands[counter[0]]) if counter else None
    return last - first if last is not None and first is not None else None


def _constant(ir: Any, value: Any) -> "int | None":
    if getattr(value.owner, "name", "") != "stablehlo.constant":
        return None
    attribute = ir.DenseIntElementsAttr(value.owner.attributes["value"])
    return int(attribute[0]) if len(attribute) else None


if __name__ == "__main__":
    main()
