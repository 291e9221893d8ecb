"""Dataclasses that are cheap to define.

`dataclasses.dataclass` compiles six methods for each class, which takes half a millisecond. XLA Lens has hundreds of
such classes, and each run uses a few of them, so that this was a third of the time a command takes to start. Here a
class becomes a dataclass when it is first used as one: with its first instance, or when its fields are read. If none of
its fields has a default, the first instance needs no more than a constructor, and the other methods follow when one of
them is called.
"""

import dataclasses
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, get_origin

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(*, frozen: bool = False, slots: bool = False, **options: bool) -> Callable[[type], type]:
        """Make a class a dataclass, like the decorator of the standard library, but not before it is used."""
        if frozen and slots:
            return lambda cls: _Definition(cls, options).cls
        return dataclasses.dataclass(frozen=frozen, slots=slots, **options)


__all__ = ["dataclass"]

_LOCK: Final = threading.RLock()

_READ_FROM_CLASS: Final = ("__dataclass_fields__", "__dataclass_params__", "__match_args__")
"""Attributes of a dataclass that are read without an instance."""

_METHODS: Final = ("__repr__", "__setattr__", "__delattr__")
_METHODS_OF_VALUES: Final = ("__eq__", "__hash__")
"""The methods of a dataclass, and those that compare its instances."""

_PLAIN: Final[dict[type, tuple[str, ...]]] = {}
"""The fields of the classes that get their constructor first."""


class _Definition:
    """The definition of a dataclass. `cls` has the slots of its fields, and stand-ins for what makes it a dataclass."""

    def __init__(self, body: type, options: dict[str, bool]) -> None:
        self._body, self._options, self._is_started, self._is_finished = body, options, False, False
        self.cls = _with_slots(body)
        names = _plain_fields(body) if options.keys() <= {"eq"} else None
        if names is not None:
            _PLAIN[self.cls] = names

        def __init__(instance: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807
            if names is None:
                self.finish()
            else:
                self._start(names)
            self.cls.__init__(instance, *arguments, **named)  # type: ignore[misc]

        type.__setattr__(self.cls, "__init__", __init__)
        for name in _READ_FROM_CLASS:
            setattr(self.cls, name, _StandIn(self, name))

    def _start(self, names: tuple[str, ...]) -> None:
        """Give the class its constructor, and stand-ins for the other methods."""
        with _LOCK:
            if self._is_started or self._is_finished:
                return
            for name in (*_METHODS, *(_METHODS_OF_VALUES if self._options.get("eq", True) else ())):
                setattr(self.cls, name, self._late(name))
            type.__setattr__(self.cls, "__init__", _constructor(self.cls, names))
            self._is_started = True

    def _late(self, name: str) -> Callable[..., Any]:
        """A method that makes the class a dataclass when it is called, and then calls the method of the dataclass."""

        def method(instance: Any, *arguments: Any) -> Any:
            self.finish()
            return getattr(self.cls, name)(instance, *arguments)

        return method

    def finish(self) -> None:
        """Make the class a dataclass."""
        with _LOCK:
            if self._is_finished:
                return
            before = {*vars(self._body)}
            made = vars(dataclasses.dataclass(frozen=True, **self._options)(self._body))
            for name in made.keys() - before - {"__init__"}:
                setattr(self.cls, name, made[name])
            self.cls.__doc__ = made["__doc__"]
            # Last, because other threads may make instances at any time.
            type.__setattr__(self.cls, "__init__", made["__init__"])
            self._is_finished = True


class _StandIn:
    """An attribute that makes its class a dataclass when it is read."""

    def __init__(self, definition: _Definition, name: str) -> None:
        self._definition, self._name = definition, name

    def __get__(self, instance: Any, owner: type) -> Any:
        self._definition.finish()
        return getattr(owner, self._name)


def _with_slots(body: type) -> type:
    """A copy of a class with slots for its fields, which have no defaults."""
    inherited = {name for base in body.__mro__[1:] for name in getattr(base, "__slots__", ())}
    fields = [name for name, kind in body.__annotations__.items() if not _is_class_variable(kind)]
    left_out = {*fields, "__dict__", "__weakref__"}
    members = {name: member for name, member in vars(body).items() if name not in left_out}
    members["__slots__"] = tuple(name for name in fields if name not in inherited)
    members.setdefault("__getstate__", _state)
    members.setdefault("__setstate__", _set_state)
    cls = type(body)(body.__name__, body.__bases__, members)
    cls.__qualname__ = body.__qualname__
    return cls


def _plain_fields(body: type) -> tuple[str, ...] | None:
    """The names of the fields if no field has a default, and the class defines no method of a dataclass itself."""
    found: dict[str, None] = {}
    for base in reversed(body.__mro__[1:]):
        if base in _PLAIN:
            found |= dict.fromkeys(_PLAIN[base])
        elif getattr(base, "__annotations__", None):
            return None
    own = [name for name, kind in body.__annotations__.items() if not _is_class_variable(kind)]
    if {*found, *own, *_METHODS, *_METHODS_OF_VALUES, "__init__", "__post_init__"} & vars(body).keys():
        return None
    return (*found, *(name for name in own if name not in found))


def _constructor(cls: type, names: tuple[str, ...]) -> Callable[..., None]:
    lines = (f" _set_{number}(self, {name})\n" for number, name in enumerate(names))
    made: dict[str, Any] = {f"_set_{number}": getattr(cls, name).__set__ for number, name in enumerate(names)}
    exec(f"def __init__(self, {', '.join(names)}):\n{''.join(lines)} pass", made)
    made["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
    return made["__init__"]  # type: ignore[no-any-return]


def _is_class_variable(kind: Any) -> bool:
    return kind is ClassVar or get_origin(kind) is ClassVar


def _state(instance: Any) -> list[Any]:
    return [getattr(instance, field.name) for field in dataclasses.fields(instance)]


def _set_state(instance: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(instance), state, strict=True):
        object.__setattr__(instance, field.name, value)
