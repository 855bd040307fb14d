"""What a run of a kernel leaves behind: every access, every value, every loop, every overflow.

All of it is indexed by *where* and *when*: an op (or value) and the calls that led to it, the
program, and the iteration of each enclosing loop, outermost first. Nothing here knows of the
analysis; numbers are machine numbers, addresses are addresses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import Operation, SSAValue

Array: TypeAlias = NDArray[Any]
Path: TypeAlias = tuple[Operation, ...]
"""The call ops on the way from the kernel to a function."""
Program: TypeAlias = tuple[int, int, int]


class When(NamedTuple):
    """One execution: the program, and how often each enclosing loop has turned."""

    program: Program
    counters: tuple[int, ...]


@dataclass(frozen=True)
class Launch:
    """The arguments of a run."""

    grid: Program
    args: Mapping[str, int]
    """Integers by name."""
    addresses: Mapping[str, int]
    """Of pointers and descriptors by name."""
    memory: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Elements behind pointers, where they matter; anything else is arbitrary but fixed."""
    seed: int = 0
    """Of what memory holds otherwise."""


@dataclass(frozen=True)
class Touch:
    """One execution of an access: addresses of all lanes, and which of them count."""

    when: When
    addresses: Array
    mask: Array
    box: BoxValue | None = None


@dataclass(frozen=True)
class BoxValue:
    """The numbers of a descriptor or block pointer at an access."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    indices: tuple[Array, ...]


@dataclass
class Recording:
    """Everything one launch did."""

    launch: Launch
    programs: list[Program] = field(default_factory=list[Program])
    touches: dict[tuple[Operation, Path], list[Touch]] = field(
        default_factory=dict[tuple[Operation, Path], list[Touch]]
    )
    values: dict[tuple[SSAValue, Path], dict[When, Array]] = field(
        default_factory=dict[tuple[SSAValue, Path], dict[When, Array]]
    )
    turns: dict[tuple[Operation, Path], dict[When, int]] = field(
        default_factory=dict[tuple[Operation, Path], dict[When, int]]
    )
    """By loop: how often it turned, by when it was entered."""
    wraps: dict[tuple[Operation, Path], set[When]] = field(
        default_factory=dict[tuple[Operation, Path], set[When]]
    )
    """Ops whose mathematical result did not fit, and when."""
    negative: dict[tuple[Operation, Path], set[When]] = field(
        default_factory=dict[tuple[Operation, Path], set[When]]
    )
    """Signed divisions of negative numbers."""

    def note(self, value: SSAValue, path: Path, when: When, array: Array) -> None:
        self.values.setdefault((value, path), {})[when] = array


def scalar(array: Array) -> int:
    return int(np.asarray(array).reshape(()))
