"""What the user would print next: what the names under the caret of an error stand for.

    k.py:15:9: error[TW1010]: shapes [64] and [32] do not broadcast
      15 |     z = x + y
         |         ^~~~~
      note: x is fp32[64] (line 12), y is fp32[32] (line 13)

and, where a call itself did not fit, how the function wants to be called. All of it is read from
the frame in which the kernel function stopped, so it costs nothing unless there is an error.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import linecache
import re
from collections.abc import Iterable, Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any, Protocol, cast

from tilewright.frontend.locations import Instruction, Span
from tilewright.frontend.syntax import CONTROL
from tilewright.frontend.values import Value, parts_of
from tilewright.ir.diagnostics import SourcePosition

MAX_SHOWN = 6
_NAME = re.compile(r"(?<![.\w])[^\W\d]\w*")
_KNOWN = (bool, int, float, str, type(None))
_NO_SUCH_KEYWORD = re.compile(r"got an unexpected keyword argument '(\w+)'")
_BAD_CALL = re.compile(r"\(\) (missing|takes|got) ")


class _Control(Protocol):
    """What of the run-time of a kernel function is needed here."""

    assignments: Mapping[str, Instruction]

    def position(self, instruction: Instruction | None) -> SourcePosition | None: ...


def source_text(file: str, span: Span) -> str:
    """The part of `file` that `span` covers; columns of a span count bytes."""
    first, last, start, end = span
    lines = [linecache.getline(file, line).encode() for line in range(first, last + 1)]
    if not lines:
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b"".join(lines).decode(errors="replace")


# -- variables -------------------------------------------------------------------------------


def variables_in(text: str, frame: FrameType) -> str:
    """`x is fp32[64] (line 12), N = 96`: what the names in `text` stand for, "" without any."""
    control = cast("_Control | None", frame.f_locals.get(CONTROL))
    shown = list(_described(dict.fromkeys(_NAME.findall(text)), frame, control))
    return ", ".join(shown[:MAX_SHOWN]) + (", ..." if len(shown) > MAX_SHOWN else "")


def _described(names: Iterable[str], frame: FrameType, control: _Control | None) -> Iterator[str]:
    for name in names:
        text = _holding(_look_up(name, frame))
        if text is None:
            continue
        position = None if control is None else control.position(control.assignments.get(name))
        yield f"{name} {text}" + ("" if position is None else f" (line {position.line})")


_ABSENT = object()


def _look_up(name: str, frame: FrameType) -> object:
    # `get` of the globals looks nothing up that the kernel has not used.
    return frame.f_locals.get(name, frame.f_globals.get(name, _ABSENT))


def _holding(value: object) -> str | None:
    """What is worth telling about a value; None for functions, modules and the like."""
    if isinstance(value, Value):
        return f"is {value}".removesuffix("[]")
    if isinstance(value, _KNOWN):
        return f"= {value!r}"
    parts = parts_of(value)
    if parts is None or not all(isinstance(part, (Value, *_KNOWN)) for part in parts):
        return None
    return f"= ({', '.join(str(part).removesuffix('[]') for part in parts)})"


# -- calls -----------------------------------------------------------------------------------


def hint_for_call(error: Exception, text: str, frame: FrameType) -> str | None:
    """How to call the function of the call `text` in `frame`, which raised `error` at once."""
    called = _called(text, frame)
    if called is None or not isinstance(error, TypeError):
        return None
    spelling, function = called
    module = str(getattr(function, "__module__", "") or type(function).__module__)
    if module.partition(".")[0] in ("numpy", "math"):
        return _foreign_function(spelling, frame)
    return _signature(error, spelling, function) if _BAD_CALL.search(str(error)) else None


def _called(text: str, frame: FrameType) -> tuple[str, Any] | None:
    """What a call calls, as it is written and what that is; None if `text` is no plain call."""
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if not isinstance(node, ast.Call):
        return None
    names: list[str] = []
    function = node.func
    while isinstance(function, ast.Attribute):
        names.append(function.attr)
        function = function.value
    if not isinstance(function, ast.Name):
        return None
    found = _look_up(function.id, frame)
    for name in reversed(names):
        found = getattr(found, name, _ABSENT)
    return None if found is _ABSENT else (ast.unparse(node.func), found)


def _signature(error: TypeError, spelling: str, function: Any) -> str | None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    parameters = [
        each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()
    ]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    unknown = _NO_SUCH_KEYWORD.search(str(error))
    near = nearest(unknown.group(1), signature.parameters) if unknown else None
    return (f"did you mean {near}=? " if near else "") + f"it is called as {spelling}{plain}"


def _foreign_function(spelling: str, frame: FrameType) -> str:
    """A function of the host was given a value of the kernel."""
    name = spelling.rpartition(".")[2]
    languages = {
        found: module
        for found, module in frame.f_globals.items()
        if isinstance(module, ModuleType) and module.__name__.startswith("tilewright.language")
    }
    owner = next((each for each, module in languages.items() if hasattr(module, name)), None)
    use = f"use {owner}.{name}" if owner else "use a function of the kernel's language"
    return f"{spelling} computes on the host, when the kernel is compiled: {use}"


# -- attributes ------------------------------------------------------------------------------


def hint_for_attribute(error: AttributeError) -> str | None:
    """What the user of a missing attribute may have meant."""
    owner, name = error.obj, error.name
    if owner is None or name is None:
        return None
    if isinstance(owner, Value) and name in owner.elsewhere:
        return f"write {owner.elsewhere[name]}"
    near = nearest(name, (each for each in dir(owner) if not each.startswith("_")))
    return f"did you mean {near}?" if near else None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `name` may be a misspelling of."""
    # Of names that differ in their case only, the one that starts as `name` does comes last.
    is_upper = name[:1].isupper()
    ordered = sorted(known, key=lambda each: each[:1].isupper() == is_upper)
    by_letters = {each.lower().replace("_", ""): each for each in ordered}
    near = difflib.get_close_matches(
        name.lower().replace("_", ""), sorted(by_letters), n=1, cutoff=0.7
    )
    return by_letters[near[0]] if near else None
