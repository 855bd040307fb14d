"""Accesses of 32 to 256 bits by one thread: ``T.ldg128``, ``T.stg64``, ``T.sts32`` and the like.

    units = T.ldg128(X[i : i + 8])          8 halves as 4 integers
    T.stg128(Y[i : i + 8], units, pred=i < N)

What is read is a vector of 32-bit integers (a single one is a scalar); what is written may be a
vector of any dtype with as many bits. Back ends join neighbouring accesses into one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright.dialects.tile import Space
from tilewright.frontend.errors import FrontendError
from tilewright.language.T import scalars
from tilewright.language.T.buffers import Buffer, BufferRegion, Element
from tilewright.language.T.dtypes import DTYPES
from tilewright.language.T.expressions import Expr, as_expr, constant, convert, describe
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import kernel
from tilewright.language.T.vectors import Vector, vector_of
from tilewright.language.T.votes import when

_UNIT = DTYPES["uint32"]


def ldg(load_or_buf: Any, index: Any = None) -> Any:
    """``T.__ldg``: an element of a tensor that is only read, through the read-only cache."""
    kernel("T.__ldg")
    if isinstance(load_or_buf, Buffer):
        if index is None:
            raise ValueError("T.__ldg(buffer, index) needs an index")
        return load_or_buf[index].value()
    return as_expr(load_or_buf)


def _elements(name: str, target: Any, bits: int, *, is_global: bool) -> Vector:
    """The elements that the access is to."""
    buffer = target if isinstance(target, Buffer) else getattr(target, "buffer", None)
    if not isinstance(target, (Buffer, BufferRegion, Element)) or not isinstance(buffer, Buffer):
        raise TypeError(
            f"T.{name} expects a buffer, a part or an element of one, got {describe(target)}"
        )
    if (buffer.space is Space.GLOBAL) != is_global:
        kind = "a tensor in global memory" if is_global else "a buffer in shared memory"
        raise FrontendError(
            f"T.{name} is for {kind}, and {buffer.name} is {buffer.scope()}", code=BAD_ARGUMENT
        )
    if bits % buffer.dtype.bits:
        raise FrontendError(
            f"T.{name}: {bits} bits are no whole number of elements of {buffer.dtype}",
            code=BAD_ARGUMENT,
        )
    first = target[(0,) * target.ndim] if isinstance(target, Buffer) else target
    if isinstance(first, BufferRegion):
        first = Element(buffer, first.offsets)
    return vector_of(name, first, bits // buffer.dtype.bits)


def reinterpreted(value: Any, bits: int) -> list[Expr]:
    """The bits of a scalar or of a vector as unsigned integers of `bits`, the lowest first."""
    lanes = list(value.lanes) if isinstance(value, Vector) else [as_expr(value)]
    width = lanes[0].dtype.bits
    plain = [scalars.reinterpret(lane, DTYPES[f"uint{width}"]) for lane in lanes]
    target = DTYPES[f"uint{bits}"]
    if width == bits:
        return plain
    if width > bits:
        return [
            convert(scalars.shift_right(lane, bits * part), target)
            for lane in plain
            for part in range(width // bits)
        ]
    count = bits // width
    joined: list[Expr] = []
    for start in range(0, len(plain), count):
        whole: Any = convert(plain[start], target)
        for part, lane in enumerate(plain[start + 1 : start + count], 1):
            whole = scalars.bitwise_or(
                whole, scalars.shift_left(convert(lane, target), width * part)
            )
        joined.append(as_expr(whole))
    return joined


def _load(name: str, bits: int, *, is_global: bool) -> Callable[..., Any]:
    def load(src: Any, pred: Any = None) -> Any:
        kernel(f"T.{name}")
        elements = _elements(name, src, bits, is_global=is_global)
        if pred is not None:
            zero = constant(0, elements.lanes[0].dtype)
            elements = Vector([scalars.if_then_else(pred, lane, zero) for lane in elements.lanes])
        units = reinterpreted(elements, _UNIT.bits)
        return units[0] if len(units) == 1 else Vector(units)

    load.__name__ = load.__qualname__ = name
    where = "global" if is_global else "shared"
    load.__doc__ = f"Load {bits} bits from {where} memory; 0 where `pred` does not hold."
    return load


def _store(name: str, bits: int, *, is_global: bool) -> Callable[..., None]:
    def store(dst: Any, value: Any, pred: Any = None) -> None:
        kernel(f"T.{name}")
        elements = _elements(name, dst, bits, is_global=is_global)
        dtype = elements.lanes[0].dtype
        found = value if isinstance(value, Vector) else as_expr(value)
        given = found.dtype.bits * found.dtype.lanes
        if given != bits:
            raise FrontendError(
                f"T.{name} stores {bits} bits, and the value is {found.dtype}: {given} bits",
                code=BAD_ARGUMENT,
            )
        values = Vector(
            [scalars.reinterpret(each, dtype) for each in reinterpreted(found, dtype.bits)]
        )
        if pred is None:
            elements.write(values)
            return
        with when(pred):
            elements.write(values)

    store.__name__ = store.__qualname__ = name
    where = "global" if is_global else "shared"
    store.__doc__ = f"Store {bits} bits to {where} memory, where `pred` holds."
    return store


ldg32, ldg64 = _load("ldg32", 32, is_global=True), _load("ldg64", 64, is_global=True)
ldg128, ldg256 = _load("ldg128", 128, is_global=True), _load("ldg256", 256, is_global=True)
stg32, stg64 = _store("stg32", 32, is_global=True), _store("stg64", 64, is_global=True)
stg128, stg256 = _store("stg128", 128, is_global=True), _store("stg256", 256, is_global=True)
lds32, lds64 = _load("lds32", 32, is_global=False), _load("lds64", 64, is_global=False)
lds128 = _load("lds128", 128, is_global=False)
sts32, sts64 = _store("sts32", 32, is_global=False), _store("sts64", 64, is_global=False)
sts128 = _store("sts128", 128, is_global=False)
