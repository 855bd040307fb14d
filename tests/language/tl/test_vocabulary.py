"""What `tl` decides for the frontend: names, conditions, loops, built-ins, globals."""

import math
import types
from collections import namedtuple
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from xdsl.dialects.builtin import i1, i32
from xdsl.ir import Block, SSAValue

import tilewright.language.tl as tl
from tilewright.dialects import arith
from tilewright.frontend.builder import Builder, using
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.vocabulary import CountedLoop, StaticLoop
from tilewright.language.tl.constexpr import constexpr_function
from tilewright.language.tl.options import Options
from tilewright.language.tl.options import using as compiling
from tilewright.language.tl.vocabulary import TL

Point = namedtuple("Point", "x y")


class Pair(NamedTuple):
    first: Any
    second: Any


@pytest.fixture
def block() -> Iterator[Block]:
    block = Block(arg_types=[i32, i1])
    with using(Builder(block)):
        yield block


@pytest.fixture
def n(block: Block) -> tl.tensor:
    return tl.tensor(block.args[0], tl.int32)


# Names.


def test_a_named_number_is_a_tensor(block: Block) -> None:
    for number, type in ((5, tl.int32), (True, tl.int1), (2**31, tl.uint32), (0.5, tl.float32)):
        bound = TL.bind("x", number)
        assert isinstance(bound, tl.tensor)
        assert bound.type == type
    assert isinstance(TL.bind("x", tl.constexpr(5)), tl.tensor)


def test_numbers_in_named_tuples_are_tensors(n: tl.tensor) -> None:
    bound: Any = TL.bind("x", (1, Pair(2.5, n), [None, tl.float16]))
    assert [part.type for part in (bound[0], bound[1].first)] == [tl.int32, tl.float32]
    assert isinstance(bound[1], Pair)
    assert bound[1].second is n
    assert bound[2] == (None, tl.float16)


def test_what_is_no_number_stays_what_it_is(n: tl.tensor) -> None:
    for value in (None, tl.float32, "text", n, math):
        assert TL.bind("x", value) is value


def test_arguments_and_results_stay_known() -> None:
    assert TL.argument("x", tl.constexpr(5), constexpr=False) == 5
    assert TL.argument("x", [1, (2, [3])], constexpr=True) == (1, (2, (3,)))
    assert TL.returned(5) == 5
    assert TL.returned(Point(1, [2])) == Point(1, (2,))


# Conditions.


def test_conditions_known_now() -> None:
    assert TL.condition(True) is True
    assert TL.condition(0) is False
    assert TL.condition(None) is False
    assert TL.condition(tl.constexpr(3)) is True


@pytest.mark.parametrize("value", ["text", (1,), 1.5, tl.float32])
def test_conditions_that_are_none(value: object) -> None:
    message = "`if` conditionals can only accept values of type {bool, int, NoneType}, not objects of type"
    with pytest.raises(TypeError, match=message):
        TL.condition(value)


def test_a_tensor_decides_when_the_kernel_runs(block: Block, n: tl.tensor) -> None:
    condition = tl.tensor(block.args[1], tl.int1)
    assert TL.condition(condition) is condition.handle
    assert TL.condition(tl.condition(condition)) is condition.handle
    found = TL.condition(n)
    assert isinstance(found, SSAValue)
    assert isinstance(found.owner, arith.CmpiOp)
    with pytest.raises(
        TypeError, match="Boolean value of Tensor with more than one value is ambiguous"
    ):
        TL.condition(tl.arange(0, 4))
    with pytest.warns(UserWarning, match="multidimensional Tensor instead of scalar"):
        assert isinstance(TL.condition(tl.full((1, 1), n, tl.int32)), SSAValue)


def test_logic_takes_conditions_only(block: Block, n: tl.tensor) -> None:
    condition = tl.tensor(block.args[1], tl.int1)
    assert isinstance(TL.logical("and", condition, condition), tl.tensor)
    assert isinstance(block.last_op, arith.AndiOp)
    TL.logical("or", condition, condition)
    assert isinstance(block.last_op, arith.OriOp)
    TL.invert(condition)
    assert isinstance(block.last_op, arith.XoriOp)
    with pytest.raises(
        ValueError, match=r"`or` takes conditions, not int32\[\]; write a comparison"
    ):
        TL.logical("or", condition, n)


