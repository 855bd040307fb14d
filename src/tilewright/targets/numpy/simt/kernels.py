"""Device functions, compiled: what one block needs to run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, MemRefType
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.amd.moves import BufferLoadOp, BufferStoreOp
from tilewright.dialects.func import FuncOp, argument_attributes
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp
from tilewright.dialects.nv.matrix import WgmmaOp
from tilewright.dialects.nv.tensor_memory import Tcgen05AllocOp, Tcgen05LdOp
from tilewright.dialects.nv.updates import RedAddOp
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.moves import MoveOp
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.kernel import KernelOp
from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.memory.units import element_bytes
from tilewright.targets.numpy.api import Grid
from tilewright.targets.numpy.simt import (
    amd,
    control,
    copies,
    lanes,
    launch_control,
    matrix_cores,
    memory,
    mma,
    sync,
    tcgen05,
    tensor_moves,
    views,
)
from tilewright.targets.numpy.simt.program import Compiler, Rule, SimtCode
from tilewright.targets.numpy.simt.state import GROUP
from tilewright.targets.numpy.simt.sync import is_narrow

_BARRIER_BYTES = 8
_ARENA_STEP = 1024
DEFAULT_THREADS = 128


class Rules(Mapping[str, Rule]):
    """The table of all ops; arithmetic has one rule for all."""

    def __init__(self, special: Mapping[str, Rule]) -> None:
        self.special = special

    def __getitem__(self, name: str) -> Rule:
        found = self.special.get(name)
        if found is not None:
            return found
        if name.startswith(("arith.", "math.")):
            return control.scalar_rule
        raise KeyError(name)

    def __iter__(self) -> Any:
        return iter(self.special)

    def __len__(self) -> int:
        return len(self.special)


DEVICE = Rules(
    {
        **control.RULES,
        **memory.RULES,
        **views.RULES,
        **sync.RULES,
        **copies.RULES,
        **mma.RULES,
        **launch_control.RULES,
        **tcgen05.RULES,
        **tensor_moves.RULES,
        **matrix_cores.RULES,
        **lanes.RULES,
        **amd.RULES,
    }
)


@dataclass(eq=False)
class Kernel:
    """A device function, compiled."""

    op: Operation
    code: SimtCode
    compiler: Compiler
    arguments: list[int]
    threads: int
    shared_bytes: int
    granule: int
    cluster: Grid
    watched: frozenset[int]
    """Positions of tensors that it writes in one op and accesses in another, or again."""
    unit: int
    """Threads that may run in lockstep."""
    min_unit: int
    """Threads that must run in lockstep."""
    warp_size: int
    has_narrow_barriers: bool
    """Whether some barriers order accesses to shared memory alone."""
    has_tensor_memory: bool


def compile_kernel(function: FuncOp) -> Kernel:
    """The device function as Python functions."""
    threads = _integer(function, simt_names.THREADS, DEFAULT_THREADS)
    return compiled(function, function.body.block, Compiler(DEVICE), threads)


def compiled(op: Operation, block: Block, compiler: Compiler, threads: int) -> Kernel:
    """The body of a kernel as Python functions."""
    compiler.tracked = _tracked(op)
    compiler.warp_size = warp_size = warp_size_of(op)
    compiler.has_init = any(each.name == "nv.mbarrier.init" for each in op.walk())
    shared = _assign_offsets(op, compiler)
    arguments = compiler.all_slots(block.args)
    code = compiler.code(block)
    sizes = [
        element_bytes(bit_width(each.result.type))
        for each in op.walk()
        if isinstance(each, AllocOp) and each.space.is_shared and not each.space.is_barrier
    ]
    granule = max(1, min([*sizes, _BARRIER_BYTES]))
    watched = frozenset(n for n, same in _same_tensors(block).items() if _is_contended(same))
    return Kernel(
        op,
        code,
        compiler,
        arguments,
        threads,
        shared,
        granule,
        _cluster(op),
        watched,
        _unit(op, threads),
        GROUP if any(isinstance(each, WgmmaOp) for each in op.walk()) else warp_size,
        warp_size,
        any(isinstance(each, BarrierOp) and is_narrow(each) for each in op.walk()),
        any(isinstance(each, Tcgen05AllocOp) for each in op.walk()),
    )


def _unit(op: Operation, threads: int) -> int:
    """Threads that may run in lockstep: all, unless roles follow each other in the code.

    Such roles still run concurrently, so that one may wait for a later one.
    """
    if sum(isinstance(each, WsOp) for each in op.walk()) < 2:
        return threads
    ranges = [
        bound
        for each in op.walk()
        if isinstance(each, WsOp)
        for role in each.roles
        for span in role.ranges
        for bound in span
    ]
    return gcd(threads, *ranges)


def _same_tensors(block: Block) -> dict[int, list[SSAValue]]:
    """For each argument that is a tensor, those in the same memory, itself included."""
    keys = [argument_attributes(each).get(simt_names.TENSOR, each) for each in block.args]
    tensors = [each for each in block.args if isinstance(each.type, MemRefType)]
    return {
        tensor.index: [each for each in tensors if keys[each.index] == keys[tensor.index]]
        for tensor in tensors
    }


def _uses(buffer: SSAValue) -> Iterator[tuple[Operation, SSAValue]]:
    """Ops that use a tensor, and the name that they know it by: views are looked through."""
    for use in buffer.uses:
        op = use.operation
        is_viewed = isinstance(op, ViewOp | PtrOfOp) or op.name == "memref.collapse_shape"
        if is_viewed and use.index == 0:
            yield from _uses(op.results[0])
        else:
            yield op, buffer


def _is_contended(arguments: Sequence[SSAValue]) -> bool:
    """Whether threads write a tensor that others read or write.

    That is so if several ops access it, or one that writes it in iterations of a loop, unless
    those are a thread's share of elements, which are its own. Atomic updates need no order among
    themselves, but with other accesses they do.
    """
    reads = writes = updates = 0
    for op, argument in (each for one in arguments for each in _uses(one)):
        updates += isinstance(op, AtomicOp | RedAddOp)
        is_move = isinstance(op, MoveOp | BufferLoadOp | BufferStoreOp)
        reads += isinstance(op, LoadOp | HintedLoadOp) or (is_move and op.src is argument)
        if isinstance(op, StoreOp | HintedStoreOp) or (is_move and op.dst is argument):
            writes += 2 if _is_in_iterations(op) else 1
    return writes > 1 or (reads > 0 and writes > 0) or (updates > 0 and reads + writes > 0)


def _is_in_iterations(op: Operation) -> bool:
    """Whether an op is in a loop that is not a thread's share of a parallel one."""
    around = op.parent_op()
    while around is not None:
        if isinstance(around, WhileOp):
            return True
        if isinstance(around, ForOp) and simt_names.SHARE not in around.attributes:
            return True
        around = around.parent_op()
    return False


