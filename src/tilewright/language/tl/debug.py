"""Looking into a kernel: when it is compiled (`static_...`) and when it runs (`device_...`)."""

from __future__ import annotations

import string
import sys
from typing import TextIO

from tilewright.dialects.tt import AssertOp, PrintOp
from tilewright.dialects.ttg.program import ALL_SPACES, BarrierOp
from tilewright.frontend.builder import current
from tilewright.frontend.errors import FrontendError
from tilewright.language.tl.bitwise import logical_not
from tilewright.language.tl.comparison import equal
from tilewright.language.tl.constants import to_tensor
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.operands import optional
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, tensor

_SEPARATOR = ": "


# While the kernel is compiled.


def static_print(
    *values: object,
    sep: str = " ",
    end: str = "\n",
    file: TextIO | None = None,
    flush: bool = False,
) -> None:
    """Print now, while the kernel is being compiled; like Python's `print`.

    A tensor is its type, with extents as Triton writes them: ``int32[constexpr[128]]``.
    """
    stream = sys.stdout if file is None else file
    stream.write(sep.join(map(_static_text, values)) + end)
    if flush:
        stream.flush()


def _static_text(value: object) -> str:
    value = unwrap(value)
    if not isinstance(value, tensor):
        return str(value)
    return f"{value.dtype}[{', '.join(f'constexpr[{extent}]' for extent in value.shape)}]"


def static_assert(cond: object, msg: object = "") -> None:
    """Stop compiling unless `cond`, which is known by now, holds."""
    holds = unwrap(cond)
    if isinstance(holds, tensor):
        raise TypeError(
            f"Assertion condition could not be determined at compile-time: it is {holds}. Make "
            "sure that it depends only on `constexpr` values, or use tl.device_assert"
        )
    if not holds:
        text = str(unwrap(msg))
        raise FrontendError(
            f"static assertion failed: {text}" if text else "static assertion failed"
        )


# While the kernel runs.


def device_print(prefix: str, *args: Operand, hex: bool = False) -> None:
    """Print `prefix` and values from every program; `hex` shows bits of integers and floats."""
    prefix = unwrap(prefix)
    if not isinstance(prefix, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{prefix} is not string: the first argument of device_print is a string")
    if any(character not in string.printable for character in prefix):
        raise ValueError(f"{prefix!r} is not an ascii string")
    values = [to_tensor(value) for value in args]
    signs = [value.dtype.is_int_signed() for value in values]
    text = _prefix(prefix) if values else _spaced(prefix)
    handles = [value.handle for value in values]
    current().insert(PrintOp(text, handles, signs, bool(unwrap(hex))))


def _prefix(text: str) -> str:
    """A text that ends in a colon and a space, before the values."""
    if not text.endswith(" "):
        text += " "
    if not text.endswith(_SEPARATOR):
        text = text[:-1] + _SEPARATOR
    return _spaced(text)


def _spaced(text: str) -> str:
    """A text that starts with a space, after the ids of program and thread."""
    return f" {text}" if len(text) > len(_SEPARATOR) and not text.startswith(" ") else text


def device_assert(cond: object, msg: object = "", mask: Operand | None = None) -> None:
    """Stop the kernel where `cond` does not hold and `mask` is true; in debug builds only."""
    condition, where = to_tensor(cond), optional(mask)
    if not current_options().debug:
        return
    if where is not None:
        condition = condition | logical_not(where)
    current().insert(AssertOp(condition.handle, str(unwrap(msg))))


def expect_zero(x: tensor, mask: Operand) -> tensor:
    """`x`, which underflowed to zero where `mask` is true; debug builds assert that."""
    where = to_tensor(mask)
    if current_options().debug:
        is_zero = equal(x, 0) | logical_not(where)
        device_assert(is_zero, "expect_zero expected x == 0 where mask is true")
    return x


def debug_barrier() -> None:
    """All threads of a program wait here for each other."""
    current().insert(BarrierOp(ALL_SPACES))
