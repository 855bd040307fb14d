"""Errors point at the piece of source they are about, and at the places that explain them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.frontend.mini import compiled, jit, load, store, traced
from tilewright.frontend.errors import (
    BAD_CALL,
    BAD_RETURN,
    MISMATCH,
    RAISED,
    RECURSION,
    SOURCE,
    UNDEFINED,
    FrontendError,
)
from tilewright.frontend.functions.function import KernelFunction
from tilewright.ir.diagnostics import CompileError, Diagnostic, SourcePosition


@dataclass(frozen=True)
class Case:
    """A wrong kernel: `caret` is the text under the caret, `notes` pairs of caret and text."""

    source: str
    code: str
    message: str
    caret: str
    notes: tuple[tuple[str, str], ...] = ()


CASES = {
    "unknown name": Case(
        """
        def kernel(n):
            total = n + 1
            store(0, totl + load(n))
        """,
        UNDEFINED,
        "totl is not defined. Did you mean total?",
        "totl",
    ),
    "misspelt function": Case(
        """
        def kernel(n):
            store(0, lod(n))
        """,
        UNDEFINED,
        "lod is not defined. Did you mean load?",
        "lod",
    ),
    "assigned by one side only": Case(
        """
        def kernel(n, m):
            if n > 3:
                y = m + 1
            store(n, m * y)
        """,
        UNDEFINED,
        "y is not defined: only the then branch of the if in line 3 gives it a value. "
        "Assign it in the else branch as well, or before the if",
        "y",
    ),
    "assigned by the other side only": Case(
        """
        def kernel(n, m):
            if n > 3:
                store(0, n)
            else:
                y = m + 1
            y += 2
        """,
        UNDEFINED,
        "y is not defined: only the else branch of the if in line 3 gives it a value. "
        "Assign it in the then branch as well, or before the if",
        "y",
    ),
    "assigned in a loop only": Case(
        """
        def kernel(n):
            for i in range(n):
                last = load(i)
            store(0, last)
        """,
        UNDEFINED,
        "last is not defined: only the body of the loop in line 3 gives it a value. "
        "Assign it before the loop",
        "last",
    ),
    "read before it is assigned in a loop": Case(
        """
        def kernel(n):
            while n > 0:
                n = n - previous
                previous = n
        """,
        UNDEFINED,
        "previous is not defined",
        "previous",
    ),
    "the variable of a loop behind it": Case(
        """
        def kernel(n):
            for i in range(n):
                store(i, 1)
            store(0, i)
        """,
        UNDEFINED,
        "i is not defined: the variable of the loop in line 3 has no value after the loop",
        "i",
    ),
    "the variable of an inner loop in the next turn": Case(
        """
        def kernel(n):
            i = 5
            for j in range(n):
                store(j, i)
                for i in range(n):
                    store(i, j)
        """,
        UNDEFINED,
        "i is read in the loop, but from the second iteration on i is not defined",
        "range(n)",
    ),
    "assigned in a branch that was not taken": Case(
        """
        def kernel(n, FLAG: constexpr = False):
            if FLAG:
                scale = 2
            store(0, n * scale)
        """,
        UNDEFINED,
        "scale is not defined: the assignment in line 4 has not been executed",
        "scale",
    ),
    "sides of an if": Case(
        """
        def kernel(n):
            if n > 0:
                x = 1.0
            else:
                x = 2
            store(0, x)
        """,
        MISMATCH,
        "Mismatched type for x between then block (f32) and else block (i32)",
        "x = 2",
        (("x = 1.0", "x is f32 here"),),
    ),
    "an if that changes a type": Case(
        """
        def kernel(n):
            x = n
            if n > 0:
                x = 1.5
            store(0, x)
        """,
        MISMATCH,
        "initial value for `x` is of type i32, but the then block redefines it as f32",
        "x = 1.5",
        (("x = n", "x is i32 here"),),
    ),
    "an else that changes a type": Case(
        """
        def kernel(n):
            x = n
            if n > 0:
                x = 1
            else:
                x = (n, n)
            store(0, x)
        """,
        MISMATCH,
        "initial value for `x` is of type i32, but the else block redefines it as (i32, i32)",
        "x = (n, n)",
        (("x = 1", "x is i32 here"),),
    ),
    "None that becomes a value": Case(
        """
        def kernel(n):
            x = None
            if n > 2:
                x = n
            store(0, x)
        """,
        MISMATCH,
        "initial value for `x` is of type None, but the then block redefines it as i32",
        "x = n",
        (("x = None", "x is None here"),),
    ),
    "a loop that changes a type": Case(
        """
        def kernel(n):
            total = 0
            for i in range(n):
                total = total + i
                total = total > 3
            store(0, total)
        """,
        MISMATCH,
        "Loop-carried variable total has initial type i32 but is re-assigned to i1 in loop! "
        "Please make sure that the type stays consistent.",
        "total = total > 3",
        (("total = 0", "total is i32 here"),),
    ),
    "a while that changes a constant": Case(
        """
        def kernel(n):
            k: constexpr = 3
            while n > k:
                k = n + k
        """,
        MISMATCH,
        "cannot reassign constexpr k in the loop: it is constexpr[3] before the loop and i32 ",
        "k = n + k",
        (("k: constexpr = 3", "k is constexpr[3] here"),),
    ),
    "sides of a conditional expression": Case(
        """
        def kernel(n):
            store(0, n + (1 if n > 3 else 2.5))
        """,
        MISMATCH,
        "Ternary expression with dynamic condition has inconsistent types i32 and f32",
        "1 if n > 3 else 2.5",
    ),
    "returns of different types": Case(
        """
        def kernel(n):
            store(0, pick(n))
        @jit
        def pick(n):
            if n > 0:
                return n
            return 0.5
        """,
        BAD_RETURN,
        "Return type mismatch: i32 and f32",
        "return 0.5",
        (("return n", "this returns i32"),),
    ),
    "a kernel that returns a value": Case(
        """
        def kernel(n):
            return n + 1
        """,
        BAD_RETURN,
        "kernel returns i32, but a kernel returns nothing: store the result to memory",
        "return n + 1",
    ),
    "return in a loop": Case(
        """
        def kernel(n):
            for i in range(n):
                if load(i) > 3:
                    return
        """,
        BAD_RETURN,
        "Cannot have `return` statements inside `while` or `for` statements in a kernel",
        "return",
    ),
    "recursion": Case(
        """
        def kernel(n):
            store(0, even(n))
        @jit
        def even(n):
            return odd(n - 1)
        @jit
        def odd(n):
            return even(n - 1)
        """,
        RECURSION,
        "even calls itself",
        "even(n - 1)",
        (
            ("", "the calls are kernel -> even -> odd -> even"),
            ("odd(n - 1)", "called from here, in even"),
            ("even(n)", "called from here, in kernel"),
        ),
    ),
    "deep in calls": Case(
        """
        def kernel(n):
            for i in range(3):
                store(i, outer(n, i) + 1)
        @jit
        def outer(a, b):
            c = a * 2
            return inner(c, b)
        @jit(noinline=True)
        def inner(x, y):
            return x * (y + 1.5)
        """,
        RAISED,
        "i32 and f32 do not mix: convert one of them",
        "y + 1.5",
        (
            ("inner(c, b)", "called from here, in outer"),
            ("outer(n, i)", "called from here, in kernel"),
        ),
    ),
    "an argument too few": Case(
        """
        def kernel(n):
            store(0, helper(n))
        @jit
        def helper(a, b):
            return a + b
        """,
        BAD_CALL,
        "helper(a, b) needs a value for b",
        "helper(n)",
    ),
    "an argument too many": Case(
        """
        def kernel(n):
            store(0, helper(n, 1, 2))
        @jit
        def helper(a, b):
            return a + b
        """,
        BAD_CALL,
        "helper(a, b) takes 2 arguments, got 3",
        "helper(n, 1, 2)",
    ),
    "an unknown keyword": Case(
        """
        def kernel(n):
            store(0, helper(n, c=1))
        @jit
        def helper(a, b=3):
            return a + b
        """,
        BAD_CALL,
        "helper(a, b) has no parameter c",
        "helper(n, c=1)",
    ),
    "an argument given twice": Case(
        """
        def kernel(n):
            store(0, helper(n, a=1))
        @jit
        def helper(a, b=3):
            return a + b
        """,
        BAD_CALL,
        "helper(a, b) got two values for a",
        "helper(n, a=1)",
    ),
    "a function of the language called wrongly": Case(
        """
        def kernel(n):
            store(n)
        """,
        RAISED,
        "store() missing 1 required positional argument: 'value'",
        "store(n)",
    ),
    "an unknown attribute": Case(
        """
        def kernel(n):
            x = n.twice().shape
        """,
        RAISED,
        "'Number' object has no attribute 'shape'",
        "n.twice().shape",
    ),
    "a loop that never ends": Case(
        """
        def kernel(n):
            while 1 < 2:
                n += 1
        """,
        RAISED,
        "the condition is always true, and nothing in a kernel can leave the loop",
        "1 < 2",
    ),
    "a loop over a value": Case(
        """
        def kernel(n):
            for i in n + 1:
                store(i, 1)
        """,
        RAISED,
        "only range and static_range can be looped over",
        "n + 1",
    ),
    "a condition that is no number": Case(
        """
        def kernel(n):
            if n > 0:
                store(0, n)
            elif load:
                store(1, n)
        """,
        RAISED,
        "a condition is a number, not function",
        "load",
    ),
    "unpacking too few": Case(
        """
        def kernel(n):
            a, (b, c, d) = n, (n, n)
        """,
        RAISED,
        "not enough values to unpack (expected 3, got 2)",
        "a, (b, c, d) = n, (n, n)",
    ),
    "unpacking too many": Case(
        """
        def kernel(n):
            a, b = n, n, n
        """,
        RAISED,
        "too many values to unpack (expected 2)",
        "a, b = n, n, n",
    ),
    "unpacking one value": Case(
        """
        def kernel(n):
            a, b = n
        """,
        RAISED,
        "cannot unpack non-iterable value",
        "a, b = n",
    ),
    "a constant declared twice": Case(
        """
        def kernel(n):
            k: constexpr = 3
            k: constexpr = 4
        """,
        MISMATCH,
        "k is already defined. constexpr cannot be reassigned",
        "k: constexpr = 4",
    ),
    "a comprehension over what is not known": Case(
        """
        def kernel(n):
            store(0, [load(i) for i in range(n)])
        """,
        RAISED,
        "a comprehension runs over what is known at compile time",
        "range(n)",
    ),
    "a condition of a comprehension that is not known": Case(
        """
        def kernel(n):
            xs = [i for i in (1, 2) if n > i]
        """,
        RAISED,
        "the condition of a comprehension must be known at compile time",
        "n > i",
    ),
    "inside a comprehension": Case(
        """
        def kernel(n):
            xs = [load(i) + 0.5 for i in (1, 2)]
        """,
        RAISED,
        "i32 and f32 do not mix: convert one of them",
        "load(i) + 0.5",
    ),
    "behind characters of several bytes": Case(
        """
        def kernel(n):
            name: constexpr = "größer"; store(n, name)
        """,
        RAISED,
        "'größer' is not a number",
        "store(n, name)",
    ),
    "an error of Python": Case(
        """
        def kernel(n, K: constexpr = 0):
            store(0, n + 3 // K)
        """,
        RAISED,
        "ZeroDivisionError: integer division or modulo by zero",
        "3 // K",
    ),
    "a value of the surroundings": Case(
        """
        def kernel(n):
            store(0, n + LIMIT)
        """,
        UNDEFINED,
        "LIMIT is not a constexpr",
        "LIMIT",
    ),
}


def lines_of(source: str) -> str:
    """A case's text: the decorator is its first line."""
    return "@jit\n" + "\n".join(line[8:] for line in source.splitlines()[1:]) + "\n"


def error_of(kernel: KernelFunction) -> Diagnostic:
    with pytest.raises(CompileError) as caught:
        traced(kernel)
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


def marked(source: str, diagnostic: Diagnostic) -> str:
    """The text that a diagnostic points at, which is on one line in all these cases."""
    position = diagnostic.location
    if not isinstance(position, SourcePosition) or position.end_column is None:
        return ""
    assert position.file == "kernel.py"
    assert position.end_line == position.line
    return source.splitlines()[position.line - 1][position.column - 1 : position.end_column - 1]


@pytest.mark.parametrize("name", CASES)
def test_wrong_kernels(name: str) -> None:
    case = CASES[name]
    source = lines_of(case.source)
    diagnostic = error_of(compiled(source, LIMIT=5)["kernel"])
    assert diagnostic.message.startswith(case.message)
    assert diagnostic.code == case.code
    assert marked(source, diagnostic) == case.caret
    notes = [(marked(source, note), note.message) for note in diagnostic.notes]
    assert set(case.notes) <= set(notes)


def test_the_text_of_an_error_shows_the_line_although_there_is_no_file() -> None:
    source = lines_of(CASES["sides of an if"].source)
    with pytest.raises(CompileError) as caught:
        traced(compiled(source)["kernel"])
    assert str(caught.value).splitlines()[1:6] == [
        "  6 |         x = 2",
        "    |         ^~~~~",
        "  kernel.py:4:9: note: x is f32 here",
        "    4 |         x = 1.0",
        "      |         ^~~~~~~",
    ]


def test_a_method_on_a_later_line_is_marked_where_it_stands() -> None:
    source = "@jit\ndef kernel(n):\n    x = (n\n         .twice()\n         .twice(plus=1.5))\n"
    diagnostic = error_of(compiled(source)["kernel"])
    assert marked(source, diagnostic) == "twice(plus=1.5)"


def test_notes_of_an_exception_are_notes_of_the_error() -> None:
    def fail() -> None:
        error = ValueError("it failed")
        error.add_note("and here is why")
        raise error

    diagnostic = error_of(compiled("@jit\ndef kernel():\n    fail()\n", fail=fail)["kernel"])
    assert diagnostic.message == "it failed"
    assert diagnostic.notes[0].message == "and here is why"


def test_a_compile_error_passes_through_as_it_is() -> None:
    source = "@jit\ndef kernel(n):\n    again(n)\n"
    inner = compiled("@jit\ndef kernel(n):\n    store(n)\n", file="inner.py")["kernel"]
    kernel = compiled(source, again=lambda n: traced(inner))["kernel"]
    diagnostic = error_of(kernel)
    assert str(diagnostic.trail.primary) == "inner.py:3:5"


def test_an_error_of_the_compiler_keeps_its_traceback() -> None:
    def broken() -> None:
        raise KeyError("lost")

    kernel = compiled("@jit\ndef kernel():\n    broken()\n", broken=broken)["kernel"]
    with pytest.raises(CompileError) as caught:
        traced(kernel)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.diagnostics[0].message == "KeyError: 'lost'"


def test_an_error_of_the_author_needs_no_traceback() -> None:
    with pytest.raises(CompileError) as caught:
        traced(compiled("@jit\ndef kernel(n):\n    store(n)\n")["kernel"])
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@jit
def alone(n):
    return load(n)


def test_a_kernel_function_is_not_called_outside_of_kernels() -> None:
    with pytest.raises(RuntimeError, match=r"alone is a kernel function.*alone\[grid\]"):
        alone(3)


def test_functions_of_the_language_are_not_called_outside_of_kernels() -> None:
    with pytest.raises(RuntimeError, match="call it inside a function decorated with @jit"):
        store(1, 2)


def test_missing_source_is_told() -> None:
    namespace = {"jit": jit}
    lines = ["@jit", "def kernel(n):", "    pass"]  # the whole text is in no variable
    exec(compile("\n".join(lines), "<nowhere>", "exec"), namespace)
    diagnostic = error_of(namespace["kernel"])
    assert diagnostic.code == SOURCE
    assert "the source of kernel is not available (file '<nowhere>')" in diagnostic.message


def test_an_error_may_bring_its_place_along() -> None:
    def fail() -> None:
        raise FrontendError("there", SourcePosition("kernel.py", 1, 1, 1, 5), code="TW1099")

    source = "@jit\ndef kernel():\n    fail()\n"
    diagnostic = error_of(compiled(source, fail=fail)["kernel"])
    assert (marked(source, diagnostic), diagnostic.code) == ("@jit", "TW1099")
