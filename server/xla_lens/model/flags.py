"""The flags that a module was compiled with, and the device that it was compiled for, from the files that XLA writes
beside a dump, all of them protocol buffers in text format.

No file tells everything. ``debug_options`` has the flags of XLA that differ from their defaults, but not those that
were set to false or to an empty list. Several files have all of them, without saying which ones differ. TPUs have flags
of their own in ``tpu_comp_env.txt``, which has all of them, and a comment before each that differs.
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct, field

from xla_lens.model.tables.backend import Backend
from xla_lens.syntax.file_names import FlagFile
from xla_lens.syntax.text_proto import Message, read_text_proto
from xla_lens.text.patterns import lazy_pattern

_EMPTY: Final[Mapping[str, str]] = MappingProxyType({})


class FlagSet(Struct, frozen=True):
    """Flags of one kind. Repeated ones are joined by commas.

    `changed` are those that surely differ from their defaults. `every` has all flags that are set, also to their
    defaults. Both are None if no file has them.
    """

    changed: Mapping[str, str] | None = None
    every: Mapping[str, str] | None = None

    def value(self, name: str) -> str | None:
        """The value of a flag, None if it is at a default that no file names."""
        return (self.changed or _EMPTY).get(name, (self.every or _EMPTY).get(name))


class Flags(Struct, frozen=True):
    """The flags of a compilation and its device.

    - `xla`: the flags of XLA, `DebugOptions`.
    - `tpu`: those of the compiler for TPUs.
    - `effort`: how hard the compiler tries.
    - `overrides`: the options of this compilation alone (`compiler_options` of jax), some of which are also in `xla` or
      `tpu`.
    - `device`: the fields that describe the device, by their path: ``gpu_device_info.name``.
    """

    xla: FlagSet = field(default_factory=FlagSet)
    tpu: FlagSet = field(default_factory=FlagSet)
    effort: FlagSet = field(default_factory=FlagSet)
    overrides: FlagSet = field(default_factory=FlagSet)
    device: Mapping[str, str] | None = None


def flags_in(texts: Mapping[FlagFile, str]) -> Flags:
    """Return what the files of a module tell, by their texts."""
    files = {file: read_text_proto(text) for file, text in texts.items()}
    options = files.get(FlagFile.COMPILE_OPTIONS)
    configs = [files[file] for file in (FlagFile.CONFIG, FlagFile.MODULE_CONFIG) if file in files]
    if options is not None:
        configs.append(options.message("executable_build_options"))
    every = next((config.message("debug_options") for config in configs if "debug_options" in config), None)
    changed = files.get(FlagFile.DEBUG_OPTIONS)
    targets = [files[file] for file in (FlagFile.TARGET_CONFIG, FlagFile.TARGET_ARGUMENTS) if file in files]
    return Flags(
        xla=FlagSet(*(None if flags is None else _flags(flags) for flags in (changed, every))),
        tpu=_tpu_flags(texts[FlagFile.TPU_ENVIRONMENT]) if FlagFile.TPU_ENVIRONMENT in texts else FlagSet(),
        effort=FlagSet(None, {name: value for name, value in _flags(configs[0]).items() if name in _EFFORT})
        if configs
        else FlagSet(),
        overrides=FlagSet(_overrides(options)) if options is not None else FlagSet(),
        device=_device(targets) if targets else None,
    )


_EFFORT: Final = (
    "exec_time_optimization_effort",
    "memory_fitting_effort",
    "memory_fitting_level",
    "optimization_level",
)
"""The fields of an `HloModuleConfigProto` that say how hard the compiler tries. They are no flags of XLA, but options
of a compilation.
"""

_EXTRA: Final = "xla_backend_extra_options"
"""The flag of XLA for flags that the compiler does not know, with a key and a value each."""

_NOT_DEFAULT: Final = lazy_pattern(
    r"^# ?(\w+) in the current tpu_comp_env has a non-default value\. Default flag value: ?(.*)$", re.MULTILINE
)
"""The comment before a flag of the compiler for TPUs that differs from its default."""


_OF_DEVICE: Final = lazy_pattern(r"(?:gpu_device_info|tpu_topology_args)\.|reserved_hbm_usage_bytes$")


def _device(targets: list[Message]) -> dict[str, str]:
    fields = (field for target in targets for field in _flat(target))
    return {path: value for path, value in fields if _OF_DEVICE.match(path)}


def _flags(message: Message) -> dict[str, str]:
    """The flags in a message, in which each field is one. A field with keys has one for each key."""
    found: dict[str, str] = {}
    for name, values in message.items():
        for value in values:
            key = value.text("key") if isinstance(value, Message) else None
            full_name = name if key is None else key if name == _EXTRA else f"{name}.{key}"
            text = value if isinstance(value, str) else _joined(value)
            found[full_name] = f"{found[full_name]}, {text}" if full_name in found else text
    return found


def _joined(message: Message) -> str:
    """A message in one line, without the key that is in its name, and without the names of fields that only hold the
    value of a flag.
    """
    parts = ((path, value) for path, value in _flat(message) if path != "key")
    return ", ".join(
        value if path in _VALUES or path.endswith("_field") else f"{path}: {value}" for path, value in parts
    )


_VALUES: Final = ("spec", "value")


def _tpu_flags(text: str) -> FlagSet:
    every = _flags(read_text_proto(text))
    return FlagSet({match[1]: every.get(match[1], "") for match in _NOT_DEFAULT.finditer(text)}, every)


def _overrides(options: Message) -> dict[str, str]:
    """The options of one compilation: the keys are names of flags, the values have a field for their type."""
    entries = (entry for entry in options.get("env_option_overrides", []) if isinstance(entry, Message))
    return {key: _joined(entry.message("value")) for entry in entries if (key := entry.text("key"))}


def _flat(message: Message, path: str = "") -> Iterator[tuple[str, str]]:
    """The fields of a message and of the messages in it, by their paths."""
    for name, values in message.items():
        for value in values:
            if isinstance(value, Message):
                yield from _flat(value, f"{path}{name}.")
            else:
                yield f"{path}{name}", value


# ---------------------------------------------------------------- comparing


class Setting(NamedTuple):
    """A flag or a property of the device that differs between two dumps. A value is None if it is a default that no
    file names, and empty if it is no value.
    """

    name: str
    old: str | None
    new: str | None


def flag_changes(old: Flags, new: Flags, backend: Backend | None) -> list[Setting]:
    """Return the flags that differ and may matter for a backend, by name. What only one dump has files about is left
    out.
    """
    changes: dict[str, Setting] = {}
    sets = ((old.xla, new.xla), (old.tpu, new.tpu), (old.effort, new.effort))
    for one, other in sets:
        changes |= {name: Setting(name, *values) for name, values in _changes(one, other).items()}
    known = {name for both in sets for of in both for table in (of.changed, of.every) for name in table or ()}
    if None not in (old.overrides.changed, new.overrides.changed):
        for name, values in _changes(old.overrides, new.overrides).items():
            if name not in known:
                changes[name] = Setting(name, *values)
    return sorted(change for name, change in changes.items() if _may_matter(name, backend))


_Values: TypeAlias = tuple[str | None, str | None]


def _changes(old: FlagSet, new: FlagSet) -> dict[str, _Values]:
    """The values of flags that differ. Defaults differ between releases of the compiler, which is no other flag."""
    found: dict[str, _Values] = {}
    if old.changed is not None and new.changed is not None:
        for name in {*old.changed, *new.changed}:
            found[name] = old.value(name), new.value(name)
    if old.every is not None and new.every is not None:
        rest = {name: (old.every.get(name), new.every.get(name)) for name in {*old.every, *new.every} - {*found}}
        rest = {name: values for name, values in rest.items() if values[0] != values[1]}
        if old.changed is None or new.changed is None:
            found |= rest
        elif not any(map(_is_of_another_release, rest.values())):
            found |= {name: _without_default(*values) for name, values in rest.items()}
    return {name: values for name, values in found.items() if values[0] != values[1]}


_HIDDEN: Final = {None, "", "false", "0"}
"""Values that `FlagFile.DEBUG_OPTIONS` leaves out, whether they are defaults or not."""


def _is_of_another_release(values: _Values) -> bool:
    """Whether two values are both defaults. Neither is in `FlagFile.DEBUG_OPTIONS`, so a value that this file would
    have is a default. A list may have been set to an empty one, and a flag that has a default to false.
    """
    shown = [value for value in values if value and value not in _HIDDEN]
    return len(shown) == 2 or (None in values and bool(shown) and ", " not in shown[0])


def _without_default(old: str | None, new: str | None) -> _Values:
    """Two values, of which a missing one is empty or false if the other one is the default."""
    return _set_to(old, new), _set_to(new, old)


def _set_to(value: str | None, default: str | None) -> str | None:
    if value is not None or default in _HIDDEN:
        return value
    return "false" if default == "true" else ""


_ABOUT_OUTPUT: Final = lazy_pattern(r"_dump_|_dumping$|^xla_detailed_logging$|_(data|cache)_dir$")
"""Flags about files and logs, which change no program. JAX sets `xla_detailed_logging` for some compilations only."""

_OF_BACKEND: Final = {"xla_cpu_": Backend.CPU, "xla_gpu_": Backend.GPU, "xla_tpu_": Backend.TPU}
"""How the names of flags begin that only one backend reads."""


def _may_matter(name: str, backend: Backend | None) -> bool:
    of_backend = next((backend_name for prefix, backend_name in _OF_BACKEND.items() if name.startswith(prefix)), None)
    return not _ABOUT_OUTPUT.search(name) and (None in (of_backend, backend) or of_backend is backend)


DEVICE_MEMORY: Final = "device_memory_size"
"""The property of a GPU that is its memory, in bytes."""

CHIP: Final = "chip"
"""The property of a device that is the name of its chip."""

_FIRST: Final = {name: place for place, name in enumerate(("name", "version", "variant", DEVICE_MEMORY))}


def device_changes(old: Flags, new: Flags) -> list[Setting]:
    """Return the properties of the device that differ, its name and its memory first. None are known to differ if a
    dump has no file about its device.
    """
    if old.device is None or new.device is None:
        return []
    names = {name: name.partition(".")[2] or name for name in {*old.device, *new.device}}
    found = (Setting(short, old.device.get(name), new.device.get(name)) for name, short in names.items())
    return sorted(
        (change for change in found if change.old != change.new),
        key=lambda change: (_FIRST.get(change.name, len(_FIRST)), change.name),
    )