def test_values_where_branches_meet(n: tl.tensor) -> None:
    assert TL.as_value(n) is n
    constant = TL.as_value(3)
    assert isinstance(constant, tl.tensor)
    with pytest.raises(TypeError, match="cannot convert None of type <class 'NoneType'> to tensor"):
        TL.as_value(None)


# Loops.


def test_loops_that_are_unrolled() -> None:
    pairs = zip((1, 2), (3, 4), strict=True)
    for iterable, items in (
        (tl.static_range(3), (0, 1, 2)),
        (tl.static_range(6, 0, -2), (6, 4, 2)),
        ((1, "a"), (1, "a")),
        (pairs, ((1, 3), (2, 4))),
        (enumerate("ab"), ((0, "a"), (1, "b"))),
        (tl.constexpr((5, 6)), (5, 6)),
    ):
        loop = TL.loop(iterable)
        assert isinstance(loop, StaticLoop)
        assert tuple(loop.items) == items


def test_loops_of_the_ir(n: tl.tensor) -> None:
    loop = TL.loop(tl.range(0, n, num_stages=3, flatten=True))
    assert isinstance(loop, CountedLoop)
    assert set(loop.attributes) == {"tt.num_stages", "tt.flatten"}
    index = loop.index(n.handle)
    assert isinstance(index, tl.tensor)
    assert (index.handle, index.type) == (n.handle, tl.int32)


def test_comprehensions_run_over_ranges_that_are_known(n: tl.tensor) -> None:
    assert TL.known_items(tl.range(1, 7, 2)) == (1, 3, 5)
    assert TL.known_items(tl.range(tl.constexpr(2), multi_cta=True)) == (0, 1)
    assert TL.known_items(tl.range(n)) is None
    assert TL.known_items((1, 2)) is None


def test_loops_that_are_none(n: tl.tensor) -> None:
    for iterable, message in (
        (5, "Only `range` and `static_range` iterators are currently supported, not int"),
        (tl.arange(0, 4), "cannot be iterated over"),
        (tl.range(1.5), r"For loop bounds and step must all be ints, are \(int32, fp32, int32\)"),
        (tl.range(tl.arange(0, 4)), r"For upper bound must be a scalar, got <\['4'\], int32>"),
    ):
        with pytest.raises(TypeError, match=message):
            TL.loop(iterable)
    with pytest.raises(
        TypeError, match=r"int32\[\] used as tl.static_range end value is not a constexpr"
    ):
        tl.static_range(n)
    with pytest.raises(RuntimeError, match=r"use tl.static_range"):
        list(tl.range(3))
    assert len(tl.static_range(2, 8, 3)) == 2


def test_a_while_with_a_hint(block: Block) -> None:
    condition = tl.tensor(block.args[1], tl.int1)
    assert set(TL.while_attributes(tl.condition(condition, disable_licm=True))) == {
        "llvm.loop_annotation"
    }
    assert not TL.while_attributes(tl.condition(condition))
    assert not TL.while_attributes(condition)


# Built-ins.


def call(name: str, *args: object, **kwargs: object) -> Any:
    function: Any = TL.builtins[name]
    return function(*args, **kwargs)


def test_builtins_of_known_values() -> None:
    assert call("min", 3, tl.constexpr(2)) == 2
    assert call("max", (3, 7, 5)) == 7
    assert call("len", (1, 2)) == 2
    assert call("int", 2.5) == 2
    assert call("float", "inf") == math.inf
    assert call("abs", -3) == 3
    assert call("bool", tl.constexpr(2)) is True
    assert call("list", (1, 2)) == (1, 2)
    assert call("tuple", [1, 2]) == (1, 2)
    assert call("str", 3) == "3"
    assert call("getattr", tl.float32, "name") == "fp32"
    assert call("hasattr", 3, "nothing") is False


