"""What the host does around the kernels of a function, as a list of plain steps.

    extent = A.shape[0]; grid = ceildiv(extent, 128); map = tensor_map(A, ...); launch(...)

The steps come out of the IR once (`host`). They hold no IR, so they can be stored on disk with the
machine code, be run without a compiler, and be written as C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

Operand: TypeAlias = "int | float | str"
"""A number, or the name of a value: ``%3``; parameters are ``%0``, ``%1``, ... in order."""


@dataclass(frozen=True)
class Step:
    """``result = kind(operands)``; `constants` is what is fixed."""

    kind: str
    result: str
    operands: tuple[Operand, ...]
    constants: tuple[Any, ...] = ()

    def as_json(self) -> list[Any]:
        return [self.kind, self.result, list(self.operands), list(self.constants)]

    @classmethod
    def from_json(cls, given: Sequence[Any]) -> Step:
        kind, result, operands, constants = given
        return cls(kind, result, tuple(operands), tuple(constants))
