"""Names of kernel functions: the same for the same code, another for every change that counts."""

from __future__ import annotations

import enum
import types
from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl
from tilewright.runtime.fingerprint import Fingerprint, Nameless

SOURCE = """\
import tilewright as tw
from tilewright import tl

SIZE = tl.constexpr(4)
other = [1, 2]

@tw.constexpr_function
def rounded(x):
    return x + EXTRA

EXTRA = 1

@tw.jit
def helper(x, by=2):
    return x * by

@tw.jit
def kernel(p, n: tl.constexpr):
    tl.store(p, helper(SIZE + rounded(n)))
"""


def made(source: str, name: str = "kernel", file: str = "kernels.py"):
    """The function of a module with that text, as if it had been imported."""
    import linecache

    module = types.ModuleType("kernels")
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), vars(module))
    return vars(module)[name]


def name_of(value: object) -> str:
    fingerprint = Fingerprint()
    fingerprint.add(value)
    return fingerprint.text


def test_the_same_text_has_the_same_name():
    assert name_of(made(SOURCE)) == name_of(made(SOURCE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("helper(SIZE", "helper(1 + SIZE"),
        ("constexpr(4)", "constexpr(5)"),
        ("constexpr(4)", "constexpr(4.0)"),
        ("x * by", "x + by"),
        ("by=2", "by=3"),
        ("EXTRA = 1", "EXTRA = 2"),
        ("return x + EXTRA", "return x - EXTRA"),
        ("import tilewright as tw\n", "import tilewright as tw\n\n"),  # lines are in the cubin
        ("n: tl.constexpr", "n"),
        ("@tw.jit\ndef helper", "@tw.jit(noinline=True)\ndef helper"),
    ],
)
def test_whatever_decides_over_the_code_is_in_the_name(old, new):
    assert old in SOURCE
    assert name_of(made(SOURCE)) != name_of(made(SOURCE.replace(old, new)))


def test_what_a_kernel_cannot_capture_is_not():
    assert name_of(made(SOURCE)) == name_of(made(SOURCE.replace("[1, 2]", "[1, 3]")))


def test_the_file_counts():
    assert name_of(made(SOURCE)) != name_of(made(SOURCE, file="other.py"))


def test_captured_names_can_be_asked_again():
    kernel = made(SOURCE)
    fingerprint = Fingerprint()
    fingerprint.add(kernel)
    keys = {each.key for each in fingerprint.captured}
    assert {"kernels.kernel:SIZE", "kernels.kernel:helper", "kernels.kernel:tl"} <= keys
    assert all(each.is_current() for each in fingerprint.captured)
    kernel.fn.__globals__["SIZE"] = tl.constexpr(9)
    changed = [each.key for each in fingerprint.captured if not each.is_current()]
    assert changed == ["kernels.kernel:SIZE"]


def test_closures():
    def around(value):
        @tw.jit
        def kernel(p):
            tl.store(p, value)

        return kernel

    one, two = around(tl.constexpr(1)), around(tl.constexpr(2))
    assert name_of(one) == name_of(around(tl.constexpr(1))) != name_of(two)


def test_a_module_counts_by_what_is_mentioned():
    def named(**names):
        module = types.ModuleType("author")
        vars(module).update(names)
        return module

    def kernel_with(module):
        source = "import tilewright as tw\n@tw.jit\ndef kernel(p):\n    return p + around.inner.A\n"
        kernel = made(source)
        kernel.fn.__globals__["around"] = module
        return kernel

    first = kernel_with(named(inner=named(A=1, B=1)))
    assert name_of(first) == name_of(kernel_with(named(inner=named(A=1, B=2), C=3)))
    assert name_of(first) != name_of(kernel_with(named(inner=named(A=2, B=1))))


class Colour(enum.Enum):
    RED = 1


Pair = namedtuple("Pair", "a b")


@dataclass(frozen=True)
class Shape:
    rows: int
    dtype: object = None


def shifted(x):
    return x + 1


@pytest.mark.parametrize(
    "values",
    [
        (1, 1.0, True, "1", b"1", None, (1,), [1]),
        (Pair(1, 2), Pair(1, 3), (1, 2)),
        (Shape(1), Shape(2), Shape(1, tl.float16), Shape(1, tl.bfloat16)),
        (np.float32(1), np.float64(1), np.int32(1)),
        (Colour.RED, 1, Colour),
        ({"a": 1}, {"a": 2}, {"b": 1}, frozenset({1}), frozenset({1, 2})),
        (shifted, max, int, Shape, Pair),
    ],
)
def test_values_that_differ_have_names_that_differ(values):
    names = [name_of(value) for value in values]
    assert len(set(names)) == len(values)
    assert names == [name_of(value) for value in values]


