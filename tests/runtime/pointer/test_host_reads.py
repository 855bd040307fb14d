"""Kernels are compiled anew when a Python value changed that was read while they were compiled."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime.pointer.fast_launch import current_check

TABLE = {"scale": 1.0, "inner": {"shift": 0.0}}
LIST = [1.0, 2.0]
ARRAY = np.array([1.0, 2.0])
CONFIG = types.SimpleNamespace(scale=1.0)
NUMBER = 1.0
BOX = tl.constexpr([1.0, 2.0])


class Plain:
    scale = 1.0

    def __init__(self) -> None:
        self.own = 1.0

    @property
    def computed(self) -> float:
        return self.own * NUMBER


PLAIN = Plain()


def helper(name: str) -> float:
    return getattr(PLAIN, name)


@tw.constexpr_function
def of_dict():
    return TABLE["scale"] + TABLE["inner"]["shift"]


@tw.constexpr_function
def of_list():
    return sum(LIST) - 2.0


@tw.constexpr_function
def of_array():
    return float(ARRAY[0])


@tw.constexpr_function
def of_attribute():
    return CONFIG.scale


@tw.constexpr_function
def of_property():
    return PLAIN.computed


@tw.constexpr_function
def of_helper():
    return helper("own")


@tw.constexpr_function
def of_class():
    return Plain.scale


@tw.constexpr_function
def first(values):
    return values[0]


def launched(kernel: Any, *args: Any) -> tuple[float, Any]:
    out = np.full(1, np.nan, np.float32)
    compiled = kernel[(1,)](out, *args)
    return float(out[0]), compiled


def kernel_of(function: Any) -> Any:
    @tw.jit
    def kernel(out):
        tl.store(out, function() + 0.0)

    return kernel


@tw.jit
def boxed(out):
    tl.store(out, first(BOX) + 0.0)


def _set_number(value: float) -> None:
    global NUMBER
    NUMBER = value


CHANGES: dict[str, tuple[Any, Callable[[float], object]]] = {
    "an element of a dict": (kernel_of(of_dict), lambda v: TABLE.update(scale=v)),
    "an element of a list": (kernel_of(of_list), lambda v: LIST.__setitem__(0, v)),
    "an element of an array": (kernel_of(of_array), lambda v: ARRAY.__setitem__(0, v)),
    "an attribute": (kernel_of(of_attribute), lambda v: setattr(CONFIG, "scale", v)),
    "an attribute behind a property": (kernel_of(of_property), lambda v: setattr(PLAIN, "own", v)),
    "an attribute by its text": (kernel_of(of_helper), lambda v: setattr(PLAIN, "own", v)),
    "an attribute of a class": (kernel_of(of_class), lambda v: setattr(Plain, "scale", v)),
    "a global behind a property": (kernel_of(of_property), _set_number),
    "the contents of a constexpr": (boxed, lambda v: BOX.value.__setitem__(0, v)),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_value_that_a_constexpr_function_read_is_read_again_when_it_changed(what: str) -> None:
    kernel, change = CHANGES[what]
    try:
        before, first_compiled = launched(kernel)
        again, second_compiled = launched(kernel)
        assert (before, again) == (1.0, 1.0)
        assert second_compiled is first_compiled
        check = current_check(first_compiled.captured, first_compiled.reads)
        assert check()
        change(6.0)
        assert not check()
        assert launched(kernel)[0] == 6.0
    finally:
        change(1.0)
    assert launched(kernel)[0] == 1.0


def test_an_element_below_an_element_is_read_again() -> None:
    kernel = kernel_of(of_dict)
    inner: Any = TABLE["inner"]
    try:
        assert launched(kernel)[0] == 1.0
        inner["shift"] = 0.5
        assert launched(kernel)[0] == 1.5
    finally:
        inner["shift"] = 0.0


def test_an_equal_dict_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = kernel_of(of_dict)
    before = launched(kernel)[1]
    monkeypatch.setitem(globals(), "TABLE", {"scale": 1.0, "inner": {"shift": 0.0}})
    assert launched(kernel)[1] is before
    TABLE["unused"] = 3.0
    launched(kernel)
    assert launched(kernel)[0] == 1.0


class Settings:
    """An object that is equal to itself only."""

    def __init__(self, scale: float) -> None:
        self.scale = scale


@dataclass(frozen=True)
class Frozen:
    scale: float


@tw.jit
def takes_settings(out, settings: tl.constexpr):
    tl.store(out, settings.scale + 0.0)


def test_an_attribute_of_an_object_that_is_an_argument_is_read_again() -> None:
    settings = Settings(1.0)
    value, before = launched(takes_settings, settings)
    assert value == 1.0
    assert launched(takes_settings, settings)[1] is before
    settings.scale = 6.0
    assert launched(takes_settings, settings)[0] == 6.0
    assert launched(takes_settings, Frozen(2.0))[0] == 2.0


MEMO: dict[str, float] = {}


@tw.constexpr_function
def memoised():
    return MEMO.setdefault("value", 4.0)


def test_what_the_compilation_itself_wrote_is_no_change() -> None:
    kernel = kernel_of(memoised)
    value, before = launched(kernel)
    assert value == 4.0
    assert launched(kernel)[1] is before


@tw.jit
def ordinary(out):
    tl.store(out, NUMBER_BOX + 0.0)


NUMBER_BOX = tl.constexpr(2.0)


def test_an_ordinary_kernel_has_nothing_to_follow() -> None:
    value, compiled = launched(ordinary)
    assert value == 2.0
    assert compiled.reads is None
