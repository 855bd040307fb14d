"""A name for everything that decides what a kernel function is traced into, without tracing it.

The IR of a kernel follows from its text, from the kernel functions it calls, from the values it
captures, and from the arguments it is specialised for. All of these can be read off the Python
objects, so a process that finds the name on disk has its machine code in milliseconds.

    of a function     its code with lines, file and constants, a kernel's text too; defaults; what
                      its global and enclosing names stand for, as far as its language may capture
                      them
    of a module       what is there under the names that the functions around it mention
    of a value        its type and its value; tuples, dicts and dataclasses by their parts; the
                      user's classes with their methods

What cannot be named like this has no fingerprint: an object with state of its own, a function that
runs while the kernel is compiled and reads the system or imports, names put together at run time
(``getattr``, ``globals()``). Then the kernel is traced, and found by its IR.
"""

from __future__ import annotations

import enum
import opcode
import sys
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, NamedTuple, cast

import numpy as np

from tilewright.frontend.captures import Capture, captures_of, look_up
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.unsaved_source import file_of
from tilewright.language.tl.constexpr import ConstexprFunction, constexpr
from tilewright.language.tl.extern import ExternFunction

_OWN = "tilewright"


class _Pair(NamedTuple):
    first: int


# Positions of fields, which carry nothing besides their names.
_DESCRIPTORS: tuple[type[Any], ...] = (
    GetSetDescriptorType,
    MemberDescriptorType,
    cast("type[Any]", type(vars(_Pair)["first"])),
)
# Modules of the standard library that are fixed by the Python version.
_PURE = frozenset(
    {
        "__future__",
        "_thread",
        "abc",
        "builtins",
        "cmath",
        "collections",
        "copy",
        "dataclasses",
        "enum",
        "fractions",
        "functools",
        "itertools",
        "math",
        "numbers",
        "operator",
        "string",
        "types",
        "typing",
    }
)
# Built-in functions whose reads do not appear in the code, or whose results vary.
_OPEN_ENDED = frozenset(
    {
        "__import__",
        "compile",
        "dir",
        "eval",
        "exec",
        "getattr",
        "globals",
        "id",
        "input",
        "locals",
        "open",
        "vars",
    }
)
_IMPORT = opcode.opmap["IMPORT_NAME"]
_SIMPLE = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))


class Nameless(Exception):
    """An object has no fingerprint."""


