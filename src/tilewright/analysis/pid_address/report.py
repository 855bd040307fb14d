"""The results of the address analysis: plain values, for checks and human-readable reports.

``AddressReport`` holds everything that is known about one kernel. Values that a report prints come
with the symbolic objects they were derived from, so that a check can go on reasoning::

    Access.offset      byte offset from Access.base, a polynomial over ...
    Access.domain      ... these symbols, each with inclusive bounds
    Access.mask        an access is to base + offset at the points of the domain
    Access.guard       where guard and mask hold, and nowhere else
    Access.facts       holds at every such point (tl.assume, --assume)

Units are bytes for addresses, elements for ``block_size``, the value's own unit for ``PID_INFO``.
``str`` of a line is the line of the text report; an access is one ``PATTERN`` line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from xdsl.ir import Operation

from tilewright._notebook import NotebookForm
from tilewright.analysis.affine import Atom, Formula, Interval, Poly

LABEL_WIDTH = 12
"""Columns of the text report before the information; longer labels push it to the right."""


class Pattern(StrEnum):
    """How an address depends on the program id."""

    INDEPENDENT = "PID_INDEPENDENT"
    AFFINE = "PID_AFFINE"
    MULTI_AXIS = "PID_MULTI_AXIS"
    NONLINEAR = "PID_NONLINEAR"
    UNKNOWN = "UNKNOWN"


class Reason(StrEnum):
    """Why a pattern is no better than ``PID_NONLINEAR`` or ``UNKNOWN``."""

    DATA_DEPENDENT = "data_dependent"
    LOOP_CARRIED = "loop_carried"
    UNSUPPORTED = "unsupported"
    DIV_MOD = "div_mod"
    PIECEWISE = "piecewise"
    BITWISE = "bitwise"
    BILINEAR = "bilinear"
    OTHER = "other"


class AccessKind(StrEnum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


class AssumptionKind(StrEnum):
    NO_OVERFLOW = "no_overflow"
    """The mathematical value of an operation fits its type."""
    NON_NEGATIVE = "non_negative"
    """A dividend is not negative, so that a remainder rises with it."""


@dataclass(frozen=True)
class AccessProperties:
    """What is given about a launch. Empty: nothing."""

    grid: tuple[int | None, ...] | None = None
    """Programs per axis; axes left out of a given grid have one program, ``None`` is unknown."""
    args: Mapping[str, int] = field(default_factory=dict[str, int])
    """Values of integer arguments by name, without the percent sign."""
    buffers: Mapping[str, int] = field(default_factory=dict[str, int])
    """Sizes in bytes of what pointer arguments point to."""
    assumptions: tuple[str, ...] = ()
    """Conditions on arguments and grid, such as ``M % 128 == 0``."""
    strict_overflow: bool = False
    """Whether a result that might leave its type is unknown instead of an assumption."""


@dataclass(frozen=True)
class Param:
    """A parameter of the kernel."""

    name: str
    type: str
    divisibility: int | None
    is_pointer: bool
    symbol: Atom | None
    """What stands for it in polynomials; ``None`` for pointers, floats and given values."""


@dataclass(frozen=True)
class Bound:
    """``lower <= symbol <= upper`` at every point; ``None`` is no bound.

    The symbol as in polynomials: of one that is divisible by d, a d-th.
    """

    symbol: Atom
    lower: Poly | None
    upper: Poly | None


@dataclass(frozen=True)
class Domain:
    """The symbols of an access and their bounds, bounds of bounds included.

    Sorted by kind: arguments, grid, program ids, loop counters (outermost first), lanes, opaque.
    """

    bounds: tuple[Bound, ...]

    def of(self, symbol: Atom) -> Bound | None:
        return next((bound for bound in self.bounds if bound.symbol is symbol), None)


@dataclass(frozen=True)
class Loop:
    """An enclosing loop, named by its induction variable or ``while``."""

    name: str
    counter: Atom
    """Counts iterations 0, 1, 2, ..."""
    trips: Poly | None
    """Number of iterations; ``None`` if there is no closed form."""


@dataclass(frozen=True)
class LoopStride:
    loop: Loop
    stride: Poly | None
    """Bytes per iteration; ``None`` where the address is not affine in the counter."""


@dataclass(frozen=True)
class Virtual:
    """The pattern over derived coordinates instead of program ids."""

    pattern: Pattern
    strides: Mapping[str, Poly]
    """By axis number (``"0"``) or name of the coordinate (``"%pid_m"``), in that order."""
    coordinates: Mapping[str, Poly]
    """What each coordinate is."""


@dataclass(frozen=True)
class VectorLimits:
    """The largest number of elements per instruction that each constraint admits."""

    contiguity: int
    base: int
    """By the divisibility of the base pointer."""
    terms: tuple[tuple[Poly, int], ...]
    """By each term of the offset other than the fast dimension's own."""
    mask: int
    elements: int
    """What all of them together admit."""


