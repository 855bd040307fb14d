"""Every access of a `T` kernel to global memory, by running its integer code block by block.

Written without the analysis: values are numbers, or arrays over the iterations of a parallel loop,
or None for what comes out of memory. ``compare`` holds a report against it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntAttr, IntegerAttr, MemRefType, StridedLayoutAttr
from xdsl.ir import Block, Operation, SSAValue

from tests.fuzz.tile.reference import tiles
from tilewright.analysis.pid_address import (
    AccessProperties,
    AddressReport,
    TileKernel,
    analyze_tile,
)
from tilewright.analysis.pid_address.checks import Check, CheckResult, Settings, run_checks
from tilewright.analysis.pid_address.checks.enumeration import NotEnumerable
from tilewright.analysis.pid_address.checks.launches import Launch
from tilewright.analysis.pid_address.types import element_bytes, is_boolean
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.tile import (
    AtomicOp,
    ParallelOp,
    PersistentOp,
    PipelineOp,
    RegionOp,
    WsOp,
)
from tilewright.dialects.tile.access import TileOp
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.types import space_of
from tilewright.ir.interfaces import constant_value

Key = tuple[Operation, int]
_COMPARE: list[Callable[[Any, Any], Any]] = [
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
]
_BINARY: Mapping[str, Callable[[Any, Any], Any]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
    "arith.minsi": np.minimum,
    "arith.maxsi": np.maximum,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    "arith.floordivsi": lambda a, b: np.floor_divide(a, b),
    "arith.ceildivsi": lambda a, b: -np.floor_divide(-np.asarray(a), b),
    "arith.divsi": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    "arith.remsi": lambda a, b: np.fmod(a, b),
}
_MAX_ITERATIONS = 10_000
_SAME = ("arith.index_cast", "arith.extsi")


class NotRunnable(Exception):
    """What the kernel does depends on values that are not computed here."""


@dataclass
class Tensor:
    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass
class Oracle:
    """Byte offsets by access and block."""

    sizes: Mapping[str, int]
    accessed: dict[Key, dict[int, set[int]]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(set))
    )
    outside: set[Key] = field(default_factory=set)
    """Accesses that name an element which does not exist."""
    kinds: dict[Key, str] = field(default_factory=dict)
    unsure: set[Key] = field(default_factory=set)
    env: dict[SSAValue, Any] = field(default_factory=dict)
    block: int = 0
    active: Any = True
    maybe: bool = False

    # -- values ------------------------------------------------------------------------------

    def get(self, value: Any) -> Any:
        if isinstance(value, int):
            return value
        if value in self.env:
            return self.env[value]
        constant = constant_value(value)
        if not isinstance(constant, IntegerAttr):
            return None
        return constant.value.data & 1 if is_boolean(value.type) else constant.value.data

    def integer(self, value: Any) -> int:
        found = self.get(value)
        if found is None or np.ndim(found):
            raise NotRunnable("a bound is not an integer")
        return int(found)

    # -- code --------------------------------------------------------------------------------

    def run(self, block: Block, arguments: Sequence[Any] = ()) -> list[Any]:
        self.env.update(zip(block.args, arguments, strict=True))
        for op in block.ops:
            self.step(op)
        last = block.last_op
        return [] if last is None else [self.get(value) for value in last.operands]

    def step(self, op: Operation) -> None:
        if op.name in _BINARY:
            self._set(op, _BINARY[op.name])
        elif op.name in _SAME:
            self.env[op.results[0]] = self.get(op.operands[0])
        elif op.name == "arith.cmpi":
            predicate = op.properties["predicate"].value.data
            self._set(op, _COMPARE[predicate])
        elif op.name == "arith.select":
            self._set(op, np.where)
        elif isinstance(op, LoadOp | StoreOp):
            self._element(op)
        elif isinstance(op, AtomicOp):
            self._atomic(op)
        elif isinstance(op, TileOp):
            self._tile(op)
        elif op.regions:
            self._control(op)
        elif op.name == "memref.dim":
            self._dim(op)
        elif op.name == "tile.view" and space_of(op.operands[0].type) is Space.GLOBAL:
            raise NotRunnable("a view")

    def _set(self, op: Operation, compute: Callable[..., Any]) -> None:
        values = [self.get(operand) for operand in op.operands]
        is_known = all(value is not None for value in values)
        self.env[op.results[0]] = compute(*values) if is_known else None

    def _dim(self, op: Operation) -> None:
        tensor = self._tensor(op.operands[0])
        self.env[op.results[0]] = tensor.shape[self.integer(op.operands[1])]

    def _control(self, op: Operation) -> None:
        match op:
            case ParallelOp():
                self._parallel(op)
            case PipelineOp():
                for index in range(self.integer(op.lower), self.integer(op.upper)):
                    self.run(op.body.block, [index])
            case PersistentOp():
                domain = [self.integer(extent) for extent in op.domain]
                wave, index = self.integer(op.wave_size), self.integer(op.index)
                for coordinates in tiles(domain, wave, index, op.group_size):
                    self.run(op.body.block, coordinates)
            case WsOp():
                for body in op.bodies:
                    self.run(body.block)
            case _ if op.name == "scf.for":
                self._for(op)
            case _ if op.name == "scf.while":
                self._while(op)
            case _ if op.name == "scf.if":
                self._if(op)
            case _:
                raise NotRunnable(op.name)

    def _parallel(self, op: ParallelOp) -> None:
        if np.ndim(self.active):
            raise NotRunnable("parallel loops in each other")
        extents = [self.integer(extent) for extent in op.extents]
        grid = np.meshgrid(*map(np.arange, extents), indexing="ij")
        before, self.active = self.active, np.ones(extents, bool).reshape(-1)
        self.run(op.body.block, [axis.reshape(-1) for axis in grid])
        self.active = before

    def _for(self, op: Operation) -> None:
        lower, upper, step = map(self.integer, op.operands[:3])
        carried = [self.get(value) for value in op.operands[3:]]
        for index in range(lower, upper, step):
            carried = self.run(op.regions[0].block, [index, *carried])
        self.env.update(zip(op.results, carried, strict=True))

    def _while(self, op: Operation) -> None:
        carried = [self.get(value) for value in op.operands]
        before, after = op.regions
        for _ in range(_MAX_ITERATIONS):
            condition, *carried = self.run(before.block, carried)
            if condition is None or np.ndim(condition):
                raise NotRunnable("a loop that memory ends")
            if not condition:
                self.env.update(zip(op.results, carried, strict=True))
                return
            carried = self.run(after.block, carried)
        raise NotRunnable("a long loop")

    def _if(self, op: Operation) -> None:
        condition = self.get(op.operands[0])
        before = (self.active, self.maybe)
        ends: list[list[Any]] = []
        for region, taken in zip(op.regions, (True, False), strict=True):
            if condition is None:
                self.maybe = True
            else:
                self.active = before[0] & (np.asarray(condition).astype(bool) == taken)
            if region.blocks and np.any(self.active):
                ends.append(self.run(region.block))
            elif region.blocks:
                ends.append([None] * len(op.results))
            self.active, self.maybe = before
        for index, result in enumerate(op.results):
            both = [end[index] for end in ends]
            is_known = condition is not None and all(value is not None for value in both)
            if condition is not None and not np.ndim(condition):
                self.env[result] = both[0 if condition else 1]
            else:
                self.env[result] = np.where(condition, *both) if is_known else None

    # -- accesses ----------------------------------------------------------------------------

    def _tensor(self, buffer: SSAValue) -> Tensor:
        type = buffer.type
        assert isinstance(type, MemRefType)
        name = buffer.name_hint or ""
        shape = tuple(
            size if size >= 0 else self.sizes[f"{name}.shape.{dim}"]
            for dim, size in enumerate(type.get_shape())
        )
        layout = type.layout
        if isinstance(layout, StridedLayoutAttr):
            strides = tuple(
                one.data if isinstance(one, IntAttr) else self.sizes[f"{name}.stride.{dim}"]
                for dim, one in enumerate(layout.strides.data)
            )
        else:
            strides = tuple(int(np.prod(shape[dim + 1 :])) for dim in range(len(shape)))
        return Tensor(name, shape, strides)

    def _element(self, op: LoadOp | StoreOp) -> None:
        for result in op.results:
            self.env[result] = None
        if space_of(op.memref.type) is Space.GLOBAL:
            kind = "load" if isinstance(op, LoadOp) else "store"
            self._note((op, 0), kind, op.memref, [self.get(index) for index in op.indices])

    def _atomic(self, op: AtomicOp) -> None:
        for result in op.results:
            self.env[result] = None
        if space_of(op.dst.type) is Space.GLOBAL:
            if op.is_element:
                indices = [self.get(index) for index in op.indices]
                self._note((op, 0), "atomic", op.dst, indices)
            else:
                self._region((op, 0), "atomic", op.dst)
        if op.value is not None and space_of(op.value.type) is Space.GLOBAL:
            self._region((op, 1), "load", op.value)

    def _tile(self, op: TileOp) -> None:
        if op.name == "tile.im2col":
            raise NotRunnable(op.name)
        part = 0
        for kind, names in (("load", op.READS), ("store", op.WRITES)):
            for name in names:
                value = getattr(op, name)
                if isinstance(value, SSAValue) and space_of(value.type) is Space.GLOBAL:
                    self._region((op, part), kind, value)
                    part += 1

    def _region(self, key: Key, kind: str, value: SSAValue) -> None:
        if np.ndim(self.active):
            raise NotRunnable("a region in a parallel loop")
        region = value.owner
        buffer = region.base if isinstance(region, RegionOp) else value
        shape = self._tensor(buffer).shape
        offsets: Sequence[Any] = (0,) * len(shape)
        extents: Sequence[Any] = shape
        if isinstance(region, RegionOp):
            offsets = [self.get(offset) for offset in region.offsets]
            extents = [self.integer(extent) for extent in region.extents]
        if any(offset is None for offset in offsets):
            self._note(key, kind, buffer, [None])
            return
        axes = np.meshgrid(*map(np.arange, extents), indexing="ij")
        pairs = zip(axes, offsets, strict=True)
        self._note(key, kind, buffer, [axis.reshape(-1) + offset for axis, offset in pairs])

    def _note(self, key: Key, kind: str, buffer: SSAValue, indices: Sequence[Any]) -> None:
        self.kinds[key] = kind
        if self.maybe or any(index is None for index in indices):
            self.unsure.add(key)
            return
        tensor = self._tensor(buffer)
        inside: Any = True
        flat: Any = 0
        for index, size, stride in zip(indices, tensor.shape, tensor.strides, strict=True):
            inside = inside & (np.asarray(index) >= 0) & (np.asarray(index) < size)
            flat = flat + np.asarray(index) * stride
        flat, inside, active = np.broadcast_arrays(flat, inside, self.active)
        if np.any(active & ~inside):
            self.outside.add(key)
        found = flat[active & inside] * element_bytes(buffer.type)
        self.accessed[key][self.block].update(found.reshape(-1).tolist())


def run_blocks(kernel: TileKernel, facts: AccessProperties) -> Oracle:
    """All blocks of a kernel, in the order of the analysis: the first index is the slowest."""
    oracle = Oracle(facts.args)
    arguments = kernel.function.body.block.args
    for argument in arguments:
        if not isinstance(argument.type, MemRefType):
            oracle.env[argument] = facts.args.get(argument.name_hint or "")
    for op in kernel.function.body.block.ops:
        if op is kernel.op:
            break
        if not op.regions:
            oracle.step(op)
    grid = [oracle.integer(count) for count in kernel.op.grid]
    for index, coordinates in enumerate(product(*map(range, grid))):
        oracle.block = index
        oracle.run(kernel.op.body.block, coordinates)
    return oracle


# -- comparing -----------------------------------------------------------------------------------


@dataclass
class Compared:
    """How much of a report was held against the oracle, and what was wrong."""

    wrong: list[str] = field(default_factory=list)
    addresses: int = 0
    decided: int = 0
    """Verdicts on races that are proved or refuted."""
    open: int = 0
    refuted: int = 0


def compare(
    kernel: TileKernel, facts: AccessProperties, settings: Settings | None = None
) -> Compared:
    """Compare every result about a kernel with its execution. Raises ``NotRunnable``."""
    oracle = run_blocks(kernel, facts)
    report = analyze_tile(kernel, facts)
    found = Compared()
    keys = _keys(report)
    for key in oracle.kinds:
        if key not in keys.values() and not any(
            each.operation is key[0] for each in report.not_analysed
        ):
            found.wrong.append(f"{key[0].name} is not in the report")
    _addresses(report, oracle, keys, found)
    findings = run_checks(report, ["race", "bounds"], settings)
    for finding in findings:
        involved = [keys[index] for index in finding.accesses]
        if not involved or any(key in oracle.unsure for key in involved):
            found.open += finding.check is Check.RACE
            continue
        if finding.check is Check.RACE:
            _race(finding, involved, oracle, found)
        elif finding.check is Check.GUARD and finding.verdict is not CheckResult.UNKNOWN:
            is_outside = involved[0] in oracle.outside
            if (finding.verdict is CheckResult.REFUTED) != is_outside:
                found.wrong.append(f"{finding}; but outside: {is_outside}")
        elif finding.check is Check.BOUNDS and finding.verdict is CheckResult.REFUTED:
            found.wrong.append(f"{finding}; but the language guards it")
    return found


def _keys(report: AddressReport) -> dict[int, Key]:
    firsts: dict[Operation, int] = {}
    for access in report.accesses:
        firsts[access.operation] = min(firsts.get(access.operation, access.index), access.index)
    return {
        access.index: (access.operation, access.index - firsts[access.operation])
        for access in report.accesses
    }


def _addresses(
    report: AddressReport, oracle: Oracle, keys: Mapping[int, Key], found: Compared
) -> None:
    launch = Launch(report, Settings())
    for access in report.accesses:
        key = keys[access.index]
        if key in oracle.unsure:
            continue
        own: dict[int, set[int]] = defaultdict(set)
        try:
            for chunk in launch.enumeration(access, every_program=True).chunks():
                _collect(chunk, own)
        except NotEnumerable:
            continue
        other = {block: accessed for block, accessed in oracle.accessed[key].items() if accessed}
        found.addresses += 1
        if own != other:
            found.wrong.append(
                f"{access}: {access.offset} where {access.mask}: {_first(own, other)}"
            )


def _collect(chunk: Any, own: dict[int, set[int]]) -> None:
    owners = np.broadcast_to(
        chunk.programs.reshape(-1, *(1,) * (chunk.active.ndim - 1)), chunk.active.shape
    )
    for program in np.unique(owners[chunk.active]):
        own[int(program)].update(chunk.offset[chunk.active & (owners == program)].tolist())


def _first(own: Mapping[int, set[int]], other: Mapping[int, set[int]]) -> str:
    for block in sorted({*own, *other}):
        here, there = own.get(block, set()), other.get(block, set())
        if here != there:
            extra, missing = sorted(here - there)[:3], sorted(there - here)[:3]
            return f"block {block} has {extra} too many and lacks {missing}"
    return ""


def _race(finding: Any, involved: Sequence[Key], oracle: Oracle, found: Compared) -> None:
    if finding.verdict is CheckResult.UNKNOWN:
        found.open += 1
        return
    found.decided += 1
    found.refuted += finding.verdict is CheckResult.REFUTED
    left, right = involved
    is_race = any(True for _ in _conflicts(oracle.accessed[left], oracle.accessed[right]))
    if is_race != (finding.verdict is CheckResult.REFUTED):
        found.wrong.append(f"{finding}; but two blocks conflict: {is_race}")


def _conflicts(
    left: Mapping[int, set[int]], right: Mapping[int, set[int]]
) -> Iterator[tuple[int, int]]:
    owners: dict[int, set[int]] = defaultdict(set)
    for block, accessed in right.items():
        for at in accessed:
            owners[at].add(block)
    for block, accessed in left.items():
        for at in accessed:
            for other in owners.get(at, ()):
                if other != block:
                    yield block, other
