"""Tracing small kernels, and the text of what comes out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tilewright import T
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import print_module


def module_text(function: Callable[..., Any]) -> str:
    """The module of a kernel; its text is read back and must come out the same."""
    text = T.prim_func(function).script()
    assert print_module(IRParser(make_context(), text).parse_module()) == text
    return text


def body(function: Callable[..., Any]) -> str:
    """The ops of the first kernel of `function`, without indentation of the kernel's own."""
    lines = module_text(function).splitlines()
    start = next(at for at, line in enumerate(lines) if "tile.kernel" in line)
    end = next(at for at, line in enumerate(lines) if at > start and line == "    }")
    return "\n".join(line[6:] for line in lines[start + 1 : end])


def ops(text: str) -> list[str]:
    """The names of the ops of a text, in order."""
    dialects = "tile|arith|memref|scf|nv|gpu|math"
    return re.findall(rf"^\s*(?:%[\w, %]+ = )?((?:{dialects})\.[\w.]+)", text, re.M)


def without_constants(text: str) -> list[str]:
    return [op for op in ops(text) if op != "arith.constant"]


def mistake(function: Callable[..., Any]) -> str:
    """The first line of the error of a wrong kernel, without the file, and its code."""
    with pytest.raises(CompileError) as caught:
        T.prim_func(function)
    first = str(caught.value).splitlines()[0]
    return re.sub(r"^.*?: error", "error", first)


def position(function: Callable[..., Any]) -> tuple[int, str]:
    """The line of the error, counted from the ``def``, and what the caret underlines."""
    with pytest.raises(CompileError) as caught:
        T.prim_func(function)
    shown = str(caught.value).splitlines()
    found = re.match(r"^.*?:(\d+):\d+: error", shown[0])
    assert found is not None
    line = int(found[1])
    source, carets = shown[1], shown[2]
    start = carets.index("^")
    end = len(carets.rstrip())
    return line - function.__code__.co_firstlineno, source[start:end]