def test_builtins_of_tensors(block: Block, n: tl.tensor) -> None:
    call("min", n, 3)
    assert isinstance(block.last_op, arith.MinsiOp)
    call("max", 3, n, 4)
    assert isinstance(block.last_op, arith.MaxsiOp)
    with pytest.warns(UserWarning, match="builtin max on non-scalar tensor values is deprecated"):
        call("max", tl.arange(0, 4), 4)
    with pytest.raises(TypeError, match=r"min takes at least 2 values; tl.min reduces a tensor"):
        call("min", n)
    for name, instead in (
        ("int", "tl.int32"),
        ("float", "tl.float32"),
        ("len", "x.shape"),
        ("bool", "tl.int1"),
    ):
        with pytest.raises(
            TypeError,
            match=rf"{name}\(\) requires a compile-time value, got int32\[\]: .*{instead}",
        ):
            call(name, n)


def test_numbers_whose_extremum_depends_on_the_device() -> None:
    for values, message in (((1.0, math.nan), "NaN"), ((0.0, -0.0), "negative zero")):
        with pytest.raises(ValueError, match=f"constexpr max does not support {message}"):
            call("max", *values)
    with pytest.raises(
        TypeError, match="propagate_nan is not supported on builtin min of constants"
    ):
        call("min", 1, 2, propagate_nan=tl.PropagateNan.ALL)


def test_known_values_are_constexpr(n: tl.tensor) -> None:
    assert call("isinstance", 3, tl.constexpr)
    assert call("isinstance", None, (tl.tensor, tl.constexpr))
    assert not call("isinstance", n, tl.constexpr)
    assert call("isinstance", n, tl.tensor)
    assert call("isinstance", tl.constexpr(3), int)
    assert call("isinstance", (1, 2), tl.tuple)
    assert not call("isinstance", 3, (str, tl.tensor))


def test_assertions_need_debugging(block: Block) -> None:
    condition = tl.tensor(block.args[1], tl.int1)
    TL.check(condition, "message")
    assert block.last_op is None
    with compiling(Options(debug=True)):
        TL.check(condition, "message")
    assert block.last_op is not None
    assert block.last_op.name == "tt.assert"


# Globals.


def _python_function() -> int:
    return 3


@constexpr_function
def doubled(x: int) -> int:
    return 2 * x


_kernel = KernelFunction(_python_function, TL)


@pytest.mark.parametrize(
    "value",
    [
        math,
        _kernel,
        doubled,
        tl.float32,
        tl.load,
        Point,
        Pair,
        int,
        None,
        tl.PropagateNan.ALL,
        tl.pi32_t,
    ],
)
def test_globals_that_a_kernel_may_use(value: object) -> None:
    assert TL.captured("name", value) is value


def test_a_constexpr_is_its_value() -> None:
    assert TL.captured("name", tl.constexpr((1, 2))) == (1, 2)


@pytest.mark.parametrize(
    ("value", "fix"),
    [
        (42, r"Define it as `SIZE = tl.constexpr\(42\)`, or pass it as a parameter"),
        ("a", r"Define it as `SIZE = tl.constexpr\('a'\)`"),
        (
            _python_function,
            "decorate SIZE with @jit to run it inside the kernel, or with @constexpr_function",
        ),
        ([1], "an object of type list cannot be used in a kernel"),
    ],
)
def test_globals_that_may_change(value: object, fix: str) -> None:
    with pytest.raises(
        NameError,
        match=rf"Cannot access global variable SIZE from within @jit'ed function: .*{fix}",
    ):
        TL.captured("SIZE", value)


def test_functions_that_run_when_the_kernel_is_compiled(n: tl.tensor) -> None:
    assert doubled(tl.constexpr(4)) == 8
    assert doubled(x=4) == 8
    for call_it in (lambda: doubled(n), lambda: doubled(x=n)):
        with pytest.raises(
            TypeError,
            match=r"doubled is evaluated at compile time, but got the run-time value int32",
        ):
            call_it()
    holder = types.SimpleNamespace(twice=doubled)
    assert holder.twice(5) == 10


# Symbols.


def test_symbols_of_functions(n: tl.tensor) -> None:
    values = (n, tl.arange(0, 4), 3, "it's", (n, 2), tl.float32, None, [1])
    assert [TL.mangle(value) for value in values] == [
        "i32", "i32S4S", "c3", 'c"it_sq_s"', "Ti32_c2T", "cfp32", "cNone", "c_1_",
    ]  # fmt: skip
