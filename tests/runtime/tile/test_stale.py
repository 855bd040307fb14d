"""A kernel follows every Python value that its trace has read, however it was reached."""

import enum
import os
import sys
import types
from array import array
from collections import ChainMap, UserDict
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.autotune import tile_autotune

X = np.arange(1, 5, dtype=np.float32)


def kernel_of(amount):
    """A kernel that multiplies by what `amount`, a function of Python, returns."""

    @tw.jit
    def times(A):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i] * amount()
        return B

    return times


def follows(kernel, change, values=(1.0, 6.0)):
    """Whether a kernel gives the right results before and after `change`, and twice."""
    first, second = values
    assert kernel(X).tolist() == (X * np.float32(first)).tolist()
    assert kernel(X).tolist() == (X * np.float32(first)).tolist()
    change()
    assert kernel(X).tolist() == (X * np.float32(second)).tolist()
    assert kernel(X).tolist() == (X * np.float32(second)).tolist()


scale = 1.0
numbers = [1.0, 2.0]
table = {"scale": 1.0, "inner": {"scale": 1.0}}
nested = [[1.0]]


class Settings:
    scale = 1.0
    depth = 0

    def __init__(self):
        self.own = 1.0
        self.calls = 0

    @property
    def twice(self):
        return self.own * 2

    def __getitem__(self, name):
        return self.own if name == "own" else None


class Slots:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


settings = Settings()
slots = Slots()
module = types.ModuleType("author_settings")
module.scale = 1.0
vector = np.ones(3)


def plain_helper():
    return deeper_helper()


def deeper_helper():
    return scale


def by_text(name="scale"):
    return getattr(module, name)


def by_parts():
    return getattr(module, "sc" + "ale", vars(module)["scale"])


@lru_cache
def kept():
    return 1.0


class Meta(type):
    @property
    def scale(cls):
        return table["scale"]


class WithMeta(metaclass=Meta):
    pass


class Described:
    scale = property(lambda self: table["scale"])


class Items(UserDict):
    pass


layers = ChainMap({}, {"scale": 1.0})
items = Items(scale=1.0)


READERS = {
    "what a property of a metaclass reads": (
        lambda: WithMeta.scale,
        lambda: table.update(scale=6.0),
    ),
    "what a descriptor reads": (lambda: Described().scale, lambda: table.update(scale=6.0)),
    "a mapping of the library": (
        lambda: layers["scale"],
        lambda: layers.maps[0].update(scale=6.0),
    ),
    "a class derived from one of the library": (
        lambda: items["scale"],
        lambda: items.update(scale=6.0),
    ),
    "a name of globals()": (
        lambda: globals()["scale"],
        lambda: globals().update(scale=6.0),
    ),
    "a global of a helper of a helper": (plain_helper, lambda: globals().update(scale=6.0)),
    "an element of a list": (lambda: numbers[0], lambda: numbers.__setitem__(0, 6.0)),
    "an element of a dict": (lambda: table["scale"], lambda: table.update(scale=6.0)),
    "a dict in a dict": (
        lambda: table["inner"]["scale"],
        lambda: table["inner"].update(scale=6.0),
    ),
    "a list in a list": (lambda: nested[0][0], lambda: nested[0].__setitem__(0, 6.0)),
    "an attribute of an object": (lambda: settings.own, lambda: setattr(settings, "own", 6.0)),
    "what a property reads": (lambda: settings.twice / 2, lambda: setattr(settings, "own", 6.0)),
    "what an operator reads": (lambda: settings["own"], lambda: setattr(settings, "own", 6.0)),
    "an attribute of a class": (lambda: settings.scale, lambda: setattr(Settings, "scale", 6.0)),
    "a slot": (lambda: slots.scale, lambda: setattr(slots, "scale", 6.0)),
    "an attribute of a module": (lambda: module.scale, lambda: setattr(module, "scale", 6.0)),
    "an attribute by its text": (by_text, lambda: setattr(module, "scale", 6.0)),
    "an attribute by computed text": (by_parts, lambda: setattr(module, "scale", 6.0)),
    "an element of an array": (lambda: float(vector[1]), lambda: vector.__setitem__(1, 6.0)),
    "arguments of a partial": (
        partial(lambda items: items[0], numbers),
        lambda: numbers.__setitem__(0, 6.0),
    ),
    "a variable of the environment": (
        lambda: float(os.environ["AUTHOR_SCALE"]),
        lambda: os.environ.update(AUTHOR_SCALE="6"),
    ),
}


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """What the tests change."""
    monkeypatch.setenv("AUTHOR_SCALE", "1")
    monkeypatch.setitem(globals(), "scale", 1.0)
    monkeypatch.setattr(Settings, "scale", 1.0)
    for name, fresh in (("settings", Settings()), ("slots", Slots())):
        monkeypatch.setitem(globals(), name, fresh)
    numbers[0] = table["scale"] = table["inner"]["scale"] = nested[0][0] = 1.0
    module.scale, vector[1] = 1.0, 1.0


