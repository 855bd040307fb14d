"""What the assembler reports about machine code: registers, spills, stack, losses of speed.

ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized ...
ptxas info    : Used 168 registers, used 9 barriers
                16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads

C7510 to C7519 mean that MMAs of a warp group wait for each other, and give the reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ASSEMBLER_REMARK = "TW6209"

_REGISTERS = re.compile(r"Used (\d+) registers")
_FRAME = re.compile(
    r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", re.MULTILINE
)
_PERFORMANCE_REMARK = re.compile(
    r"^ptxas\S*\s+(?:info|warning)\s*: (?:\(C\d+\) )?(?:Potential )?"
    r"(Performance .*|.*serialized.*)$",
    re.MULTILINE | re.IGNORECASE,
)
_BARRIERS = re.compile(r"used (\d+) barriers")
_SERIALIZED = "serialized"
_TOO_FEW_REGISTERS = "register resources"
_POSITION = re.compile(r" in (?:the )?function '.*$")
"""A line of the PTX, which users do not see."""


@dataclass(frozen=True)
class PtxasLog:
    """The numbers of a log; there is an entry for each function, the kernel needs the largest."""

    registers: int = 0
    stack_bytes: int = 0
    spill_stores: int = 0
    spill_loads: int = 0
    barriers: int = 0
    performance_remarks: tuple[str, ...] = ()
    """Performance remarks of the assembler, for example serialised wgmma instructions."""

    @staticmethod
    def read(log: str) -> PtxasLog:
        frames = [tuple(map(int, found)) for found in _FRAME.findall(log)]
        columns = list(zip(*frames, strict=True)) or [(0,), (0,), (0,)]
        stack, stores, loads = (max(column) for column in columns)
        return PtxasLog(
            max(map(int, _REGISTERS.findall(log)), default=0),
            stack,
            stores,
            loads,
            max(map(int, _BARRIERS.findall(log)), default=0),
            tuple(dict.fromkeys(_PERFORMANCE_REMARK.findall(log))),
        )


def without_positions(remarks: tuple[str, ...]) -> tuple[str, ...]:
    """The remarks without the lines of PTX that they are about, each once."""
    return tuple(dict.fromkeys(_POSITION.sub("", each) for each in remarks))


def is_serialized(remarks: tuple[str, ...]) -> bool:
    """Whether MMAs of a warp group wait for each other."""
    return any(_SERIALIZED in each for each in remarks)


def lacks_registers(remarks: tuple[str, ...]) -> bool:
    """Whether they do so for lack of registers."""
    return any(_SERIALIZED in each and _TOO_FEW_REGISTERS in each for each in remarks)