@dataclass(frozen=True)
class Box:
    """The tensor of a descriptor or block pointer, and the block's offset in it."""

    offset: Poly
    """Bytes from the base to the tensor's first element."""
    shape: tuple[Poly, ...]
    strides: tuple[Poly, ...]
    """In elements."""
    block: tuple[int, ...]
    indices: tuple[Poly, ...]
    """The first element of the block in each dimension; of a gather, with its lane."""


@dataclass(frozen=True)
class Assumption:
    """What has to hold for the polynomials to be exact: ``lower <= expr <= upper``."""

    kind: AssumptionKind
    value: str
    """The SSA name of the result it is about."""
    type: str
    loc: str | None
    op: str
    call: tuple[str, ...]
    expr: Poly
    lower: int
    upper: int | None
    guard: Formula
    """Under which conditions the operation runs at all."""
    facts: tuple[Formula, ...]
    """What is known where it runs."""
    domain: Domain
    operation: Operation = field(compare=False, repr=False)

    def __str__(self) -> str:
        limits = f">= {self.lower}" if self.upper is None else f"in [{self.lower}, {self.upper}]"
        return f"{self.kind}: {self.value} = {self.expr} {limits} ({self.type})"


@dataclass(frozen=True)
class MemoryOp:
    """One memory operation on one call path."""

    index: int
    op: str
    kind: AccessKind
    result: str | None
    address: str
    """The SSA name of the address operand."""
    call: tuple[str, ...]
    loc: str | None
    base: str
    base_divisibility: int | None
    """Of the base argument's address; ``None`` without the attribute."""
    elem_bytes: int
    shape: tuple[int, ...]
    offset: Poly
    pattern: Pattern
    reason: Reason | None
    pid_axes: tuple[int, ...]
    guard_axes: tuple[int, ...]
    pid_strides: Mapping[int, Poly | None]
    lane_strides: tuple[Poly | None, ...]
    loop_strides: tuple[LoopStride, ...]
    block_size: int
    coalesced: bool | None
    order: tuple[int, ...]
    contiguity: tuple[int, ...]
    align_bytes: int | None
    vector_bits: int | None
    vector_limits: VectorLimits | None
    masked: bool
    mask: Formula | None
    mask_constancy: int
    """Lanes of the fast dimension in an aligned group on which the mask is constant."""
    guard: Formula
    virtual: Virtual | None
    assumptions: tuple[int, ...]
    domain: Domain
    facts: tuple[Formula, ...]
    lanes: tuple[Atom | None, ...]
    """The symbol of each dimension; ``None`` where the extent is 1."""
    box: Box | None
    operation: Operation = field(compare=False, repr=False)
    inside: Formula | None = None
    """Of the tile language: that the element exists. Part of the mask, since what is outside of a
    tensor reads as the safe value and is not written; None where it always exists."""

    @property
    def name(self) -> str:
        """The access in a report: its result, or else its address, and what it does."""
        return with_path(f"{self.result or self.address} ({self.kind})", self.call)

    @property
    def loops(self) -> tuple[Loop, ...]:
        return tuple(stride.loop for stride in self.loop_strides)

    def info(self) -> str:
        parts = [self.pattern.value, f"block_size={self.block_size}"]
        if self.pid_axes:
            parts.append(_access_strides(self.pid_strides))
        parts.append(f"coalesced={tri(self.coalesced)}")
        if self.loop_strides:
            loops = [f"{item.loop.name}:{poly_text(item.stride)}" for item in self.loop_strides]
            parts.append(f"loops=[{', '.join(loops)}]")
        if self.reason is not None:
            parts.append(f"reason={self.reason}")
        return f"PATTERN({', '.join(parts)})"

    def __str__(self) -> str:
        return line(self.name, self.info())