@pytest.mark.parametrize("reader", READERS)
def test_a_kernel_uses_the_new_value_of(reader):
    amount, change = READERS[reader]
    follows(kernel_of(amount), change)


def plain_class(**attributes):
    return type("Plain", (), attributes)


def test_a_kernel_uses_an_attribute_of_a_subclass_that_hides_the_one_of_its_base():
    derived = type("Derived", (plain_class(scale=1.0),), {})
    follows(kernel_of(lambda: derived.scale), lambda: setattr(derived, "scale", 6.0))


def test_an_instance_uses_an_attribute_of_a_subclass_that_hides_the_one_of_its_base():
    derived = type("Derived", (plain_class(scale=1.0),), {})
    made = derived()
    follows(kernel_of(lambda: made.scale), lambda: setattr(derived, "scale", 6.0))


def test_a_kernel_uses_the_new_attribute_of_a_function():
    def amount():
        return amount.scale

    amount.scale = 1.0
    follows(kernel_of(amount), lambda: setattr(amount, "scale", 6.0))


@pytest.mark.parametrize("kind", ["__defaults__", "__kwdefaults__"])
def test_a_kernel_uses_the_replaced_defaults_of_a_function(kind):
    def amount(first=1.0, *, second=1.0):
        return first * second

    changed = (6.0,) if kind == "__defaults__" else {"second": 6.0}
    follows(kernel_of(lambda: amount()), lambda: setattr(amount, kind, changed))


def test_a_kernel_uses_the_replaced_code_of_a_function():
    def amount():
        return 1.0

    code = (lambda: 6.0).__code__
    follows(kernel_of(lambda: amount()), lambda: setattr(amount, "__code__", code))


@pytest.mark.parametrize("mapping", [dict, UserDict, types.MappingProxyType])
@pytest.mark.parametrize("view", ["values", "items"])
def test_a_kernel_uses_the_new_values_of_a_view_of_a_mapping(mapping, view):
    below = {"scale": 1.0}
    whole = mapping(below)
    seen = getattr(whole, view)()
    target = below if mapping is types.MappingProxyType else whole
    amount = (lambda: next(iter(seen))) if view == "values" else (lambda: next(iter(seen))[1])
    follows(kernel_of(amount), lambda: target.__setitem__("scale", 6.0))


def test_a_kernel_uses_the_new_attribute_of_an_enum_member():
    class Kind(enum.Enum):
        PLAIN = 1.0

        def __init__(self, scale):
            self.scale = scale

    follows(kernel_of(lambda: Kind.PLAIN.scale), lambda: setattr(Kind.PLAIN, "scale", 6.0))


def test_a_kernel_uses_the_new_class_of_an_object():
    made = plain_class(scale=1.0)()
    other = plain_class(scale=6.0)
    follows(kernel_of(lambda: made.scale), lambda: setattr(made, "__class__", other))


def test_a_kernel_uses_the_new_value_of_a_context_variable():
    variable = ContextVar("variable", default=1.0)
    follows(kernel_of(lambda: variable.get()), lambda: variable.set(6.0))


@pytest.mark.parametrize("make", [lambda: array("d", [1.0]), lambda: memoryview(bytearray([1]))])
def test_a_kernel_uses_the_new_elements_of_an_array_of_bytes(make):
    elements = make()
    follows(
        kernel_of(lambda: float(elements[0])),
        lambda: elements.__setitem__(0, type(elements[0])(6)),
    )


class AttrDict(dict):
    __getattr__ = dict.__getitem__


class Refusing:
    scale = 1.0

    def __getattr__(self, name):
        raise RuntimeError(name)


@pytest.mark.parametrize("make", [lambda: AttrDict(scale=1.0), Refusing])
def test_an_object_whose_getattr_raises_something_else_is_captured(make):
    made = make()

    def change():
        if isinstance(made, dict):
            made["scale"] = 6.0
        else:
            made.scale = 6.0

    follows(kernel_of(lambda: made.scale), change)

    @tw.jit
    def named(A):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i] * made.scale
        return B

    assert named(X).tolist() == (X * np.float32(6)).tolist()


def test_a_kernel_uses_the_new_content_of_a_closure_of_a_helper():
    inner = 1.0

    def amount():
        return inner

    def change():
        nonlocal inner
        inner = 6.0

    follows(kernel_of(amount), change)


def test_a_factory_uses_the_new_value_of_a_global():
    """The factory is plain Python, and reads before there is a kernel."""

    @tw.jit(out_idx=-1)
    def made():
        factor = plain_helper()

        @T.prim_func
        def main(A: T.Tensor((4,), "float32"), B: T.Tensor((4,), "float32")):
            with T.Kernel(1):
                for i in T.Parallel(4):
                    B[i] = A[i] * factor

        return main

    follows(lambda x: made()(x), lambda: globals().update(scale=6.0))
    assert made() is made()


kind = "float32"


