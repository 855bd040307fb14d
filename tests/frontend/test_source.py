"""Source is found wherever Python got it from, exactly, and with its positions."""

from __future__ import annotations

import ast
import importlib.util
import linecache
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.frontend.mini import compiled, jit, lines, traced
from tilewright.frontend.errors import FrontendError
from tilewright.frontend.source import read_source
from tilewright.ir.diagnostics import CompileError


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


def with_options(*_: object, **__: object) -> Callable[..., Any]:
    return decorated


def test_decorators_belong_to_the_source() -> None:
    @decorated
    @with_options(
        1,
        name="x",
    )
    def function(n):
        return n

    source = read_source(function)
    assert source.text.splitlines()[0].strip() == "@decorated"
    assert source.text.rstrip().endswith("return n")
    assert source.first_line == function.__code__.co_firstlineno
    assert source.tree.name == "function"
    assert source.tree.lineno == source.first_line + 5
    assert source.tree.col_offset == 4


def test_parameters_over_several_lines_and_text_at_the_margin() -> None:
    source = """\
if True:
    @jit
    def kernel(
        n,
    ):
# a comment
        return (
    n
)
    x = 1
"""
    found = read_source(compiled(source)["kernel"].fn)
    assert found.text.splitlines() == source.splitlines()[1:9]
    assert isinstance(found.tree.body[0], ast.Return)


def test_strings_may_hang_out() -> None:
    def function(n):
        text = """
def other():
    pass
"""
        return text

    tree = read_source(function).tree
    assert isinstance(tree.body[0], ast.Assign)
    assert isinstance(tree.body[0].value, ast.Constant)
    assert tree.body[0].value.value == "\ndef other():\n    pass\n"


def test_long_strings_are_those_of_the_function_at_the_margin() -> None:
    def function(n):
        text = """
            first {
        second
            """
        other = f"""{n}
          third"""
        return text, other, "in    one line"

    tree = read_source(function).tree
    strings = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    assert "\n        first {\n    second\n        " in strings
    assert "\n      third" in strings
    assert "in    one line" in strings
    assert tree.body[0].col_offset == 8  # only values change, places do not


def test_functions_on_one_line() -> None:
    def function(n): return n  # fmt: skip

    assert isinstance(read_source(function).tree.body[0], ast.Return)


def test_a_function_at_the_end_of_a_file_without_a_line_break() -> None:
    kernel = compiled("@jit\ndef kernel(n):\n    store(0, n)")["kernel"]
    assert lines(kernel)[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"


def test_tabs() -> None:
    kernel = compiled("if 1:\n\t@jit\n\tdef kernel(n):\n\t\tstore(0, n)\n")["kernel"]
    assert lines(kernel)[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"


def test_a_function_that_is_defined_twice_is_the_one_that_runs() -> None:
    names = compiled(
        "@jit\ndef kernel(n):\n    store(1, n)\nfirst = kernel\n"
        "@jit\ndef kernel(n):\n    store(2, n)\n"
    )
    assert "@store(1," in lines(names["first"])[0]
    assert "@store(2," in lines(names["kernel"])[0]


def test_the_text_of_a_function() -> None:
    source = "@jit\ndef kernel(n):\n    pass\n\n\n@jit\ndef other(n):\n    pass\n"
    names = compiled(source)
    assert names["kernel"].source.rstrip() == "@jit\ndef kernel(n):\n    pass"
    assert names["other"].source == "@jit\ndef other(n):\n    pass\n"
    assert (names["other"].file, names["other"].first_line) == ("kernel.py", 6)


def test_a_file_on_disk(tmp_path: Path) -> None:
    path = tmp_path / "module_on_disk.py"
    path.write_text(
        "from tests.frontend.mini import *\n\n\n@jit\ndef kernel(n):\n    store(0, n)\n",
        encoding="utf-8",
    )
    spec = importlib.util.spec_from_file_location("module_on_disk", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert lines(module.kernel)[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"


def test_a_file_that_changed_is_told(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    path.write_text("def kernel(n):\n    return n\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    path.write_text("x = 1\n", encoding="utf-8")
    linecache.clearcache()
    with pytest.raises(FrontendError, match="the file changed after it was imported"):
        read_source(names["kernel"])


def test_a_file_that_became_shorter_is_told(tmp_path: Path) -> None:
    path = tmp_path / "shrinking.py"
    source = "\n\n\ndef kernel(n):\n    return n\n"
    path.write_text("x = 1\n", encoding="utf-8")
    names: dict[str, Any] = {}
    exec(compile(source, str(path), "exec"), names)
    with pytest.raises(FrontendError, match="the source of kernel is not available"):
        read_source(names["kernel"])


def test_a_lambda_is_refused() -> None:
    kernel = jit(lambda n: n)
    with pytest.raises(CompileError, match="a lambda cannot be a kernel function"):
        traced(kernel)


def test_an_async_function_is_refused() -> None:
    kernel = compiled("@jit\nasync def kernel(n):\n    pass\n")["kernel"]
    with pytest.raises(CompileError, match="kernel is an async function"):
        traced(kernel)


@pytest.mark.filterwarnings("error")
def test_warnings_of_python_are_not_repeated(recwarn: pytest.WarningsRecorder) -> None:
    source = "@jit\ndef kernel(n):\n    s: constexpr = '\\d'\n    if 3 is 3:\n        store(0, n)\n"
    with pytest.warns(SyntaxWarning):
        kernel = compiled(source)["kernel"]
    assert lines(kernel)[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"


def test_the_rewriting_is_done_once() -> None:
    kernel = compiled("@jit\ndef kernel(n):\n    store(0, n)\n")["kernel"]
    assert kernel.rewritten is kernel.rewritten
    traced(kernel)
    code = kernel.rewritten.code
    traced(kernel)
    assert kernel.rewritten.code is code


def test_a_long_file_costs_no_more_than_its_function() -> None:
    """Only the lines of the function are parsed."""
    noise = "this is not Python at all (\n" * 5000
    source = "@jit\ndef kernel(n):\n    store(0, n)\n"
    names = compiled(source)
    linecache.cache["kernel.py"] = (
        1,
        None,
        (source + "\n" + noise).splitlines(keepends=True),
        "kernel.py",
    )
    assert lines(names["kernel"])[0] == "tt.call @store(0, %n) : (i32, i32) -> ()"