class Fingerprint:
    """The name of one kernel for one kind of arguments, and the names it looked up for that."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.captured: list[Capture] = []
        self._seen: dict[object, str] = {}
        self._keep: list[object] = []

    def add(self, value: object) -> None:
        """Take in `value`; raises `Nameless`."""
        self.parts.append(self._of(value, frozenset()))

    @property
    def text(self) -> str:
        return "\n".join(self.parts)

    def _of(self, value: Any, names: Names = None) -> str:
        """`names` are those that the function around mentions; None inside of other values."""
        if isinstance(value, _SIMPLE) and type(value).__module__ == "builtins":
            return f"{type(value).__name__} {value!r}"
        # A function that mentions more of a module depends on more of it.
        key = (id(value), names) if isinstance(value, ModuleType) else id(value)
        known = self._seen.get(key)
        if known is not None:
            return known
        # The id stays taken while this object lives; a cycle refers to the index of its beginning.
        self._seen[key] = f"see {len(self._seen)}"
        self._keep.append(value)
        return self._described(value, names)

    def _described(self, value: Any, names: Names) -> str:
        kind = cast("type[Any]", type(value))
        if isinstance(value, KernelFunction):
            text = _text(value)
            return (
                f"kernel function {value.noinline} {self._function(value.fn, strict=False)}{text}"
            )
        if isinstance(value, (ConstexprFunction, ExternFunction)):
            return f"{kind.__name__} {self._of(cast('Any', value).__wrapped__)}"
        if isinstance(value, constexpr):
            return f"constexpr {self._of(cast('Any', value).value)}"
        if isinstance(value, FunctionType):
            return f"function {self._function(value, strict=True)}"
        if isinstance(value, ModuleType):
            return self._module(value, names)
        if isinstance(value, type):
            return self._class(cast("type[Any]", value))
        if _is_ours(kind):
            return f"{kind.__qualname__} {value!r}"
        return self._data(value)

    def _data(self, value: Any) -> str:
        kind = cast("type[Any]", type(value))
        if isinstance(value, (np.generic, np.dtype)):
            return f"{kind.__qualname__} {value!r}"
        title = self._of(kind)  # its methods may be called while the kernel is compiled
        if isinstance(value, enum.Enum):
            return f"{title} {value.name}"
        if isinstance(value, (tuple, list)):
            items = cast("list[object]", value)
            return f"{title} [{', '.join(self._of(each) for each in items)}]"
        if isinstance(value, (set, frozenset)):
            members = cast("frozenset[object]", value)
            return f"{title} {{{', '.join(sorted(self._of(each) for each in members))}}}"
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            inner = (f"{self._of(key)}: {self._of(each)}" for key, each in pairs)
            return f"{title} {{{', '.join(inner)}}}"
        if isinstance(value, partial):
            parts = (value.func, value.args, value.keywords)
            return f"partial {', '.join(self._of(each) for each in parts)}"
        if is_dataclass(value):
            parts = (self._of(getattr(value, each.name)) for each in fields(value))
            return f"{title}({', '.join(parts)})"
        if type(value).__module__ == "builtins" and callable(value):
            return f"built in {getattr(value, '__qualname__', '')}"
        raise Nameless(title)

    def _function(self, function: FunctionType, *, strict: bool) -> str:
        if _is_ours(function):
            return f"{function.__module__}.{function.__qualname__}"
        home = str(function.__globals__.get("__name__", ""))
        if _is_standard(home):
            # Of a decorator of Python's, what it decorates.
            cells = function.__closure__ or ()
            inner = ", ".join(self._of(cell.cell_contents) for cell in cells)
            return f"{_pure(home)}.{function.__qualname__} {inner}"
        names = frozenset(_names(function.__code__))
        self._refuse_what_is_open_ended(function, names, strict=strict)
        parts = [
            f"{function.__module__}.{function.__qualname__}",
            code_text(function.__code__),
            repr(sorted((name, str(kind)) for name, kind in function.__annotations__.items())),
            self._of(function.__defaults__),
            self._of(function.__kwdefaults__),
        ]
        free = set(function.__code__.co_freevars)
        for name in sorted(names | free):
            if name not in free and name not in function.__globals__:
                continue
            parts.append(f"{name} = {self._around(function, name, names, strict=strict)}")
        return "\n".join(parts)

    def _refuse_what_is_open_ended(
        self, function: FunctionType, names: frozenset[str], *, strict: bool
    ) -> None:
        for name in sorted(names & _OPEN_ENDED):
            if name not in function.__globals__ and name not in function.__code__.co_freevars:
                raise Nameless(name)
        if strict and _imports(function.__code__):
            raise Nameless("import")

    def _around(
        self, function: FunctionType, name: str, names: frozenset[str], *, strict: bool
    ) -> str:
        """What `name` stands for around `function`."""
        value = look_up(function, name)
        if not strict:
            # A kernel that read anything else could not have been traced.
            if not (value is None or isinstance(value, _CAPTURED) or _is_ours(value)):
                return "not for kernels"
            self.captured += captures_of(function, name, value)
        return self._of(value, names)

    def _module(self, module: ModuleType, names: Names) -> str:
        if module.__name__.partition(".")[0] == _OWN:
            return f"module {module.__name__}"
        if _is_standard(module.__name__):
            return f"module {_pure(module.__name__)}"
        if names is None:
            raise Nameless(module.__name__)  # its reads are unknown
        mentioned = sorted(name for name in names if name in module.__dict__)
        inner = [f"{name} = {self._of(module.__dict__[name], names)}" for name in mentioned]
        return f"module {module.__name__} {{{', '.join(inner)}}}"

    def _class(self, kind: type[Any]) -> str:
        title = f"class {kind.__module__}.{kind.__qualname__}"
        if _is_fixed(kind):
            return title
        inner: list[str] = []
        if issubclass(kind, enum.Enum):
            inner.append(self._of({member.name: member.value for member in kind}))
        for base in kind.__mro__[:-1]:
            if not _is_fixed(base):
                inner.append(base.__qualname__)
                inner += self._attributes(base)
        return f"{title} {{{', '.join(inner)}}}"

    def _attributes(self, kind: type[Any]) -> Iterator[str]:
        annotated: dict[str, object] = vars(kind).get("__annotations__", {})
        yield repr([(name, str(each)) for name, each in annotated.items()])
        is_enum = issubclass(kind, enum.Enum)
        for name, value in sorted(vars(kind).items(), key=lambda each: each[0]):
            if is_enum and not isinstance(value, _METHODS):
                continue  # the members, and the tables it keeps of them
            if isinstance(value, (classmethod, staticmethod)):
                value = cast("Any", value).__func__
            if isinstance(value, property):
                value = (value.fget, value.fset)
            is_private = name.startswith("__") and not isinstance(value, FunctionType)
            if not is_private and not isinstance(value, _DESCRIPTORS):
                yield f"{name} = {self._of(value)}"


Names = frozenset[str] | None
_METHODS = (FunctionType, classmethod, staticmethod, property)
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


def _is_standard(module: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names


def _pure(module: str) -> str:
    """`module` of the standard library, if it holds nothing that differs between runs."""
    if module.partition(".")[0] not in _PURE:
        raise Nameless(module)
    return module


def _is_fixed(kind: type[Any]) -> bool:
    """Whether a class is what it is called: ours, Python's, or one that cannot be changed."""
    return _is_ours(kind) or _is_standard(kind.__module__) or bool(kind.__flags__ & (1 << 8))


def _imports(code: CodeType) -> bool:
    inner = (each for each in code.co_consts if isinstance(each, CodeType))
    return _IMPORT in code.co_code[::2] or any(map(_imports, inner))


def _text(kernel: KernelFunction) -> str:
    """The lines of a kernel: annotations of its variables are in no code."""
    return "".join(kernel.lines[kernel.first_line - 1 : _last_line(kernel.fn.__code__)])


def _last_line(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line]
    inner = (_last_line(each) for each in code.co_consts if isinstance(each, CodeType))
    return max([*lines, *inner], default=0)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def code_text(code: CodeType) -> str:
    """Everything in a code object, positions in its file included."""
    constants = [
        code_text(each) if isinstance(each, CodeType) else _constant(each)
        for each in code.co_consts
    ]
    parts = (
        file_of(code),
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
