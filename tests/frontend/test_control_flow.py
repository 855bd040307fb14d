"""What control flow becomes: which values are carried, in which order, and where they end up."""

from __future__ import annotations

import re

from tests.frontend.mini import constexpr, jit, load, runtime, static_range, store, text, traced
from tilewright.dialects import scf
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.trace import trace


def body(kernel: KernelFunction, **constants: object) -> list[str]:
    """The lines inside of the kernel's function."""
    return [line.strip() for line in text(kernel, **constants).splitlines()[2:-2]]


def only(kernel: KernelFunction, start: str, **constants: object) -> str:
    """The one line that holds `start`."""
    found = [line for line in body(kernel, **constants) if start in line]
    assert len(found) == 1, found
    return found[0]


def plain(line: str) -> str:
    """A line without the numbers that tell values of one name apart."""
    return re.sub(r"(%[a-z][\w.]*?)_\d+\b", r"\1", line)


# if


@jit
def known_if(n, FLAG: constexpr):
    if FLAG:
        store(0, n)
    elif FLAG is None:
        store(1, n)
    else:
        store(2, nobody_knows_this_name)  # noqa: F821


def test_a_known_condition_leaves_one_side() -> None:
    assert body(known_if, FLAG=True) == [
        "%c0_i32 = arith.constant 0 : i32",
        "tt.call @store(%c0_i32, %n) : (i32, i32) -> ()",
        "tt.return",
    ]
    assert "%c1_i32 = arith.constant 1 : i32" in body(known_if, FLAG=None)


@jit
def if_results(b, a, z, c):
    y = load(0)
    x = load(1)
    unchanged = load(2)
    if a > 0:
        x = load(3)
        v = load(4)
        b = x
        u = v
        once = u  # noqa: F841
    else:
        z = load(5)
        u = z
        v = load(6)
        unchanged = unchanged
    store(y, x + v + b + z + u + unchanged + c)


def test_results_are_live_variables_as_defined_then_new_ones_by_name() -> None:
    lines = body(if_results)
    start = next(i for i, line in enumerate(lines) if "scf.if" in line)
    yields = [plain(line) for line in lines if line.startswith("scf.yield")]
    assert lines[start].endswith("-> (i32, i32, i32, i32, i32) {")
    # b, z (parameters), x (defined before), u, v (new, sorted)
    assert yields == [
        "scf.yield %x, %z, %x, %v, %v : i32, i32, i32, i32, i32",
        "scf.yield %b, %z, %x, %z, %v : i32, i32, i32, i32, i32",
    ]


@jit
def if_without_results(n):
    if n > 0:
        store(0, n)


def test_an_if_without_results_has_both_regions() -> None:
    module = traced(if_without_results).module
    op = next(op for op in module.walk() if isinstance(op, scf.IfOp))
    assert op.has_else
    assert not op.results


@jit
def same_new_value(n, m):
    if n > 0:
        y = m
    else:
        y = m
    store(0, y)


def test_a_new_name_is_a_result_even_if_both_sides_give_the_same() -> None:
    assert only(same_new_value, "scf.if") == "%1 = scf.if %0 -> (i32) {"


@jit
def constants_agree(n):
    if n > 0:
        kind: constexpr = 3
        name: constexpr = "x"
    else:
        kind: constexpr = 3
        name: constexpr = "x"
    if kind == 3 and name == "x":
        store(0, n)


def test_equal_constants_stay_constants_behind_an_if() -> None:
    assert only(constants_agree, "scf.if") == "scf.if %0 {"
    assert body(constants_agree)[-2] == "tt.call @store(%c0_i32_0, %n) : (i32, i32) -> ()"


# for


@jit
def carried(n, m, FLAG: constexpr):
    second = load(0)
    first = load(1)
    kept = load(2)
    copy = kept
    for i in range(0, n, 2):
        first = first + second
        m = m + i
        if FLAG:
            kept = kept + 1
        copy = kept
        local = first
        second = local
    store(first + second, m + kept + copy)


def test_only_what_the_body_changes_is_carried_in_order_of_definition() -> None:
    # `copy` is `kept`, which does not change: finding the one shows the other.
    assert plain(only(carried, "scf.for", FLAG=False)) == (
        "%first:3 = scf.for %i = %c0_i32 to %n step %c2_i32 "
        "iter_args(%m = %m, %second = %second, %first = %first) -> (i32, i32, i32)  : i32 {"
    )


def test_a_copy_of_what_changes_is_carried_too() -> None:
    line = only(carried, "scf.for", FLAG=True)
    assert (
        "iter_args(%m = %m, %second = %second, %first = %first, %kept = %kept, %copy = %kept)"
        in plain(line)
    )


@jit
def attributes(n):
    for i in range(n, hint=True):
        store(i, i)


def test_attributes_of_the_loop() -> None:
    assert body(attributes)[-2] == "} {hint}"


