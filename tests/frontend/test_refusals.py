"""Python that a kernel cannot use: refused where it stands, with what to write instead."""

from __future__ import annotations

import pytest

from tests.frontend.mini import compiled, lines, traced
from tilewright.frontend.errors import UNSUPPORTED
from tilewright.ir.diagnostics import CompileError, SourcePosition

# Statement, the text under the caret, how the message begins.
REFUSED = {
    "break": ("for i in range(n): break", "break", "break is not supported"),
    "continue": ("for i in range(n): continue", "continue", "continue is not supported"),
    "try": ("try:\n        pass\n    except ValueError:\n        pass", "try", "try is not supp"),
    "try star": (
        "try:\n        pass\n    except* ValueError:\n        pass",
        "try",
        "try is not supported",
    ),
    "raise": ("raise ValueError(n)", "raise ValueError(n)", "raise is not supported"),
    "global": ("global other", "global other", "global is not supported"),
    "def": ("def f(x):\n        return x", "def", "a nested function is not supported"),
    "async def": ("async def f(x):\n        return x", "async def", "async def is not supported"),
    "class": ("class C:\n        pass", "class", "class is not supported"),
    "lambda": ("f = lambda x: x", "lambda x: x", "lambda is not supported"),
    "del": ("del n", "del n", "del is not supported"),
    "import": ("import math", "import math", "import is not supported"),
    "from import": ("from math import pi", "from math import pi", "import is not supported"),
    "match": ("match n:\n        case 1:\n            pass", "match", "match is not supported"),
    "yield": ("yield n", "yield n", "yield is not supported"),
    "yield from": ("yield from (n, n)", "yield from (n, n)", "yield from is not supported"),
    "dictionary": ("d = {1: n}", "{1: n}", "a dictionary is not supported"),
    "set": ("s = {n}", "{n}", "a set is not supported"),
    "generator": ("g = (x for x in (n, n))", "(x for x in (n, n))", "a generator expression"),
    "dictionary comprehension": (
        "d = {x: n for x in (1, 2)}",
        "{x: n for x in (1, 2)}",
        "a dictionary comprehension is not supported",
    ),
    "set comprehension": ("s = {x for x in (1, 2)}", "{x for x in (1, 2)}", "a set comprehension"),
    "nested comprehension": (
        "s = [x for x in (1, 2) for y in (1, 2)]",
        "[x for x in (1, 2) for y in (1, 2)]",
        "a comprehension with several for",
    ),
    "element": ("n[0] = 1", "n[0]", "assignment to an element is not supported"),
    "element of a pair": ("a, n[0] = 1, 2", "n[0]", "assignment to an element is not supported"),
    "augmented element": ("n[0] += 1", "n[0]", "assignment to an element is not supported"),
    "attribute": ("n.x = 1", "n.x", "assignment to an attribute is not supported"),
    "annotated attribute": ("n.x: int = 1", "n.x", "assignment to an attribute is not supported"),
    "star": ("a, *b = n, n, n", "*b", "a starred target is not supported"),
    "star in a loop": ("for a, *b in ((1, 2),): pass", "*b", "a starred target is not supported"),
    "matmul": ("x = n @ n", "n @ n", "@ is not supported in a kernel: use dot(a, b)"),
    "augmented matmul": ("n @= n", "n @= n", "@ is not supported in a kernel: use dot(a, b)"),
    "keywords": ("store(**n)", "store(**n)", "** is not supported"),
    "for else": ("for i in range(n):\n        pass\n    else:\n        n", "n", "else after for"),
    "while else": ("while n > 0:\n        n\n    else:\n        pass", "pass", "else after while"),
    "walrus in while": ("while (k := load(n)) > 0: pass", "(k := load(n)) > 0", ":= in the cond"),
    "walrus in a choice": (
        "x = (y := n) if n > 0 else 1",
        "(y := n) if n > 0 else 1",
        ":= in",
    ),
    "return in with": (
        "with manager():\n        return",
        "with manager():",
        "return inside with is not supported",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    statement, caret, message = REFUSED[name]
    source = f"@jit\ndef kernel(n):\n    {statement}\n"
    with pytest.raises(CompileError) as caught:
        traced(compiled(source)["kernel"])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.message.startswith(message)
    assert ": " in diagnostic.message  # what to do instead
    assert diagnostic.code == UNSUPPORTED
    position = diagnostic.location
    assert isinstance(position, SourcePosition)
    line = source.splitlines()[position.line - 1]
    end = None if position.end_line != position.line else position.end_column
    assert line[position.column - 1 : None if end is None else end - 1] == caret


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_executed_does_no_harm(name: str) -> None:
    statement = REFUSED[name][0].replace("\n", "\n    ")
    source = f"""\
@jit
def kernel(n, FLAG: constexpr):
    if FLAG:
        {statement}
    store(0, n)
"""
    kernel = compiled(source)["kernel"]
    assert "tt.call @store(0, %n) : (i32, i32) -> ()" in lines(kernel, FLAG=False)


def test_every_refusal_of_a_function_is_listed() -> None:
    source = "@jit\ndef kernel(n):\n    del n\n    x = {n}\n"
    refused = compiled(source)["kernel"].rewritten.refused
    assert [each.message.split(" is ")[0] for each in refused] == ["del", "a set"]
