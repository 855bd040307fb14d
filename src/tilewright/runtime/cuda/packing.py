"""The bytes of a launch: its configuration, then one slot for each parameter, then where those are.

    0      CUlaunchConfig: grid, block, shared memory, stream, attributes
    56     parameter 0     8 bytes, a tensor map 128 bytes on a multiple of 64
    ...
           the address of each parameter, as ``void **kernelParams``

One call of a prepared `struct.Struct` writes configuration and parameters at once; the addresses
are written when the block is made and stay. The driver has copied everything when the launch
returns, so a block serves one launch after the other; two threads that launch at the same time take
two blocks.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilewright.runtime.cuda.tensor_map import MAP_ALIGNMENT, MAP_BYTES

TENSOR_MAP = "tensormap"
POINTER = "ptr"
HIDDEN = ("scratch", "profile")

_CONFIG = "<IIIIIII4xQQI4x"  # CUlaunchConfig
_CONFIG_BYTES = struct.calcsize(_CONFIG)
_SLOT_BYTES = 8

_CODES = {
    POINTER: "Q",
    "scratch": "Q",
    "profile": "Q",
    "i1": "?",
    "i8": "b",
    "i16": "h",
    "i32": "i",
    "i64": "q",
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "f16": "e",
    "bf16": "H",  # struct does not know it: `bf16_bits`
    "f32": "f",
    "f64": "d",
    TENSOR_MAP: f"{MAP_BYTES}s",
}
_NATIVE = "QqIiHhBb?dfe"
"""The order in which `native/launch.c` numbers the same codes; tensor maps come last."""
NATIVE_KINDS = {
    kind: len(_NATIVE) if kind == TENSOR_MAP else _NATIVE.index(code)
    for kind, code in _CODES.items()
}
_OTHER_SPELLINGS = {
    "u1": "i1",
    "fp16": "f16",
    "fp32": "f32",
    "fp64": "f64",
    "nvTmaDesc": TENSOR_MAP,
}


def kind_of(spelling: str) -> str:
    """A parameter's kind in one spelling; ``*fp16`` is a pointer."""
    if spelling.startswith("*"):
        return POINTER
    kind = _OTHER_SPELLINGS.get(spelling, spelling)
    if kind not in _CODES:
        raise ValueError(
            f"unknown kind of kernel parameter {spelling!r}; expected one of {', '.join(_CODES)}"
        )
    return kind


def bf16_bits(value: float) -> int:
    """The nearest bfloat16, ties to even."""
    if value != value:
        return 0x7FC0
    bits: int = struct.unpack("<I", struct.pack("<f", _rounded(value, "f")))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _rounded(value: float, code: str) -> float:
    """`value`, or infinity where it exceeds the type of `code`."""
    try:
        struct.pack(f"<{code}", value)
    except OverflowError:
        return math.copysign(math.inf, value)
    return value


def careful(kind: str, value: Any) -> Any:
    """`value` as the packing takes it: wrapped or rounded as a conversion on the device would."""
    code = _CODES[kind]
    if code in "ef":
        return _rounded(float(value), code)
    if code not in "bhiqBHIQ" or kind == "bf16":
        return value
    bits = struct.calcsize(f"<{code}") * 8
    integer = value.__index__()
    if not -(2 ** (bits - 1)) <= integer < 2**bits:
        raise OverflowError(f"{integer} does not fit a {bits}-bit parameter")
    integer &= 2**bits - 1
    return integer - 2**bits if code.islower() and integer >> (bits - 1) else integer


def packed(kind: str, value: Any) -> bytes:
    """The bytes of one parameter."""
    if kind == "bf16":
        return struct.pack("<H", bf16_bits(value))
    return struct.pack(f"<{_CODES[kind]}", careful(kind, value))


Block = tuple[bytearray, int, ctypes.c_void_p, ctypes.c_void_p, object]
"""Memory, where its used part starts, the addresses of configuration and parameters, the owner."""


@dataclass(frozen=True)
class Packing:
    """The offsets in a block."""

    form: struct.Struct
    offsets: tuple[int, ...]

    def new_block(self) -> Block:
        count = len(self.offsets)
        pointers_at = -(-self.form.size // _SLOT_BYTES) * _SLOT_BYTES
        memory = bytearray(pointers_at + count * _SLOT_BYTES + MAP_ALIGNMENT)
        # Holding a view of it keeps a bytearray where it is.
        view = (ctypes.c_char * len(memory)).from_buffer(memory)
        base = ctypes.addressof(view)
        start = -base % MAP_ALIGNMENT
        first = base + start
        struct.pack_into(
            f"<{count}Q", memory, start + pointers_at, *(first + offset for offset in self.offsets)
        )
        config, parameters = ctypes.c_void_p(first), ctypes.c_void_p(first + pointers_at)
        return memory, start, config, parameters, view


def packing_of(kinds: Sequence[str]) -> Packing:
    """The packing for parameters of these `kinds`, in order."""
    form, at = _CONFIG, _CONFIG_BYTES
    offsets: list[int] = []
    for kind in kinds:
        alignment = MAP_ALIGNMENT if kind == TENSOR_MAP else _SLOT_BYTES
        gap = -at % alignment
        code = _CODES[kind]
        form += (f"{gap}x" if gap else "") + code
        offsets.append(at + gap)
        at += gap + struct.calcsize(f"<{code}")
    return Packing(struct.Struct(form), tuple(offsets))
