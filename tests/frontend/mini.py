"""A small kernel language for the tests of the frontend: numbers, comparisons, memory of one kind.

`Number` is an i32 or f32; ``load(i)`` and ``store(i, x)`` are calls of functions that nobody
defines, so that they can neither be folded nor moved.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any

from xdsl.dialects.builtin import (
    Attribute,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    UnitAttr,
    f32,
    i1,
    i32,
)
from xdsl.ir import SSAValue

from tilewright.dialects import arith
from tilewright.dialects.tt import CallOp
from tilewright.frontend.builder import current
from tilewright.frontend.functions.function import KernelFunction
from tilewright.frontend.trace import Argument, Traced, trace
from tilewright.frontend.values import Value
from tilewright.frontend.vocabulary import CountedLoop, StaticLoop
from tilewright.ir.text import print_module

_NAMES = {i1: "i1", i32: "i32", f32: "f32"}


class Number(Value):
    """A scalar."""

    def __init__(self, handle: SSAValue) -> None:
        self.handle = handle

    def handles(self) -> Sequence[SSAValue]:
        return [self.handle]

    def rebuild(self, handles: Iterator[SSAValue]) -> Number:
        return Number(next(handles))

    def kind(self) -> str:
        return _NAMES[self.handle.type]

    def __str__(self) -> str:
        return self.kind()

    def __bool__(self) -> bool:
        raise TypeError("a run-time value has no truth value here")

    def __add__(self, other: Any) -> Number:
        return _arithmetic(self, other, arith.AddiOp, arith.AddfOp)

    def __radd__(self, other: Any) -> Number:
        return number(other) + self

    def __mul__(self, other: Any) -> Number:
        return _arithmetic(self, other, arith.MuliOp, arith.MulfOp)

    def __rmul__(self, other: Any) -> Number:
        return number(other) * self

    def __sub__(self, other: Any) -> Number:
        return _arithmetic(self, other, arith.SubiOp, arith.SubfOp)

    def __rsub__(self, other: Any) -> Number:
        return number(other) - self

    def __neg__(self) -> Number:
        return 0 - self

    def __lt__(self, other: Any) -> Number:
        return _compare(self, other, "slt")

    def __gt__(self, other: Any) -> Number:
        return _compare(self, other, "sgt")

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, "eq")

    __hash__ = None

    def twice(self, *, plus: Any = 0) -> Number:
        return self + self + plus

    @property
    def T(self) -> Number:
        return self * -1


def number(value: Any) -> Number:
    """A run-time value for `value`."""
    if isinstance(value, Number):
        return value
    if isinstance(value, bool):
        attribute: Attribute = IntegerAttr(int(value), i1)
    elif isinstance(value, int):
        attribute = IntegerAttr(value, i32)
    elif isinstance(value, float):
        attribute = FloatAttr(value, f32)
    else:
        raise TypeError(f"{value!r} is not a number")
    return Number(current().insert(arith.ConstantOp(attribute)).results[0])


def _arithmetic(left: Number, right: Any, integer: Any, floating: Any) -> Number:
    other = number(right)
    if left.kind() != other.kind():
        raise TypeError(f"{left.kind()} and {other.kind()} do not mix: convert one of them")
    make = integer if left.kind() == "i32" else floating
    return Number(current().insert(make(left.handle, other.handle)).results[0])


def _compare(left: Number, right: Any, predicate: str) -> Number:
    other = number(right)
    return Number(current().insert(arith.CmpiOp(predicate, left.handle, other.handle)).results[0])


def load(index: Any) -> Number:
    """A value from memory."""
    return Number(current().insert(CallOp("load", [number(index).handle], [i32])).results[0])


def store(index: Any, value: Any) -> None:
    """A value to memory."""
    operands = [number(index).handle, number(value).handle]
    current().insert(CallOp("store", operands, []))


def static_range(*bounds: int) -> StaticLoop:
    return StaticLoop(range(*bounds))


@dataclass(frozen=True)
class Range:
    """What `range` makes in a kernel."""

    start: Any
    stop: Any
    step: Any = 1
    hint: bool = False


def kernel_range(*bounds: Any, hint: bool = False) -> Range:
    return Range(0, *bounds, hint=hint) if len(bounds) == 1 else Range(*bounds, hint=hint)


class constexpr:
    """Annotation of constants, and wrapper of constants of a module."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Mini:
    """The vocabulary."""

    name = "mini"
    builtins: Mapping[str, object] = {"range": kernel_range, "len": len, "min": min, "print": store}

    def bind(self, name: str, value: Any) -> object:
        if isinstance(value, tuple):
            parts = [self.bind(name, part) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        return number(value) if isinstance(value, (bool, int, float)) else value

    def argument(self, name: str, value: Any, *, constexpr: bool) -> object:
        return value

    def returned(self, value: Any) -> object:
        return value

    def condition(self, value: Any) -> bool | SSAValue:
        if isinstance(value, Number):
            return (value if value.kind() == "i1" else value > 0).handle
        if value is None or isinstance(value, (bool, int)):
            return bool(value)
        raise TypeError(f"a condition is a number, not {type(value).__name__}")

    def known_items(self, iterable: Any) -> None:
        """Nothing beyond what is unrolled."""

    def while_attributes(self, value: Any) -> Mapping[str, Attribute]:
        return {}

    def loop(self, iterable: Any) -> StaticLoop | CountedLoop:
        if isinstance(iterable, StaticLoop):
            return iterable
        if not isinstance(iterable, Range):
            raise TypeError("only range and static_range can be looped over")
        bounds = [number(each).handle for each in (iterable.start, iterable.stop, iterable.step)]
        attributes = {"hint": UnitAttr()} if iterable.hint else {}
        return CountedLoop(*bounds, Number, attributes)

    def logical(self, op: str, left: Any, right: Any) -> object:
        make = arith.AndiOp if op == "and" else arith.OriOp
        return Number(current().insert(make(left.handle, right.handle)).results[0])

    def invert(self, value: Any) -> object:
        return Number(current().insert(arith.XoriOp(value.handle, number(True).handle)).results[0])

    def as_value(self, value: Any) -> object:
        return number(value)

    def captured(self, name: str, value: Any) -> object:
        if isinstance(value, constexpr):
            return value.value
        if isinstance(value, (KernelFunction, ModuleType, type, FunctionType)):
            return value
        raise NameError(f"{name} is not a constexpr")

    def type_of(self, value: object) -> object | None:
        return "constant" if isinstance(value, int) else None

    def check(self, condition: Any, message: Any) -> None:
        current().insert(CallOp(f"assert:{message}", [number(condition).handle], []))

    def mangle(self, value: Any) -> str:
        if isinstance(value, tuple):
            return "T" + "_".join(map(self.mangle, value)) + "T"
        return value.kind() if isinstance(value, Number) else f"c{value}"


MINI = Mini()


def jit(fn: Callable[..., Any] | None = None, *, noinline: bool = False) -> Any:
    """Make a kernel function of the test language."""
    if fn is None:
        return lambda found: KernelFunction(found, MINI, noinline=noinline)
    assert isinstance(fn, FunctionType)
    return KernelFunction(fn, MINI)


def runtime(type: Attribute = i32) -> Argument:
    """A run-time argument."""
    return Argument([type], lambda handles: Number(next(handles)))


def traced(function: KernelFunction, **constants: Any) -> Traced:
    """Trace with an i32 for every parameter that is not given."""
    arguments: dict[str, Any] = {}
    for each in function.params:
        if each.name in constants:
            arguments[each.name] = constants[each.name]
        elif not each.has_default and not each.is_variadic:
            arguments[each.name] = runtime()
    return trace(function, arguments)


def module_text(module: ModuleOp) -> str:
    return print_module(module)


def text(function: KernelFunction, **constants: Any) -> str:
    """The IR of `function`, without locations."""
    return module_text(traced(function, **constants).module)


def lines(function: KernelFunction, **constants: Any) -> list[str]:
    """The ops of `function`: constants where they are used, names without their numbers."""
    return body_lines(text(function, **constants))


def body_lines(found: str) -> list[str]:
    names: dict[str, str] = {}
    result: list[str] = []
    for line in found.splitlines()[2:-2]:
        constant = re.match(r" *(%[\w.-]+) = arith.constant (\S+)", line)
        if constant:
            names[constant.group(1)] = constant.group(2)
        else:
            named = re.sub(r"%[\w.-]+", lambda name: names.get(name[0], name[0]), line.strip())
            result.append(re.sub(r"(%[a-z][\w.]*?)_\d+\b", r"\1", named))
    return result


def compiled(source: str, file: str = "kernel.py", **names: Any) -> dict[str, Any]:
    """The names that `source` defines; its text is where `linecache` finds it, not in a file."""
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space = {**globals(), **names}
    exec(compile(source, file, "exec", dont_inherit=True), space)
    return space
