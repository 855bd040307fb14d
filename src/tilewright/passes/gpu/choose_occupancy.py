"""`choose-occupancy`: how many blocks of a kernel with MMAs share a multiprocessor.

    blocks = min(shared memory, tensor memory, 1024 threads, grid)
             then as many of them as registers allow

While the MMAs of one block wait for data, another block's run. The launch divides the registers of
a multiprocessor among all threads of so many blocks, and the roles of a block divide what it gets
among themselves (`set-warp-registers`). The fragments that a role uses are a lower bound for what
its threads need; with `_OVERHEAD` more, spills are rare. Where there are some, the compiler runs
again with `max-blocks` (TW5015). A block that finds too few columns of tensor memory waits for the
end of another one: registers are divided among no more blocks than have columns.

A grid with fewer blocks than multiprocessors leaves one block on each. Kernels without MMAs get
no bound here: what they need of registers is known only after a compilation, which may be repeated
with a bound then (`targets/cuda/occupancy`). Nothing is changed where the user gives
`T.annotate_min_blocks_per_sm`, or registers to roles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation, Region, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import MmaOp, SetMaxNRegOp, Tcgen05AllocOp, Tcgen05MmaOp, WgmmaOp
from tilewright.dialects.simt import LaunchOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, Space
from tilewright.dialects.tile.warps import Role, WsOp
from tilewright.dialects.type_utils import bit_width, element_type_of, num_elements
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.memory.multiprocessors import MULTIPROCESSORS, REGISTER_STEP, REGISTERS
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.gpu.set_warp_registers import described, registers_of_roles

_OVERHEAD = 32
"""Registers of a thread beside its fragments: addresses, counters, values between instructions."""
_THREADS = 1024
"""Threads of a multiprocessor from which more do not hide more: 8 warps for each tensor core. More
blocks run where registers are left, but none are taken from threads for them."""
_MAX_REGISTERS = 255
_REGISTER_BITS = 32


@dataclass(frozen=True)
class ChooseOccupancy(Pass):
    """Choose how many blocks of a kernel share a multiprocessor."""

    name = "choose-occupancy"

    max_blocks: int | None = None
    """The most blocks of a multiprocessor; None for no limit."""

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        launches = [op for op in walk(module) if isinstance(op, LaunchOp)]
        for function in module.body.ops:
            if not isinstance(function, FuncOp) or simt_names.KERNEL not in function.attributes:
                continue
            if simt_names.MIN_BLOCKS in function.attributes or not _has_free_choice(function):
                continue
            blocks = min(_blocks(function, launches), self.max_blocks or REGISTERS)
            if blocks > 1:
                function.attributes[simt_names.MIN_BLOCKS] = IntegerAttr(blocks, i64)


def _has_free_choice(function: FuncOp) -> bool:
    has_mmas = False
    for op in walk(function):
        if isinstance(op, SetMaxNRegOp):
            return False
        if isinstance(op, WsOp) and any(role.registers for role in op.roles):
            return False
        has_mmas |= isinstance(op, WgmmaOp | MmaOp | Tcgen05MmaOp)
    return has_mmas and amd_chip_of(function) is None and arch_of(function) in MULTIPROCESSORS


def _blocks(function: FuncOp, launches: list[LaunchOp]) -> int:
    threads = _integer(function, simt_names.THREADS)
    limit = min(blocks_without_registers(function, launches), _THREADS // threads)
    if limit <= 1:
        return 1
    needs = [_Needs.of(op) for op in walk(function) if isinstance(op, WsOp)] or [
        _Needs([], [_need(function.body)])
    ]
    fitting = range(min(limit, REGISTERS // (threads * _at_launch(function))), 1, -1)
    return next((n for n in fitting if all(each.are_available(threads, n) for each in needs)), 1)


def blocks_without_registers(function: FuncOp, launches: Sequence[LaunchOp]) -> int:
    """Blocks of a kernel that threads, memory and the grid permit on a multiprocessor."""
    processor = MULTIPROCESSORS[arch_of(function)]
    threads = _integer(function, simt_names.THREADS)
    columns = sum(op.columns.value.data for op in walk(function) if isinstance(op, Tcgen05AllocOp))
    limit = processor.blocks_of(threads, _integer(function, simt_names.SHARED_BYTES), columns)
    grids = [_grid(op) for op in launches if op.kernel.string_value() == function.sym_name.data]
    if not grids or None in grids:
        return limit
    return min(limit, -(-max(each for each in grids if each is not None) // processor.count))


def _at_launch(function: FuncOp) -> int:
    """The least registers of a thread at launch: ptxas refuses MMAs that do not fit in those
    (C7602), whatever a role gets later."""
    results = (op.accumulators for op in walk(function) if isinstance(op, WgmmaOp))
    return max(results, default=0) + _OVERHEAD


@dataclass(frozen=True)
class _Needs:
    """Registers that a thread of each role needs; one number if there are no roles."""

    roles: list[tuple[Role, bool, bool]]
    registers: list[int]

    @staticmethod
    def of(op: WsOp) -> _Needs:
        roles = described(op)
        found = [
            0 if is_producer else _need(region)
            for region, (_, is_producer, _) in zip(op.bodies, roles, strict=True)
        ]
        return _Needs(roles, found)

    def are_available(self, threads: int, blocks: int) -> bool:
        """Whether they are there with so many blocks."""
        launch = REGISTERS // (threads * blocks) // REGISTER_STEP * REGISTER_STEP
        given = registers_of_roles(self.roles, threads, blocks) if self.roles else None
        available = given or [launch] * len(self.registers)
        return all(
            need <= min(count, _MAX_REGISTERS)
            for need, count in zip(self.registers, available, strict=True)
        )


def _need(region: Region) -> int:
    """Registers of a thread that runs `region`, estimated by its fragments."""
    arrays: set[SSAValue] = set()
    for op in region.walk():
        arrays.update(value for value in op.operands if _is_array(value))
    bits = sum(num_elements(each.type) * bit_width(element_type_of(each.type)) for each in arrays)
    return -(-bits // _REGISTER_BITS) + _OVERHEAD


def _is_array(value: SSAValue) -> bool:
    """Whether `value` is registers that live throughout, not only in one iteration of a loop."""
    op = value.owner
    if not isinstance(op, AllocOp) or op.space is not Space.LOCAL:
        return False
    around = op.parent_op()
    return isinstance(around, FuncOp | WsOp)


def _grid(launch: LaunchOp) -> int | None:
    """The number of blocks of a launch; None if it is a run-time value."""
    extents = [_constant(each) for each in launch.grid]
    return None if None in extents else prod(each for each in extents if each is not None)


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    found = owner.properties["value"] if isinstance(owner, ConstantOp) else None
    return found.value.data if isinstance(found, IntegerAttr) else None


def _integer(function: Operation, name: str) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else 0