def _cluster(op: Operation) -> Grid:
    found = op.cluster if isinstance(op, KernelOp) else op.attributes.get(nv_names.CLUSTER)
    extents: tuple[int, ...] = ()
    if isinstance(found, DenseArrayBase):
        extents = tuple(int(each) for each in found.get_values())
    elif isinstance(found, ArrayAttr):
        extents = tuple(each.value.data for each in found.data if isinstance(each, IntegerAttr))
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


def _tracked(function: Operation) -> set[SSAValue]:
    """Registers that asynchronous MMAs read or write."""
    found: set[SSAValue] = set()
    for op in function.walk():
        if isinstance(op, WgmmaOp):
            found.add(op.acc)
            if op.a_index is not None:
                found.add(op.a)
        elif isinstance(op, Tcgen05LdOp):
            found.add(op.registers_buffer)
    return found


def _assign_offsets(function: Operation, compiler: Compiler) -> int:
    """The addresses of shared buffers; those without an offset are allocated consecutively."""
    top = _integer(function, simt_names.SHARED_BYTES, 0)
    for op in function.walk():
        if not isinstance(op, AllocOp) or op.space.is_per_thread:
            continue
        if op.offset_bytes is not None:
            compiler.offsets[op] = op.offset_bytes
            continue
        compiler.offsets[op] = top = -(-top // _ARENA_STEP) * _ARENA_STEP
        size = _BARRIER_BYTES if op.space.is_barrier else element_bytes(bit_width(op.result.type))
        top += num_elements(op.result.type) * size
    return top


def _integer(function: Operation, name: str, default: int) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default