def test_a_declaration_uses_the_new_value_of_a_global(monkeypatch):
    """Annotations in a body are in no code of Python's."""

    @tw.jit
    def copied(A):
        A: T.Tensor((4,), kind)
        B = T.empty((4,), "float64")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i]
        return B

    assert copied(X).tolist() == X.tolist()
    monkeypatch.setitem(globals(), "kind", "int32")
    assert copied(X.astype(np.int32)).tolist() == X.tolist()
    monkeypatch.setitem(globals(), "kind", "no such type")
    with pytest.raises(tw.CompileError):
        copied(X)
    monkeypatch.setitem(globals(), "kind", "float32")
    assert copied(X).tolist() == X.tolist()


def test_a_macro_uses_the_new_value_of_a_global():
    @T.macro
    def scaled(value):
        return value * plain_helper()

    @tw.jit
    def times(A):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = scaled(A[i])
        return B

    follows(times, lambda: globals().update(scale=6.0))


@dataclass
class Options:
    scale: float
    name: str = ""


@dataclass(frozen=True)
class Frozen:
    scale: float


@tw.jit
def with_options(A, options):
    A: T.Tensor((4,), "float32")
    B = T.empty((4,), "float32")
    with T.Kernel(1):
        for i in T.Parallel(4):
            B[i] = A[i] * options.scale
    return B


@pytest.mark.parametrize("wrap", [list, tuple])
def test_a_kernel_uses_the_new_attribute_of_an_argument_in_a_container(wrap):
    @tw.jit
    def first_of(A, options):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = A[i] * options[0].scale
        return B

    options = types.SimpleNamespace(scale=1.0)
    follows(lambda x: first_of(x, wrap([options])), lambda: setattr(options, "scale", 6.0))


@pytest.mark.parametrize("options", [Options(1.0), types.SimpleNamespace(scale=1.0), Settings()])
def test_a_kernel_uses_the_new_attribute_of_an_argument(options):
    follows(lambda x: with_options(x, options), lambda: setattr(options, "scale", 6.0))


def test_equal_objects_share_a_kernel():
    jitted = tw.jit(with_options.function)
    for _ in range(3):
        jitted(X, Options(2.0))
        jitted(X, Frozen(2.0))
    assert len(jitted.cache) == 2


def test_a_list_that_is_replaced_by_an_equal_one_keeps_the_kernel(monkeypatch):
    jitted = kernel_of(lambda: numbers[0])
    kernel = jitted.compile(X)
    monkeypatch.setitem(globals(), "numbers", list(numbers))
    assert jitted.compile(X) is kernel


def test_what_no_function_mentions_keeps_the_kernel():
    jitted = kernel_of(lambda: settings.own)
    kernel = jitted.compile(X)
    settings.calls += 1
    assert jitted.compile(X) is kernel


def test_a_table_that_tracing_fills_keeps_the_kernel():
    known = {}

    def amount():
        return known.setdefault("amount", 1.0)

    jitted = kernel_of(amount)
    assert jitted.compile(X) is jitted.compile(X)
    known["amount"] = 6.0
    assert jitted(X).tolist() == (X * 6).tolist()


@pytest.mark.parametrize(
    ("first", "second"),
    [(0.0, -0.0), (Frozen(0.0), Frozen(-0.0)), ((1,), (1.0,)), ((0.0,), (-0.0,)), (1, True)],
)
def test_arguments_that_are_equal_and_differ_make_two_kernels(first, second):
    @tw.jit
    def spelled(A, value):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        number = getattr(value, "scale", value)
        number = number[0] if isinstance(number, tuple) else number
        with T.Kernel(1):
            for i in T.Parallel(4):
                B[i] = {"-0.0": 1, "1.0": 2, "True": 3}.get(repr(number), 0)
        return B

    for value, expected in ((first, 0), (second, None), (first, 0)):
        found = spelled(X, value)[0]
        assert found == expected or (expected is None and found > 0)


def test_a_tuned_kernel_uses_the_new_value_of_a_global():
    @tile_autotune(configs=[{"block": 4}], warmup=1, rep=1)
    @tw.jit
    def times(A, block=4):
        A: T.Tensor((4,), "float32")
        B = T.empty((4,), "float32")
        with T.Kernel(1):
            for i in T.Parallel(block):
                B[i] = A[i] * plain_helper()
        return B

    follows(times, lambda: globals().update(scale=6.0))


def test_objects_without_end_are_traced_every_time(monkeypatch):
    monkeypatch.setattr("tilewright.frontend.reads._MAX_VALUES", 100)
    chain = types.SimpleNamespace(scale=1.0, next=None)
    for _ in range(200):
        chain = types.SimpleNamespace(scale=1.0, next=chain)

    def amount():
        here = chain
        for _ in range(3):
            here = here.next
        return here.scale

    follows(kernel_of(amount), lambda: setattr(chain.next.next.next, "scale", 6.0))


def test_a_torch_tensor_that_is_written_changes_the_kernel(without_torch, monkeypatch):
    if without_torch is not None:
        monkeypatch.setitem(sys.modules, "torch", without_torch)
    torch = pytest.importorskip("torch", reason="torch is not installed: make torch")
    factors = torch.ones(3)
    follows(kernel_of(lambda: float(factors[1])), lambda: factors.fill_(6.0))
