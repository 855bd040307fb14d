"""A name for everything that decides what a kernel function is traced into, without tracing it.

The IR of a kernel follows from its text, from the kernel functions it calls, from the values it
captures, and from the arguments it is specialised for. All of these can be read off the Python
objects, so a process that finds the name on disk has its machine code in milliseconds.

    of a function     its code with lines, file and constants; defaults; what its global and
                      enclosing names stand for, as far as its language may capture them
    of a module       what stands there under the names that the functions around it mention
    of a value        its type and its value; tuples, dicts and dataclasses by their parts

What cannot be named like this (an object with state of its own, met by a function that runs while
the kernel is compiled) has no fingerprint: then the kernel is traced, and found by its IR.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, cast

import numpy as np

from tilewright.frontend.captures import Capture, capture_of, look_up
from tilewright.frontend.function import KernelFunction
from tilewright.language.tl.constexpr import ConstexprFunction, constexpr
from tilewright.language.tl.extern import ExternFunction

_OWN = "tilewright"
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class Nameless(Exception):
    """Something was met that has no fingerprint."""


class Fingerprint:
    """The name of one kernel for one kind of arguments, and the names it looked up for that."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.captured: list[Capture] = []
        self._seen: dict[int, str] = {}
        self._keep: list[object] = []

    def add(self, value: object) -> None:
        """Take in `value`; raises `Nameless`."""
        self.parts.append(self._of(value, frozenset()))

    @property
    def text(self) -> str:
        return "\n".join(self.parts)

    def _of(self, value: Any, names: frozenset[str]) -> str:
        if isinstance(value, _SIMPLE) and type(value).__module__ == "builtins":
            return f"{type(value).__name__} {value!r}"
        known = self._seen.get(id(value))
        if known is not None:
            return known
        # The id stays taken while this object lives; a cycle meets the number of its beginning.
        self._seen[id(value)] = f"see {len(self._seen)}"
        self._keep.append(value)
        text = self._described(value, names)
        if not isinstance(value, ModuleType):
            return text
        # The same module says more to a function that mentions more of it.
        del self._seen[id(value)]
        return text

    def _described(self, value: Any, names: frozenset[str]) -> str:
        kind = cast("type[Any]", type(value))
        if isinstance(value, KernelFunction):
            return f"kernel function {value.noinline} {self._function(value.fn, strict=False)}"
        if isinstance(value, (ConstexprFunction, ExternFunction)):
            return f"{kind.__name__} {self._of(cast('Any', value).__wrapped__, names)}"
        if isinstance(value, constexpr):
            return f"constexpr {self._of(cast('Any', value).value, names)}"
        if isinstance(value, FunctionType):
            return f"function {self._function(value, strict=True)}"
        if isinstance(value, ModuleType):
            return self._module(value, names)
        if isinstance(value, type):
            return self._class(cast("type[Any]", value), names)
        if _is_ours(kind):
            return f"{kind.__qualname__} {value!r}"
        return self._data(value, names)

    def _data(self, value: Any, names: frozenset[str]) -> str:
        kind = cast("type[Any]", type(value))
        title = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, enum.Enum):
            return f"{title} {value.name}"
        if isinstance(value, (tuple, list)):
            items = cast("list[object]", value)
            return f"{title} [{', '.join(self._of(each, names) for each in items)}]"
        if isinstance(value, (set, frozenset)):
            members = cast("frozenset[object]", value)
            return f"{title} {{{', '.join(sorted(self._of(each, names) for each in members))}}}"
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            inner = (f"{self._of(key, names)}: {self._of(each, names)}" for key, each in pairs)
            return f"{title} {{{', '.join(inner)}}}"
        if isinstance(value, (np.generic, np.dtype)):
            return f"{title} {value!r}"
        if isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
            return f"partial {', '.join(self._of(each, names) for each in parts)}"
        if is_dataclass(value):
            parts = (self._of(getattr(value, each.name), names) for each in fields(value))
            return f"{title}({', '.join(parts)})"
        if type(value).__module__ == "builtins" and callable(value):
            return f"built in {getattr(value, '__qualname__', '')}"
        raise Nameless(title)

    def _function(self, function: FunctionType, *, strict: bool) -> str:
        if _is_ours(function):
            return f"{function.__module__}.{function.__qualname__}"
        names = frozenset(_names(function.__code__))
        parts = [
            f"{function.__module__}.{function.__qualname__}",
            code_text(function.__code__),
            repr(sorted((name, str(kind)) for name, kind in function.__annotations__.items())),
            self._of(function.__defaults__, names),
            self._of(function.__kwdefaults__, names),
        ]
        free = set(function.__code__.co_freevars)
        for name in sorted(names | free):
            if name not in free and name not in function.__globals__:
                continue
            parts.append(f"{name} = {self._around(function, name, names, strict=strict)}")
        return "\n".join(parts)

    def _around(
        self, function: FunctionType, name: str, names: frozenset[str], *, strict: bool
    ) -> str:
        """What `name` stands for around `function`."""
        value = look_up(function, name)
        if not strict:
            # A kernel that met anything else would not have been traced to an end.
            if not (value is None or isinstance(value, _CAPTURED) or _is_ours(value)):
                return "not for kernels"
            self.captured.append(capture_of(function, name, value))
        return self._of(value, names)

    def _module(self, module: ModuleType, names: frozenset[str]) -> str:
        top = module.__name__.partition(".")[0]
        if top == _OWN or top in sys.stdlib_module_names:
            return f"module {module.__name__}"
        mentioned = sorted(name for name in names if name in module.__dict__)
        inner = [f"{name} = {self._of(module.__dict__[name], names)}" for name in mentioned]
        return f"module {module.__name__} {{{', '.join(inner)}}}"

    def _class(self, kind: type[Any], names: frozenset[str]) -> str:
        title = f"class {kind.__module__}.{kind.__qualname__}"
        if (
            _is_ours(kind)
            or kind.__module__ in sys.stdlib_module_names
            or kind.__flags__ & (1 << 8)
        ):
            return title
        inner: list[str] = []
        for base in kind.__mro__[:-1]:
            for name, value in sorted(vars(base).items(), key=lambda each: each[0]):
                if isinstance(value, (FunctionType, KernelFunction, ConstexprFunction)):
                    inner.append(f"{name} = {self._of(value, names)}")
                elif isinstance(value, _SIMPLE) or name == "_fields":
                    inner.append(f"{name} = {value!r}")
        return f"{title} {{{', '.join(inner)}}}"


_CAPTURED = (
    ModuleType,
    KernelFunction,
    ConstexprFunction,
    ExternFunction,
    constexpr,
    type,
    np.dtype,
)


def _is_ours(value: object) -> bool:
    """Whether `value` is part of Tilewright, whose state is part of every key anyway."""
    module = str(getattr(value, "__module__", ""))
    return module == _OWN or module.startswith(_OWN + ".")


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def code_text(code: CodeType) -> str:
    """Everything a code object says, positions in its file included."""
    constants = [
        code_text(each) if isinstance(each, CodeType) else _constant(each)
        for each in code.co_consts
    ]
    parts = (
        code.co_filename,
        code.co_firstlineno,
        code.co_code.hex(),
        code.co_linetable.hex(),
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_argcount,
        code.co_kwonlyargcount,
        code.co_flags,
    )
    return f"{parts!r} {constants!r}"


def _constant(value: object) -> str:
    if isinstance(value, frozenset):
        return repr(sorted(map(repr, value)))
    if isinstance(value, tuple):
        return f"({', '.join(_constant(each) for each in cast('tuple[object, ...]', value))})"
    return f"{type(value).__name__} {value!r}"
