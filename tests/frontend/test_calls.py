"""Kernel functions that call kernel functions: in place, or as functions of the IR."""

from __future__ import annotations

import re
from typing import Any

import pytest
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block

from tests.frontend.mini import (
    MINI,
    Number,
    compiled,
    constexpr,
    jit,
    lines,
    load,
    runtime,
    store,
    text,
    traced,
)
from tilewright.dialects.tt import CallOp, FuncOp
from tilewright.frontend.builder import Builder, using
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.trace import Argument, trace
from tilewright.ir.diagnostics import CompileError


def symbols(kernel: KernelFunction, **constants: Any) -> list[str]:
    """The functions of the module, without the package they are in."""
    module = traced(kernel, **constants).module
    functions = [op.sym_name.data for op in module.ops if isinstance(op, FuncOp)]
    return [name.rpartition(".")[2] for name in functions]


@jit
def add(a, b):
    return a + b


@jit
def in_place(n, m):
    x = add(add(n, 1), b=m)
    store(0, x)


def test_a_call_is_traced_in_place() -> None:
    assert lines(in_place) == [
        "%x = arith.addi %n, 1 : i32",
        "%x = arith.addi %x, %m : i32",
        "tt.call @store(0, %x) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def returns_nothing(n):
    store(0, n)


@jit
def uses_nothing(n):
    x = returns_nothing(n)
    if x is None:
        store(1, n)


def test_a_function_without_return_gives_none() -> None:
    assert lines(uses_nothing)[1] == "tt.call @store(1, %n) : (i32, i32) -> ()"


@jit
def assigns(x):
    x = x + 1
    y = x
    return y


@jit
def keeps(x, y):
    z = assigns(x)
    store(x, y + z)


def test_a_called_function_has_variables_of_its_own() -> None:
    assert lines(keeps)[-2] == "tt.call @store(%x, %0) : (i32, i32) -> ()"


# functions of the IR


@jit(noinline=True)
def apart(x, SCALE: constexpr, pair):
    return (x * SCALE, pair[1]), 7


@jit
def calls_apart(n, m):
    (a, b), c = apart(n, 2, (1, m))
    (d, e), f = apart(m, 2, (1, n))
    (g, h), k = apart(m, 3, (n, m))
    store(a + d + g, b + e + h)
    store(c, f)
    store(k, n)


def test_noinline_functions_are_shared_by_calls_of_one_kind() -> None:
    assert symbols(calls_apart) == [
        "calls_apart",
        "apart__i32_c2_Tc1_i32T",
        "apart__i32_c3_Ti32_i32T",
    ]


def test_a_noinline_function_takes_and_returns_only_what_is_not_known() -> None:
    found = text(calls_apart)
    function = found[found.index("tt.func private") :]
    assert re.sub(r"@\S*\.", "@", function).splitlines()[:5] == [
        "tt.func private @apart__i32_c2_Tc1_i32T(%x: i32, %pair.1: i32) -> (i32, i32) attributes "
        "{noinline = true} {",
        "    %c2_i32 = arith.constant 2 : i32",
        "    %0 = arith.muli %x, %c2_i32 : i32",
        "    tt.return %0, %pair.1 : i32, i32",
        "  }",
    ]
    # 7 is a constant for the caller as well.
    assert "tt.call @store(7, 7) : (i32, i32) -> ()" in lines(calls_apart)


@jit
def early(x, LIMIT: constexpr):
    y = load(x)
    if y > LIMIT:
        return y
    return 0


@jit
def calls_early(n):
    for i in range(n):
        store(i, early(i, 3) + early(n, 3))


def test_a_function_that_returns_early_is_a_function_of_the_ir() -> None:
    assert symbols(calls_early) == ["calls_early", "early__i32_c3"]
    # What was traced before the condition was met is gone from the caller.
    loads = [line for line in lines(calls_early) if "@load" in line]
    assert len(loads) == 1
    assert "^bb" in text(calls_early)


def test_what_was_thrown_away_uses_nothing() -> None:
    module = traced(calls_early).module
    (kernel, _) = module.ops
    (loop,) = [op for op in kernel.regions[0].block.ops if op.name == "scf.for"]
    users = {use.operation.name for use in loop.regions[0].block.args[0].uses}
    assert users == {"tt.call"}


@jit
def decided(x, FLAG: constexpr):
    if FLAG:
        return x
    y = x + 1
    return y


@jit
def calls_decided(n):
    store(decided(n, True), decided(n, False))


def test_returns_that_are_decided_while_tracing_need_no_function() -> None:
    assert symbols(calls_decided) == ["calls_decided"]


@jit
def constant_or_value(x):
    if x > 0:
        return 1, x
    return x, None


@jit
def takes_both(n):
    a, b = constant_or_value(n)
    store(a, b)


def test_returned_tuples_must_agree_in_every_part() -> None:
    with pytest.raises(CompileError, match=r"Return type mismatch: \(i32, i32\) and \(i32, None\)"):
        traced(takes_both)


@jit
def always_three(x):
    if x > 0:
        return 3
    return 3


@jit
def takes_three(n):
    store(always_three(n), n)


def test_the_same_constant_on_all_ways_stays_a_constant() -> None:
    assert lines(takes_three)[1] == "tt.call @store(3, %n) : (i32, i32) -> ()"


@jit
def falls_off(x):
    if x > 0:
        return x


@jit
def takes_what_falls_off(n):
    store(0, falls_off(n))


def test_a_way_without_return_does_not_fit_one_with() -> None:
    with pytest.raises(CompileError, match="Return type mismatch: i32 and None"):
        traced(takes_what_falls_off)


def make(amount: int) -> KernelFunction:
    @jit(noinline=True)
    def shifted(x):
        return x + AMOUNT.value

    AMOUNT = constexpr(amount)
    return shifted


def test_functions_that_differ_only_in_what_they_captured_are_two() -> None:
    source = "@jit\ndef kernel(n):\n    store(one(n), two(n))\n"
    kernel = compiled(source, one=make(1), two=make(2))["kernel"]
    assert symbols(kernel) == ["kernel", "shifted__i32", "shifted__i32_1"]
    assert "arith.constant 2" in text(kernel)


# recursion


@jit
def countdown(x, N: constexpr):
    if N == 0:
        return x
    return countdown(x + N, N - 1)


@jit
def calls_countdown(n):
    store(0, countdown(n, 3))


def test_recursion_over_constants_ends() -> None:
    assert [line for line in lines(calls_countdown) if "addi" in line] == [
        "%0 = arith.addi %n, 3 : i32",
        "%1 = arith.addi %0, 2 : i32",
        "%2 = arith.addi %1, 1 : i32",
    ]


@jit
def endless(x, N: constexpr):
    return endless(x, N + 1)


@jit
def calls_endless(n):
    store(0, endless(n, 0))


def test_recursion_over_constants_that_does_not_end_is_refused() -> None:
    with pytest.raises(CompileError, match="endless calls itself"):
        traced(calls_endless)


@jit(noinline=True)
def again(x):
    return again(x)


@jit
def calls_again(n):
    store(0, again(n))


def test_recursion_of_functions_of_the_ir_is_refused() -> None:
    with pytest.raises(CompileError, match="again calls itself"):
        traced(calls_again)


# functions as values, methods, regions


@jit
def apply(FUNCTION: constexpr, x, y):
    return FUNCTION(x, y)


@jit
def passes_functions(n, m):
    store(apply(add, n, m), apply(decided, n, False))


def test_functions_are_values() -> None:
    assert lines(passes_functions)[:2] == [
        "%0 = arith.addi %n, %m : i32",
        "%y = arith.addi %n, 1 : i32",
    ]


class Holder:
    """Not a value: a name with functions in it."""

    add = add

    @jit
    def plus(self, x):
        return x + 1


def test_a_function_in_a_class_is_called_like_a_method() -> None:
    source = "@jit\ndef kernel(n):\n    store(Holder.add(n, 2), holder().plus(n))\n"
    kernel = compiled(source, Holder=Holder, holder=jit_free(Holder))["kernel"]
    assert lines(kernel)[:2] == ["%0 = arith.addi %n, 2 : i32", "%1 = arith.addi %n, 1 : i32"]


def jit_free(value: Any) -> Any:
    """A plain function that gives `value()`."""

    def made() -> Any:
        return value()

    return made


def test_a_function_can_be_traced_into_any_block() -> None:
    block = Block(arg_types=[i32, i32])
    with using(Builder(block)):
        result = add(*map(Number, block.args))
    assert isinstance(result, Number)
    assert [op.name for op in block.ops] == ["arith.addi"]
    assert next(iter(block.ops)).results[0] is result.handle


# arguments of kernels


@jit
def kernel_arguments(x, pair, SIZE: constexpr, flag=None):
    if flag is None:
        store(x, pair[0] + SIZE)
    else:
        store(flag, pair[1])


def make_pair(handles: Any) -> tuple[object, ...]:
    return Number(next(handles)), 5, Number(next(handles))


def test_arguments_of_the_kernel() -> None:
    pair = Argument([i32, f32], make_pair, [{"tt.divisibility": i32}, {}])
    module = trace(kernel_arguments, {"x": runtime(), "pair": pair, "SIZE": 4}).module
    (function,) = module.ops
    assert isinstance(function, FuncOp)
    assert list(function.function_type.inputs) == [i32, i32, f32]
    assert [dict(function.argument_attributes(index)) for index in range(3)] == [
        {},
        {"tt.divisibility": i32},
        {},
    ]
    assert "%x: i32, %pair.0: i32 {tt.divisibility = i32}, %pair.2: f32" in str(module)
    (call,) = [op for op in function.body.block.ops if isinstance(op, CallOp)]
    assert call.arguments[0] is function.args[0]


def test_an_argument_must_take_all_its_types() -> None:
    short = Argument([i32, i32], lambda handles: Number(next(handles)))
    with pytest.raises(CompileError, match="took fewer values than it has types"):
        trace(add, {"a": runtime(), "b": short})


def test_a_missing_argument_of_the_kernel_is_told() -> None:
    with pytest.raises(CompileError, match=r"add\(a, b\) needs a value for b"):
        trace(add, {"a": runtime()})


def test_parameters_are_described() -> None:
    @jit
    def many(a, b: constexpr, c: constexpr = 3, *rest, d: int = 4):
        pass

    found = [(p.name, p.is_constexpr, p.has_default, p.is_variadic) for p in many.params]
    assert found == [
        ("a", False, False, False),
        ("b", True, False, False),
        ("c", True, True, False),
        ("rest", False, False, True),
        ("d", False, True, False),
    ]
    assert many.params[4].is_keyword_only


def test_any_keyword_is_refused() -> None:
    @jit
    def wild(**anything):
        pass

    with pytest.raises(TypeError, match=r"wild cannot take \*\*anything"):
        wild.params  # noqa: B018


def test_only_functions_are_kernel_functions() -> None:
    with pytest.raises(TypeError, match="decorate a def"):
        KernelFunction(print, MINI)
