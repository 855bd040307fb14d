"""Ops built in Python are those of the text, and say about themselves what was put in."""

import pytest
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, ModuleOp, f16, f32
from xdsl.ir import SSAValue

from tests.dialects.tile.support import fill, objections_to, parse
from tilewright.dialects.arith.constant import ConstantOp
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.dialects.memref import DimOp, LoadOp, StoreOp
from tilewright.dialects.nv import MBARRIER
from tilewright.dialects.tile import (
    AllocOp,
    AsyncCopyOp,
    AtomicOp,
    CopyOp,
    FillOp,
    GemmOp,
    KernelOp,
    LayoutAttr,
    ParallelOp,
    PersistentOp,
    PipelineOp,
    RasterAttr,
    ReduceOp,
    RegionOp,
    RegionType,
    Role,
    Space,
    WsOp,
    buffer_type,
    kernel_of,
    space_attr,
    space_of,
)
from tilewright.dialects.tile.mixed import INDEX, known
from tilewright.ir.text import print_module


def index(value: int) -> ConstantOp:
    from xdsl.dialects.builtin import IntegerAttr

    return ConstantOp(IntegerAttr(value, INDEX))


def built() -> tuple[ModuleOp, KernelOp, list[PipelineOp]]:
    """A product of matrices of 256 by 256."""
    matrix = buffer_type(f16, (256, 256), "global")
    result = buffer_type(f32, (256, 256), Space.GLOBAL)
    function = FuncOp("main", ([matrix, matrix, result], []))
    a, b, c = function.args
    kernel = KernelOp((4, index(4)), 128, raster=RasterAttr.of("row", 8))
    bx, by = kernel.arguments
    a_s = AllocOp(buffer_type(f16, (64, 32), "shared"), name="A_shared")
    b_s = AllocOp(buffer_type(f16, (32, 64), "shared"), name="B_shared")
    acc = AllocOp(buffer_type(f32, (64, 64), "fragment"), name="C_local")
    zero = ConstantOp(FloatAttr(0.0, f32))
    loop = PipelineOp(0, 8, num_stages=3)
    k = loop.induction_variable
    a_r = RegionOp(a, (by, k), (64, 32))
    b_r = RegionOp(b, (k, bx), (32, 64))
    body = [
        a_r,
        b_r,
        CopyOp(a_r, a_s),
        CopyOp(b_r, b_s),
        GemmOp(a_s, b_s, acc, policy="full_row"),
    ]
    loop.body_block.insert_ops_before(body, loop.body_block.last_op)
    c_r = RegionOp(c, (by, bx), (64, 64))
    fill(kernel, [a_s, b_s, acc, zero, FillOp(acc, zero), loop, c_r, CopyOp(acc, c_r)])
    function.body.block.add_ops([kernel, ReturnOp()])
    return ModuleOp([function]), kernel, [loop]


def test_a_kernel_built_in_python():
    module, kernel, (loop,) = built()
    assert objections_to(module) == []
    assert kernel.grid == (4, 4)
    assert kernel.thread_extents == (128,)
    assert kernel.num_threads == 128
    assert kernel_of(loop) is kernel
    assert kernel_of(kernel) is None
    assert (loop.lower, loop.upper, loop.stages) == (0, 8, 3)
    assert print_module(parse(print_module(module))) == print_module(module)
    assert "%A_shared = tile.alloc" in print_module(module)
    kernel.set_threads((32, 8))
    assert kernel.num_threads == 256


def test_a_clone_prints_the_same():
    module, *_ = built()
    assert print_module(module.clone()) == print_module(module)


def test_constants_are_known_numbers():
    n = FuncOp("f", ([INDEX], [])).args[0]
    loop = ParallelOp((index(8), n, 4))
    assert loop.extents == (8, n, 4)
    assert loop.ranges == ((0, 8), (0, n), (0, 4))
    assert len(loop.operands) == 1
    assert known(index(5)) == 5
    assert known(n) is n


def test_region_types_follow_the_extents():
    function = FuncOp("f", ([buffer_type(f16, (64, DYNAMIC_INDEX), "global"), INDEX], []))
    buffer, n = function.args
    region = RegionOp(buffer, (n, 3), (index(8), n))
    assert region.type == RegionType(f16, (8, DYNAMIC_INDEX), "global")
    assert region.offsets == (n, 3)
    assert region.extents == (8, n)
    assert str(region.type) == "!tile.region<8x?xf16, #tile.space<global>>"


