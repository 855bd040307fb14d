"""How much a thread of compiled code has in flight from global memory at once.

The assembler decides where loads stand; the machine code shows it. From Volta on, an instruction
has 16 bytes. Its last bits name one of six counters, which an instruction of varying time raises (a
load does), and the counters that must be zero before the instruction is issued:

    LDG R4   raises 0         one load in flight
    LDG R8   raises 1         two
    FADD R4  waits for 0      one
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

_INSTRUCTION = 16
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_LOADS = (0x180, 0x181)
"""Opcodes, without the bits for the kinds of operands: generic and global loads."""
_BYTES = (1, 1, 2, 2, 4, 8, 16)
"""What the sizes of a load mean."""
_COUNTERS = 6


@dataclass(frozen=True)
class _Instruction:
    low: int
    high: int

    @property
    def loaded_bytes(self) -> int:
        """What it loads; 0 for what is no load from global memory."""
        size = self.high >> 9 & 7
        is_load = self.low & 0x1FF in _LOADS and size < len(_BYTES)
        return _BYTES[size] if is_load else 0

    @property
    def raises(self) -> int:
        """The counter that it raises until its result is there; another number if none."""
        return self.high >> 46 & 7

    def waits_for(self, counter: int) -> bool:
        return bool(self.high >> 52 >> counter & 1)


def bytes_in_flight(cubin: bytes, kernel: str) -> int:
    """The greatest number of bytes that a thread of `kernel` has in flight, in the order of the
    code; 0 if nothing is known about it."""
    found, pending = 0, [0] * _COUNTERS
    for each in _instructions(_code(cubin, kernel)):
        pending = [0 if each.waits_for(n) else size for n, size in enumerate(pending)]
        if each.loaded_bytes and each.raises < _COUNTERS:
            pending[each.raises] += each.loaded_bytes
            found = max(found, sum(pending))
    return found


def _instructions(code: bytes) -> Iterator[_Instruction]:
    whole = len(code) // _INSTRUCTION * _INSTRUCTION
    for low, high in struct.iter_unpack("<QQ", code[:whole]):
        yield _Instruction(low, high)


def _code(cubin: bytes, kernel: str) -> bytes:
    """The section with the machine code of `kernel`, of an ELF file."""
    if cubin[:5] != b"\x7fELF\x02":
        return b""
    (start,) = struct.unpack_from("<Q", cubin, 40)
    size, count, of_names = struct.unpack_from("<HHH", cubin, 58)
    headers = [_SECTION_HEADER.unpack_from(cubin, start + size * n) for n in range(count)]
    names = headers[of_names][4]
    section = f".text.{kernel}\0".encode()
    for header in headers:
        if cubin.startswith(section, names + header[0]):
            return cubin[header[4] : header[4] + header[5]]
    return b""
