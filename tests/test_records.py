"""The dataclasses of `xla_lens.records` are those of the standard library, made when they are first used."""

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, is_dataclass, replace
from typing import Any, ClassVar

import pytest

from xla_lens.records import dataclass


@dataclass(frozen=True, slots=True)
class _Kept:
    number: int
    names: tuple[str, ...] = ()


def _both(define: Callable[[Callable[..., Any]], type[Any]]) -> list[type[Any]]:
    """The same class, defined with both decorators."""
    return [define(dataclass), define(dataclasses.dataclass)]


def _point(decorate: Callable[..., Any]) -> type[Any]:
    @decorate(frozen=True, slots=True)
    class Point:
        """A point."""

        kind: ClassVar[str] = "point"
        x: int
        y: int = 3
        more: list[int] = field(default_factory=list)

        @property
        def total(self) -> int:
            return self.x + self.y

    return Point


def _undocumented(decorate: Callable[..., Any]) -> type[Any]:
    @decorate(frozen=True, slots=True, eq=False)
    class Undocumented:
        x: int
        _y: str = "a"

    return Undocumented


def _ordered(decorate: Callable[..., Any]) -> type[Any]:
    @decorate(frozen=True, slots=True, order=True)
    class Ordered:
        x: int

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("negative")

    return Ordered


def _inherited(decorate: Callable[..., Any]) -> type[Any]:
    base = _point(decorate)

    @decorate(frozen=True, slots=True)
    class Named(base):  # type: ignore[misc, valid-type]
        name: str = "p"

    return Named


def test_instances_look_and_compare_the_same() -> None:
    for one in _both(_point):
        assert repr(one(1)) == "_point.<locals>.Point(x=1, y=3, more=[])"
        assert one(1, y=2) == one(1, 2, [])
        assert one(1) != one(2)
        assert (one(4).total, one.kind, one(4).kind) == (7, "point", "point")
        assert one(1).more is not one(1).more
        assert one.__doc__ == "A point."
    for one in _both(_undocumented):
        assert one(1) != one(1)
        assert one.__doc__ == "Undocumented(x: int, _y: str = 'a')"
    for one in _both(_ordered):
        assert one(1) < one(2)
        assert hash(one(1)) == hash(one(1))
        with pytest.raises(ValueError, match="negative"):
            one(-1)
    for one in _both(_inherited):
        assert repr(one(1, name="q")) == "_inherited.<locals>.Named(x=1, y=3, more=[], name='q')"


def test_instances_are_frozen_and_have_slots() -> None:
    for define in (_point, _undocumented, _ordered, _inherited):
        for one in _both(define):
            instance = one(1)
            with pytest.raises(FrozenInstanceError):
                instance.x = 2
            with pytest.raises(FrozenInstanceError):
                del instance.x
            assert not hasattr(instance, "__dict__")


def test_wrong_arguments_are_rejected_each_time() -> None:
    for one in _both(_point):
        for _ in range(2):
            with pytest.raises(TypeError, match="required positional argument: 'x'"):
                one()
            with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
                one(1, z=2)


@pytest.mark.parametrize("define", [_point, _undocumented, _ordered, _inherited])
def test_class_can_be_asked_before_its_first_instance(define: Callable[[Callable[..., Any]], type[Any]]) -> None:
    ours, theirs = _both(define)
    assert [one.name for one in fields(ours)] == [one.name for one in fields(theirs)]
    ours, theirs = _both(define)
    assert ours.__match_args__ == theirs.__match_args__
    assert is_dataclass(define(dataclass))


def test_functions_for_dataclasses_work() -> None:
    for one in _both(_inherited):
        assert replace(one(1), y=5) == one(1, 5)
        assert asdict(one(1)) == {"x": 1, "y": 3, "more": [], "name": "p"}
        assert copy.deepcopy(one(1)) == copy.copy(one(1)) == one(1)
        match one(1, 2):
            case one(x, y, name=name):
                assert (x, y, name) == (1, 2, "p")
            case _:
                pytest.fail("no match")
    assert pickle.loads(pickle.dumps(_Kept(1, ("a",)))) == _Kept(1, ("a",))


def test_class_is_made_when_it_is_first_used() -> None:
    one = _point(dataclass)
    assert "__repr__" not in vars(one)
    assert "__setattr__" not in vars(one)
    one(1)
    assert {"__repr__", "__setattr__", "__eq__"} <= vars(one).keys()


def test_threads_may_make_the_first_instance_at_once() -> None:
    for _ in range(50):
        one, start, found = _inherited(dataclass), threading.Barrier(4), list[Any]()

        def make(one: type[Any] = one, start: threading.Barrier = start, found: list[Any] = found) -> None:
            start.wait()
            found.append(one(1, 2, [], "n"))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [one(1, 2, [], "n")] * 4


def _pair(decorate: Callable[..., Any]) -> type[Any]:
    @decorate(frozen=True, slots=True)
    class Single:
        """One."""

        x: int

    @decorate(frozen=True, slots=True)
    class Pair(Single):
        """Two."""

        y: int

    return Pair


@pytest.mark.parametrize(
    "use",
    [
        repr,
        hash,
        asdict,
        copy.copy,
        lambda one: one == type(one)(1, y=2),
        lambda one: one != type(one)(1, 3),
        lambda one: replace(one, x=5).x,
        lambda one: [field.name for field in fields(one)],
    ],
)
def test_methods_follow_the_constructor(use: Callable[[Any], Any]) -> None:
    ours, theirs = _both(_pair)
    used = use(ours(1, 2))
    expected = use(theirs(1, 2))
    assert (repr(used), used == used) == (repr(expected), True)


def test_class_without_defaults_is_frozen_before_it_is_a_dataclass() -> None:
    for one in _both(_pair):
        instance = one(1, 2)
        with pytest.raises(FrozenInstanceError, match="cannot assign to field 'y'"):
            instance.y = 3
        assert (instance.x, instance.y) == (1, 2)
    for one in _both(_pair):
        instance = one(1, 2)
        with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
            del instance.x
        assert instance.x == 1
    for one in _both(_pair):
        with pytest.raises(TypeError, match=r"Pair\.__init__\(\) missing 1 required positional argument: 'y'"):
            one(1)