@dataclass(frozen=True)
class ValueInfo:
    """An integer or an address from which an access is computed, on one call path."""

    ssa_name: str
    call: tuple[str, ...]
    is_address: bool
    base: str | None
    expr: Poly
    """The value, or the offset in bytes of an address."""
    pid_axes: tuple[int, ...]
    pid_strides: Mapping[int, Poly | None]
    offset: Interval | None
    """Range of the part without program ids, if it is bounded by constants."""
    varies: bool
    """Whether that part differs between lanes."""
    coalesced: bool | None
    operation: Operation = field(compare=False, repr=False)
    """The op that defines the value, or whose region has it as argument."""

    @property
    def name(self) -> str:
        return with_path(self.ssa_name, self.call)

    def info(self) -> str:
        pids = [_value_strides(self.pid_strides)] if self.pid_axes else []
        offset = f"offset={_offset(self.offset)}"
        if self.is_address:
            parts = [f"base={self.base}", *pids, offset, f"coalesced={tri(self.coalesced)}"]
            return f"ADDR_INFO({', '.join(parts)})"
        return f"PID_INFO({', '.join([*pids, offset, *(['elem_range'] if self.varies else [])])})"

    def __str__(self) -> str:
        return line(self.name, self.info())


@dataclass(frozen=True)
class NotAnalysed:
    """An op that accesses global memory, or may, and is not among the accesses."""

    op: str
    call: tuple[str, ...]
    loc: str | None
    reason: str
    operation: Operation = field(compare=False, repr=False)

    def __str__(self) -> str:
        where = f" at {self.loc}" if self.loc else ""
        return f"not analysed: {with_path(self.op, self.call)}{where}: {self.reason}"


Line: TypeAlias = ValueInfo | MemoryOp


@dataclass(frozen=True)
class AddressReport(NotebookForm):
    """All accesses of one kernel."""

    notebook_form = "tilewright.report.notebook.addresses:address_report_html"

    kernel: str
    params: tuple[Param, ...]
    grid: tuple[int | None, int | None, int | None]
    accesses: tuple[MemoryOp, ...]
    values: tuple[ValueInfo, ...]
    lines: tuple[Line, ...]
    """Values and accesses in order of definition."""
    assumptions: tuple[Assumption, ...]
    facts: AccessProperties
    notes: tuple[str, ...]
    """Inconsistencies of the facts, as messages."""
    function: Operation = field(compare=False, repr=False)
    not_analysed: tuple[NotAnalysed, ...] = ()
    """Other ops that access global memory: not analysed."""

    def __str__(self) -> str:
        return "\n".join(map(str, self.lines))


# Text.


def line(name: str, info: str) -> str:
    """A label, padded to a column, and what is known about it."""
    return f"{name}:".ljust(LABEL_WIDTH - 1) + " " + info


def with_path(name: str, call: Sequence[str]) -> str:
    return f"{name} @{'/'.join(call)}" if call else name


def tri(value: bool | None) -> str:
    return "unknown" if value is None else str(value).lower()


def poly_text(poly: Poly | None) -> str:
    return "?" if poly is None else str(poly)


def _offset(interval: Interval | None) -> str:
    if interval is None or interval.lo is None or interval.hi is None:
        return "?"
    if interval.lo == interval.hi:
        return str(interval.lo)
    return f"[{interval.lo},{interval.hi}]"


def _value_strides(strides: Mapping[int, Poly | None]) -> str:
    if len(strides) == 1:
        [(axis, stride)] = strides.items()
        return f"axis={axis}, stride={poly_text(stride)}"
    axes = ", ".join(map(str, strides))
    return f"axes=[{axes}], strides=[{', '.join(map(poly_text, strides.values()))}]"


def _access_strides(strides: Mapping[int, Poly | None]) -> str:
    if list(strides) == [0] and strides[0] is not None:
        return f"stride={strides[0]}"
    items = (f"{axis}:{poly_text(stride)}" for axis, stride in strides.items())
    return f"strides=[{', '.join(items)}]"