def classes(source: str):
    space: dict[str, object] = {"__name__": "builtins_of_a_test"}
    exec(compile(source, "classes.py", "exec", dont_inherit=True), space)
    return space["It"]


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("import enum\nclass It(enum.IntEnum):\n    A = 1\n", "A = 1", "A = 2"),
        ("class It:\n    sizes = (1, 2)\n", "1, 2", "1, 3"),
        ("class It:\n    def rows(self): return 1\n", "return 1", "return 2"),
        ("class It:\n    @property\n    def rows(self): return 1\n", "return 1", "return 2"),
        ("class It:\n    @staticmethod\n    def rows(): return 1\n", "return 1", "return 2"),
        ("class Base:\n    a = 1\nclass It(Base):\n    pass\n", "a = 1", "a = 2"),
        ("import typing\nclass It(typing.NamedTuple):\n    a: int = 1\n", "= 1", "= 2"),
        (
            "import dataclasses\n@dataclasses.dataclass\nclass It:\n    a: int = 1\n",
            "= 1",
            "= 2",
        ),
        (
            "import enum\nclass It(enum.Enum):\n    A = 1\n    @property\n"
            "    def rows(self): return 3\n",
            "return 3",
            "return 4",
        ),
        ("class It:\n    a: int\n", "a: int", "a: str"),
    ],
)
def test_classes_count_by_what_they_hold(source, old, new):
    name = name_of(classes(source))
    assert name == name_of(classes(source))
    assert old in source
    assert name != name_of(classes(source.replace(old, new)))


def test_an_object_with_a_state_of_its_own_has_no_name():
    class State:
        pass

    with pytest.raises(Nameless):
        name_of(State())
    with pytest.raises(Nameless):
        name_of((1, [State()]))


def test_cycles_end():
    first: list[object] = [1]
    first.append(first)
    second: list[object] = [1]
    second.append(second)
    assert name_of(first) == name_of(second)


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("import enum\nclass E(enum.IntEnum):\n    A = 1\nIt = E.A\n", "A = 1", "A = 2"),
        (
            "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass D:\n    a: int\n"
            "    def twice(self): return 2 * self.a\nIt = D(1)\n",
            "2 *",
            "3 *",
        ),
        (
            "import typing\nclass N(typing.NamedTuple):\n    a: int\n"
            "    def twice(self): return 2 * self.a\nIt = N(1)\n",
            "2 *",
            "3 *",
        ),
    ],
)
def test_values_count_with_the_methods_of_their_class(source, old, new):
    assert old in source
    name = name_of(tl.constexpr(classes(source)))
    assert name == name_of(tl.constexpr(classes(source)))
    assert name != name_of(tl.constexpr(classes(source.replace(old, new))))


def test_annotations_of_variables_count():
    source = (
        "import tilewright as tw\n@tw.jit\ndef kernel(p):\n    a: tl.constexpr = 16\n    p + a\n"
    )
    plain = source.replace(": tl.constexpr", " " * len(": tl.constexpr"))
    assert name_of(made(source)) != name_of(made(plain))


@pytest.mark.parametrize(
    "body",
    [
        "import os",
        "return os.environ",
        "return getenv('A')",
        "return getattr(math, 'pi')",
        "return globals()['A']",
        "return open('sizes').read()",
    ],
)
def test_a_function_that_asks_the_system_while_a_kernel_is_compiled_has_no_name(body):
    source = (
        "import math, os\nfrom os import getenv\nimport tilewright as tw\n"
        f"@tw.constexpr_function\ndef size():\n    {body}\n"
        "@tw.jit\ndef kernel(p):\n    p + size()\n"
    )
    with pytest.raises(Nameless):
        name_of(made(source))


def test_a_module_that_uses_itself_says_all_that_is_used():
    def kernel_with(limit):
        module = types.ModuleType("author")
        vars(module)["LIMIT"] = tl.constexpr(limit)
        inner = "import tilewright as tw\n@tw.jit\ndef inner(p):\n    return p + author.LIMIT\n"
        vars(module)["inner"] = made(inner, "inner")
        vars(module)["inner"].fn.__globals__["author"] = module
        outer = "import tilewright as tw\n@tw.jit\ndef kernel(p):\n    return author.inner(p)\n"
        kernel = made(outer)
        kernel.fn.__globals__["author"] = module
        return kernel

    assert name_of(kernel_with(1)) == name_of(kernel_with(1)) != name_of(kernel_with(2))


def test_a_module_inside_of_a_value_has_no_name():
    module = types.ModuleType("author")
    with pytest.raises(Nameless):
        name_of((1, module))