@jit
def tuple_carried(n):
    p = (load(0), load(1))
    for i in range(n):
        p = (p[0], p[1] + i)
    store(p[0], p[1])


def test_a_tuple_is_carried_as_a_whole() -> None:
    line = only(tuple_carried, "scf.for")
    assert "iter_args(%p.0 = %p, %p.1 = %p) -> (i32, i32)" in plain(line)


@jit
def unrolled(n):
    for i in static_range(3):
        n = n + i
    store(i, n)


def test_a_static_loop_leaves_no_loop() -> None:
    lines = body(unrolled)
    assert not any("scf" in line for line in lines)
    assert [line for line in lines if "addi" in line] == [
        "%n_1 = arith.addi %n, %n_0 : i32",
        "%n_3 = arith.addi %n_1, %n_2 : i32",
        "%n_5 = arith.addi %n_3, %n_4 : i32",
    ]
    assert lines[-2] == "tt.call @store(%c2_i32, %n_5) : (i32, i32) -> ()"


# while


@jit
def while_loop(n, m):
    i = load(0)
    kept = load(1)
    while i < n:
        i = i + m
        if False:
            kept = i
    store(i, kept)


def test_while() -> None:
    assert body(while_loop)[4:] == [
        "%i_2 = scf.while (%i_3 = %i_0) : (i32) -> i32 {",
        "%0 = arith.cmpi slt, %i_3, %n : i32",
        "scf.condition(%0) %i_3 : i32",
        "} do {",
        "^bb0(%i_3: i32):",
        "%i_4 = arith.addi %i_3, %m : i32",
        "scf.yield %i_4 : i32",
        "}",
        "tt.call @store(%i_2, %kept_1) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def while_never(n):
    x = n
    while n is None:
        x = x + load(0)
    store(0, x)


def test_a_while_known_not_to_run_leaves_nothing() -> None:
    assert body(while_never) == [
        "%c0_i32 = arith.constant 0 : i32",
        "tt.call @store(%c0_i32, %n) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def while_false_after_work(n):
    while load(n) is None:
        n = n + 1
    store(0, n)


def test_what_a_dropped_condition_used_is_not_used_any_more() -> None:
    module = traced(while_false_after_work).module
    (function,) = module.ops
    argument = function.regions[0].block.args[0]
    assert [use.operation.name for use in argument.uses] == ["tt.call"]


# early returns


@jit
def early(n, m):
    if n > 0:
        return
    if m > 0:
        m = m + 1
        if n == m:
            return
        x = m
    else:
        x = n
    store(m, x)


def test_early_returns_make_blocks() -> None:
    assert body(early) == [
        "%c0_i32 = arith.constant 0 : i32",
        "%0 = arith.cmpi sgt, %n, %c0_i32 : i32",
        "cf.cond_br %0, ^bb1, ^bb2",
        "^bb1:  // pred: ^bb0",
        "tt.return",
        "^bb2:  // pred: ^bb0",
        "%c0_i32_0 = arith.constant 0 : i32",
        "%1 = arith.cmpi sgt, %m, %c0_i32_0 : i32",
        "cf.cond_br %1, ^bb3, ^bb4",
        "^bb3:  // pred: ^bb2",
        "%m_1 = arith.constant 1 : i32",
        "%m_2 = arith.addi %m, %m_1 : i32",
        "%2 = arith.cmpi eq, %n, %m_2 : i32",
        "cf.cond_br %2, ^bb5, ^bb6",
        "^bb4:  // pred: ^bb2",
        "cf.br ^bb7(%m, %n : i32, i32)",
        "^bb5:  // pred: ^bb3",
        "tt.return",
        "^bb6:  // pred: ^bb3",
        "cf.br ^bb7(%m_2, %m_2 : i32, i32)",
        "^bb7(%3: i32, %4: i32):  // 2 preds: ^bb4, ^bb6",
        "tt.call @store(%3, %4) : (i32, i32) -> ()",
        "tt.return",
    ]


@jit
def nothing_behind(n):
    if n > 0:
        return
    else:
        return
    store(0, n)


def test_nothing_is_traced_behind_an_if_that_returns_on_both_sides() -> None:
    assert body(nothing_behind)[-4:] == [
        "^bb1:  // pred: ^bb0",
        "tt.return",
        "^bb2:  // pred: ^bb0",
        "tt.return",
    ]


@jit
def known_return(n, FLAG: constexpr):
    if FLAG:
        return
    store(0, n)


def test_a_known_return_needs_no_blocks() -> None:
    assert body(known_return, FLAG=True) == ["tt.return"]
    assert body(known_return, FLAG=False)[-2:] == [
        "tt.call @store(%c0_i32, %n) : (i32, i32) -> ()",
        "tt.return",
    ]


# functions


def test_the_kernel_is_public_and_named_as_asked() -> None:
    module = trace(unrolled, {"n": runtime()}, name="other").module
    (function,) = module.ops
    assert function.properties["sym_name"].data == "other"
    assert function.properties["sym_visibility"].data == "public"