def test_marks_and_words():
    shared = AllocOp(buffer_type(f16, (32, 32), "shared")).result
    acc = AllocOp(buffer_type(f32, (32, 32), "fragment")).result
    gemm = GemmOp(shared, shared, acc, transpose_b=True, asynchronous=True)
    assert gemm.transpose_b and not gemm.transpose_a and not gemm.clear
    assert gemm.is_async()
    assert gemm.policy.data == "square"
    assert gemm.mnk == (32, 32, 32)
    reduce = ReduceOp(acc, acc, "max", 1, clear=False)
    assert not reduce.clear
    assert reduce.axis == 1
    assert ReduceOp(acc, acc, "max", 0).clear
    assert CopyOp(shared, acc, disable_tma=True).disable_tma
    copy = AsyncCopyOp(shared, shared, instruction="tma")
    assert copy.is_bulk


def test_gemm_extents_with_both_sides_transposed():
    a = AllocOp(buffer_type(f16, (32, 64), "shared")).result
    b = AllocOp(buffer_type(f16, (128, 32), "shared")).result
    c = AllocOp(buffer_type(f32, (64, 128), "fragment")).result
    assert GemmOp(a, b, c, transpose_a=True, transpose_b=True).mnk == (64, 128, 32)


def test_buffers():
    bars = AllocOp(buffer_type(MBARRIER, (2,), "barrier"), init=(1, 128), name="full")
    assert bars.arrive_counts == (1, 128)
    assert bars.space is Space.BARRIER and bars.space.is_barrier
    assert bars.buffer_name == "full"
    placed = AllocOp(buffer_type(f16, (8,), "shared"), offset=64, dtype="uint16")
    assert placed.offset_bytes == 64
    assert placed.buffer_name == "buffer"
    layout = LayoutAttr.from_function((8,), lambda i: i)
    assert AllocOp(buffer_type(f16, (8,), "shared"), layout=layout).layout == layout
    odd = AllocOp(buffer_type(f16, (8,), "shared"), name="a b")
    assert odd.result.name_hint is None
    assert odd.buffer_name == "a b"


def test_spaces():
    assert space_of(buffer_type(f16, (8,), "local")) is Space.LOCAL
    assert space_of(f16) is None
    assert space_attr("shared") is space_attr(Space.SHARED)
    assert [space for space in Space if space.is_shared] == [Space.SHARED, Space.SHARED_STATIC]
    assert [space for space in Space if not space.is_on_chip] == [Space.GLOBAL, Space.DRAM]
    per_thread = [space for space in Space if space.is_per_thread]
    assert per_thread == [Space.LOCAL, Space.VAR, Space.DESCRIPTOR]


def test_elements():
    buffer = AllocOp(buffer_type(f32, (4, 4), "local")).result
    i = SSAValue.get(index(1))
    load = LoadOp(buffer, (i, i))
    assert load.result.type == f32
    assert list(StoreOp(load, buffer, (i, i)).indices) == [i, i]
    assert DimOp(buffer, i).result.type == INDEX
    atomic = AtomicOp("add", buffer, (i, i), load, return_previous=True)
    assert atomic.is_element
    assert atomic.previous is not None and atomic.previous.type == f32
    assert AtomicOp("add", buffer, value=buffer).previous is None
    assert AtomicOp("load", buffer, (i, i)).previous is not None


def test_persistent():
    i = SSAValue.get(index(1))
    loop = PersistentOp((4, i), 132, i, group_size=2)
    assert loop.domain == (4, 1)
    assert (loop.wave_size, loop.group_size, loop.index) == (132, 2, i)
    assert len(loop.arguments) == 2


def test_roles():
    roles = (Role("producer", ((0, 128),), 24), Role("rest", ((128, 256), (384, 512))))
    op = WsOp(roles)
    assert op.roles == roles
    assert not op.is_custom
    assert [role.num_threads for role in op.roles] == [128, 256]
    assert objections_to(op) == []
    assert WsOp(roles[:1], custom=True).is_custom


@pytest.mark.parametrize("count", [0, 3])
def test_manual_schedule(count: int):
    loop = PipelineOp(0, 4, stage=range(count), order=range(count), group=[[0, 1]], sync=[[0]])
    assert loop.manual_stage == loop.manual_order == tuple(range(count))
    assert objections_to(loop) == []
