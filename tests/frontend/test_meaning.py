"""Kernels mean in IR what they mean in Python: every construct, run both ways."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import pytest

from tests.frontend.interpreter import executed, expected
from tests.frontend.mini import constexpr, jit, load, static_range, store
from tilewright.frontend.functions.function import KernelFunction

LIMIT = constexpr(4)

VALUES = (-2, 0, 1, 3, 5)


class Pair(NamedTuple):
    first: object
    second: object


@jit
def straight(n, m):
    a = n + m
    b = a * 2 - 1
    a = b + load(a)
    store(a, b)


@jit
def branches(n, m):
    x = n
    if n > m:
        x = x + 1
        y = 10
    elif n == m:
        y = 20
        z = y + 1
        x = z
    else:
        y = x
    store(x, y)


@jit
def no_else(n, m):
    x = 0
    y = n
    if n < m:
        x = n
        if m > 2:
            x = x + m
            y = x
    store(x, y)


@jit
def same_name_in_both(n, m):
    if n > 0:
        y = m
    else:
        y = m
    store(0, y)


@jit
def loop(n, m):
    total = 0
    turns = 0
    unchanged = n + 1
    for i in range(n):
        total += i * m
        if total > 10:
            total -= 3
        unchanged = unchanged
        turns = turns + 1
    store(total, turns + unchanged)


@jit
def nested_loops(n, m):
    a = 0
    b = 1
    for i in range(n):
        for j in range(i, m, 2):
            a += j
            if a > 6:
                b = a
        c = a
        for j in range(2):
            c += j
        b += c
    store(a, b)


@jit
def swap(n, m):
    a = n
    b = m
    for i in range(3):
        a, b = b, a + i
    store(a, b)


@jit
def loop_over_copy(n, m):
    x = n
    y = x
    for i in range(m):
        y = x
        store(i, y)
    store(x, y)


@jit
def while_loop(n, m):
    i = 0
    s = m
    while i < n and s < 30:
        i += 1
        s += i if s > 3 else 1
        t = s
        s = t
    store(i, s)


@jit
def nested_while(n, m):
    i = n
    k = 0
    while i > 0:
        i -= 1
        j = m
        while j > 0:
            j -= 2
            k += 1
    store(k, i)


@jit
def unrolled(n, m):
    s = n
    for i in static_range(LIMIT):
        s += i
        if s > m:
            s = s - m
            if i == 2:
                s = s * 2
    store(s, i)


@jit
def unrolled_over_tuple(n, m):
    s = 0
    for a, b in ((n, 1), (m, 2), (3, n)):
        s = s * 3 + a * b
    store(0, s)


@jit
def early_return(n, m):
    store(0, n)
    if n > m:
        return
    store(1, m)
    if m > 3:
        if n > 0:
            store(2, m)
            return
        x = n
    else:
        x = m
    store(3, x)


@jit
def returns_on_both_sides(n, m):
    if n > m:
        store(0, 1)
        return
    else:
        store(0, 2)
        return
    store(0, 3)


@jit
def return_in_unrolled_loop(n, m):
    for i in static_range(3):
        store(i, n)
        if n > i:
            return
        store(i, m)
    store(9, 9)


@jit
def clamped(x, low, high):
    if x < low:
        return low
    if x > high:
        return high
    return x


@jit
def stepwise(x):
    if x > 1:
        y = x * 2
        if x > 3:
            return y
        y = y + 1
    else:
        y = x + 3
    return y


@jit
def calls_that_return_early(n, m):
    s = clamped(n, 0, 3)
    for i in range(3):
        s += clamped(m * i, n, 7)
        s += stepwise(i + n)
    store(s, stepwise(s))


@jit
def chosen(x, y, BIGGER: constexpr):
    if BIGGER:
        if x > y:
            r = x
        else:
            r = y
        return r
    return x + y


@jit(noinline=True)
def apart(x, pair):
    return x + pair[0], pair[1]


@jit
def calls(n, m):
    a = chosen(n, m, True)
    b = chosen(n, BIGGER=False, y=m)
    c, d = apart(a, (b, n))
    e, f = apart(b, (a, m))
    store(c + e, d + f)


@jit
def tuples(n, m):
    p = (n, (m, 1))
    for i in range(m):
        p = (p[1][0] + i, (p[0], p[1][1] + 1))
    if n > 1:
        p = (p[0], (0, p[1][1]))
    a, (b, c) = p
    store(a + b, c)


@jit
def named_tuples(n, m):
    p = Pair(n, m)
    for i in range(m):
        p = Pair(p.second, p.first + i)
    if p.first > p.second:
        p = Pair(second=p.first, first=p.second)
    store(p.first, p.second)


@jit
def conditions(n, m):
    if n > 0 and m > 0:
        store(0, 1)
    if n > 2 or m > 2 or n == m:
        store(1, 1)
    if not n > m:
        store(2, 1)
    if 0 < n < m:
        store(3, 1)
    if n > 0 and (m < 3 or not (n == 1 and m == 5)):
        store(4, 1)


@jit
def conditional_expressions(n, m):
    x = n if n > m else m
    y = (x if m > 0 else -x) if n > 0 else 7
    store(x, y * (1 if x > 3 else 2))


@jit
def walrus(n, m):
    if (k := n + m) > 2:
        store(0, k)
    store(1, (k := k + 1) + k)


@jit
def chained_assignment(n, m):
    a = b = n + m
    b += 1
    store(a, b)


@jit
def comprehension(n, m):
    xs = [load(i) + n for i in (1, 2, m)]
    ys = [x for x, keep in ((xs[0], 1), (xs[1], 0), (m, 1)) if keep]
    store(xs[0] + xs[2], ys[1])


@jit
def reused_loop_variable(n, m):
    s = 0
    for i in range(2):
        s += i
    for j in range(m):
        for i in range(n):
            s += i + j
    i = s
    store(i, s)


@jit
def reassigned_loop_variable(n, m):
    s = 0
    for i in range(n):
        i = i * 2
        s += i
    store(0, s)


@jit
def default_arguments(n, m=3, *rest, k=2):
    store(n + m, k)


@jit
def variadic(*xs):
    s = 0
    for x in xs:
        s += x
    return s


@jit
def passes_variadic(n, m):
    t = (n, m)
    store(variadic(*t, 5), variadic(n))


KERNELS = {name: value for name, value in globals().items() if isinstance(value, KernelFunction)}
CALLED = {"clamped", "stepwise", "chosen", "apart", "variadic", "default_arguments"}


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - CALLED))
def test_ir_does_what_python_does(name: str) -> None:
    kernel = KERNELS[name]
    for values in itertools.product(VALUES, repeat=2):
        stored = expected(kernel, *values)
        assert executed(kernel, *values) == stored, values


def test_the_kernels_store_different_things_for_different_values() -> None:
    """What is compared above must not be trivially equal."""
    constant = {
        name
        for name in KERNELS.keys() - CALLED
        if len({tuple(expected(KERNELS[name], *v)) for v in itertools.product(VALUES, repeat=2)})
        == 1
    }
    assert constant == set()


def test_defaults_are_constants() -> None:
    assert executed(default_arguments, 1) == [(4, 2)]
    assert executed(default_arguments, 1, m=7, k=5) == [(8, 5)]
