"""Kernels without MMAs whose registers leave a multiprocessor few threads are compiled again."""

from __future__ import annotations

import pytest
from xdsl.dialects.builtin import IndexType, IntegerAttr, MemRefType, NoneAttr, i32, i64

from tests.targets.numpy.simt.tensor_memory_kernels import Gemm, gemm_text, parsed
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.nv import SetMaxNRegOp, Tcgen05AllocOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, Space, SpaceAttr, names
from tilewright.dialects.tile.attributes import TargetAttr
from tilewright.targets.cuda.emit.kernel import kernels_of
from tilewright.targets.cuda.occupancy import larger_occupancies, resident_blocks
from tilewright.targets.metadata import KernelMetadata


@pytest.mark.parametrize(
    ("threads", "registers", "blocks"),
    [(256, 68, 3), (256, 40, 6), (256, 56, 4), (128, 33, 12), (1024, 64, 1), (1024, 32, 2)],
)
def test_blocks_that_registers_permit(threads: int, registers: int, blocks: int) -> None:
    assert resident_blocks(threads, registers) == blocks


def kernel(threads: int = 256, shared_bytes: int = 0) -> FuncOp:
    function = FuncOp("k", ([], []))
    function.body.block.add_op(ReturnOp())
    function.attributes[simt_names.THREADS] = IntegerAttr(threads, i64)
    function.attributes[simt_names.SHARED_BYTES] = IntegerAttr(shared_bytes, i64)
    return function


def tried(function: FuncOp, registers: int, threads: int = 256, spill: int = 0) -> tuple[int, ...]:
    metadata = KernelMetadata("k", "sm_90a", threads, 0, (), registers=registers, spill_bytes=spill)
    return larger_occupancies(function, [], metadata)


def test_what_is_tried() -> None:
    assert tried(kernel(), 68) == (6, 4)
    assert tried(kernel(), 56) == (6,)  # it has one half
    assert tried(kernel(), 40) == ()  # three quarters
    assert tried(kernel(), 255, spill=8) == ()
    assert tried(kernel(1024), 64, 1024) == (2,)
    assert tried(kernel(shared_bytes=50 << 10), 68) == (4,)  # as many as memory permits
    assert tried(kernel(shared_bytes=70 << 10), 68) == ()


def test_the_users_numbers_stay() -> None:
    given = kernel()
    given.attributes[simt_names.MIN_BLOCKS] = IntegerAttr(1, i64)
    assert tried(given, 68) == ()
    divided = kernel()
    divided.body.block.insert_op_before(
        SetMaxNRegOp(40, increase=False), divided.body.block.ops.first
    )
    assert tried(divided, 68) == ()


def blackwell(columns: int) -> FuncOp:
    """A kernel that allocates columns of tensor memory."""
    function = kernel()
    function.attributes[names.TARGET] = TargetAttr.of("cuda", "sm_100a")
    slot = AllocOp(MemRefType(i32, (1,), NoneAttr(), SpaceAttr(Space.SHARED)), name="slot")
    zero = ConstantOp.of(0, IndexType())
    end = function.body.block.last_op
    assert end is not None
    alloc = Tcgen05AllocOp(slot.result, zero.result, columns)
    function.body.block.insert_ops_before([slot, zero, alloc], end)
    return function


@pytest.mark.parametrize(("columns", "blocks"), [(512, ()), (256, ()), (128, (4,)), (32, (6, 4))])
def test_no_more_blocks_than_have_columns_of_tensor_memory(
    columns: int, blocks: tuple[int, ...]
) -> None:
    """A block that finds too few waits for the end of another one."""
    assert tried(blackwell(columns), 68) == blocks


def test_kernels_with_mmas_into_tensor_memory_are_left_alone() -> None:
    """`choose-occupancy` has decided on them."""
    (function,) = kernels_of(parsed(gemm_text(Gemm(n=32))))
    function.attributes[names.TARGET] = TargetAttr.of("cuda", "sm_100a")
    function.attributes[simt_names.SHARED_BYTES] = IntegerAttr(16 << 10, i64)
    assert tried(function, 255, 128) == ()
