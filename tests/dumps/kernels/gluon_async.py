"""Gluon kernels for the asynchronous engines: TMA, barriers, warp groups, tensor memory, clusters."""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia import blackwell, hopper

from ..case import HOPPER_UP, Case, case

SINCE = (3, 9)


@gluon.jit
def tma_round_trip(src, dst, x, y):
    buffer = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    ready = hopper.mbarrier.allocate_mbarrier()
    hopper.mbarrier.init(ready, count=1)
    hopper.mbarrier.expect(ready, src.block_type.nbytes)
    hopper.tma.async_load(src, [x, y], ready, buffer)
    hopper.mbarrier.wait(ready, 0)
    hopper.mbarrier.invalidate(ready)
    hopper.tma.async_store(dst, [x, y], buffer)
    hopper.tma.async_atomic_add(dst, [y, x], buffer)
    hopper.tma.store_wait(pendings=0)


@gluon.jit
def warpgroup_product(a, b, out, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr):
    left = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    ready = hopper.mbarrier.allocate_mbarrier()
    hopper.mbarrier.init(ready, count=1)
    hopper.mbarrier.expect(ready, a.block_type.nbytes + b.block_type.nbytes)
    hopper.tma.async_load(a, [0, 0], ready, left)
    hopper.tma.async_load(b, [0, 0], ready, right)
    hopper.mbarrier.wait(ready, 0, deps=[left, right])
    layout: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, N, 16])
    acc = gl.zeros([M, N], gl.float32, layout=layout)
    acc = hopper.warpgroup_mma(left, right, acc, is_async=True)
    acc = hopper.warpgroup_mma(left, right, acc, use_acc=False, is_async=True)
    acc = hopper.warpgroup_mma_wait(num_outstanding=0, deps=[acc])
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, layout))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, layout))
    gl.store(out + rm[:, None] * N + rn[None, :], acc)


@gluon.jit
def producer(src, ring, empty, full, steps):
    phase = 1
    for i in range(steps):
        stage = i % 2
        hopper.mbarrier.wait(empty.index(stage), phase)
        hopper.mbarrier.expect(full.index(stage), src.block_type.nbytes)
        hopper.tma.async_load(src, [i * 64, 0], full.index(stage), ring.index(stage))
        if stage == 1:
            phase ^= 1


@gluon.jit
def consumer(dst, ring, empty, full, steps, layout: gl.constexpr):
    rm = gl.arange(0, 64, layout=gl.SliceLayout(1, layout))
    rn = gl.arange(0, 64, layout=gl.SliceLayout(0, layout))
    total = gl.zeros([64, 64], gl.float32, layout=layout)
    phase = 0
    for i in range(steps):
        stage = i % 2
        hopper.mbarrier.wait(full.index(stage), phase)
        total += ring.index(stage).load(layout)
        hopper.mbarrier.arrive(empty.index(stage), count=1)
        if stage == 1:
            phase ^= 1
    gl.store(dst + rm[:, None] * 64 + rn[None, :], total)


@gluon.jit
def specialized_pipeline(src, dst, steps):
    layout: gl.constexpr = gl.BlockedLayout([1, 4], [2, 16], [4, 1], [1, 0])
    ring = gl.allocate_shared_memory(src.dtype, [2, 64, 64], src.layout)
    empty = hopper.mbarrier.allocate_mbarrier(batch=2)
    full = hopper.mbarrier.allocate_mbarrier(batch=2)
    for i in gl.static_range(2):
        hopper.mbarrier.init(empty.index(i), count=1)
        hopper.mbarrier.init(full.index(i), count=1)
    gl.warp_specialize(
        [
            (consumer, (dst, ring, empty, full, steps, layout)),
            (producer, (src, ring, empty, full, steps)),
        ],
        [1],
        [24],
    )


@gluon.jit
def distributed_barriers(src, dst):
    buffer = gl.allocate_shared_memory(src.dtype, src.block_type.shape, src.layout)
    ready = hopper.mbarrier.allocate_mbarrier()
    hopper.mbarrier.init(ready, count=1)
    hopper.cluster.barrier()
    hopper.mbarrier.expect(ready, src.nbytes_per_cta)
    hopper.tma.async_load(src, [0, 0], ready, buffer, multicast=True)
    hopper.mbarrier.wait(ready, 0)
    hopper.cluster.barrier(relaxed=True)
    gl.barrier(cluster=True)
    hopper.tma.async_store(dst, [0, 0], buffer)
    hopper.tma.store_wait(0)


@gluon.jit
def tensor_memory_product(a, b, out, M: gl.constexpr, N: gl.constexpr):
    left = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    ready = blackwell.mbarrier.allocate_mbarrier()
    done = blackwell.mbarrier.allocate_mbarrier()
    blackwell.mbarrier.init(ready, count=1)
    blackwell.mbarrier.init(done, count=1)
    blackwell.mbarrier.expect(ready, a.block_type.nbytes + b.block_type.nbytes)
    hopper.tma.async_load(a, [0, 0], ready, left)
    hopper.tma.async_load(b, [0, 0], ready, right)
    blackwell.mbarrier.wait(ready, 0)
    layout: gl.constexpr = blackwell.TensorMemoryLayout([M, N], col_stride=1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [M, N], layout)
    blackwell.tcgen05_mma(left, right.permute((1, 0)), acc, use_acc=False)
    blackwell.tcgen05_mma(left, right.permute((1, 0)), acc, mbarriers=[done])
    blackwell.mbarrier.wait(done, 0)
    blackwell.tcgen05_commit(done)
    blackwell.mbarrier.wait(done, 1)
    registers: gl.constexpr = acc.get_reg_layout()
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, registers))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, registers))
    gl.store(out + rm[:, None] * N + rn[None, :], acc.load(registers))
    half = acc.slice(0, N // 2)
    narrow: gl.constexpr = half.get_reg_layout()
    value = half.load(narrow)
    half.store(value * 2.0)


@gluon.jit
def tensor_memory_extrema(out, M: gl.constexpr, N: gl.constexpr):
    layout: gl.constexpr = blackwell.TensorMemoryLayout([M, N], col_stride=1)
    held = blackwell.allocate_tensor_memory(gl.float32, [M, N], layout)
    _, peaks = held.load_max()
    _, lows = held.load_min(abs=True)
    rm = gl.arange(0, M, layout=peaks.type.layout)
    gl.store(out + rm, peaks)
    gl.store(out + M + rm, lows)


@gluon.jit
def tensor_memory_scales(a, b, a_scale, b_scale, out, M: gl.constexpr, N: gl.constexpr):
    left = gl.allocate_shared_memory(a.dtype, a.block_type.shape, a.layout)
    right = gl.allocate_shared_memory(b.dtype, b.block_type.shape, b.layout)
    done = blackwell.mbarrier.allocate_mbarrier()
    blackwell.mbarrier.init(done, count=1)
    scales: gl.constexpr = blackwell.TensorMemoryScalesLayout()
    left_scale = blackwell.allocate_tensor_memory(gl.uint8, [M, 4], scales)
    right_scale = blackwell.allocate_tensor_memory(gl.uint8, [N, 4], scales)
    registers: gl.constexpr = left_scale.get_reg_layout()
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, registers))
    rs = gl.arange(0, 4, layout=gl.SliceLayout(0, registers))
    left_scale.store(gl.load(a_scale + rm[:, None] * 4 + rs[None, :]))
    right_scale.store(gl.load(b_scale + rm[:, None] * 4 + rs[None, :]))
    layout: gl.constexpr = blackwell.TensorMemoryLayout([M, N], col_stride=1)
    acc = blackwell.allocate_tensor_memory(gl.float32, [M, N], layout)
    blackwell.tcgen05_mma_scaled(
        left, right.permute((1, 0)), acc, left_scale, right_scale, "e4m3", "e5m2",
        use_acc=False, mbarriers=[done],
    )  # fmt: skip
    blackwell.mbarrier.wait(done, 0)
    result: gl.constexpr = acc.get_reg_layout()
    om = gl.arange(0, M, layout=gl.SliceLayout(1, result))
    on = gl.arange(0, N, layout=gl.SliceLayout(0, result))
    gl.store(out + om[:, None] * N + on[None, :], acc.load(result))


@gluon.jit
def tensor_memory_copy(src, out, M: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])
    shared: gl.constexpr = gl.NVMMASharedLayout(128, 32, rank=2)
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, flat))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, flat))
    tile = rm[:, None] * N + rn[None, :]
    buffer = gl.allocate_shared_memory(gl.float32, [M, N], shared, gl.load(src + tile))
    blackwell.fence_async_shared()
    layout: gl.constexpr = blackwell.TensorMemoryLayout([M, N], col_stride=1)
    held = blackwell.allocate_tensor_memory(gl.float32, [2, M, N], layout)
    done = blackwell.mbarrier.allocate_mbarrier()
    blackwell.mbarrier.init(done, count=1)
    blackwell.tcgen05_copy(buffer, held.index(1))
    blackwell.tcgen05_commit(done)
    blackwell.mbarrier.wait(done, 0)
    gl.store(out + tile, gl.convert_layout(held.index(1).load(), flat))


@gluon.jit
def row_gather(src, dst, index, COUNT: gl.constexpr):
    wide: gl.constexpr = gl.SliceLayout(0, gl.BlockedLayout([1, 4], [32, 1], [1, 4], [1, 0]))
    rows = gl.load(index + gl.arange(0, COUNT, layout=wide))
    buffer = gl.allocate_shared_memory(src.dtype, [COUNT, src.block_type.shape[1]], src.layout)
    ready = hopper.mbarrier.allocate_mbarrier()
    hopper.mbarrier.init(ready, count=1)
    hopper.mbarrier.expect(ready, COUNT * src.block_type.nbytes)
    blackwell.tma.async_gather(src, rows, 0, ready, buffer)
    hopper.mbarrier.wait(ready, 0)
    blackwell.tma.async_scatter(dst, rows, 0, buffer)
    hopper.tma.store_wait(0)


@gluon.jit
def launch_control(out):
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    answer = gl.allocate_shared_memory(gl.int64, [2], plain)
    ready = hopper.mbarrier.allocate_mbarrier()
    hopper.mbarrier.init(ready, count=1)
    hopper.mbarrier.expect(ready, 16)
    blackwell.clc.try_cancel(answer, ready)
    hopper.mbarrier.wait(ready, 0)
    result = blackwell.clc.load_result(answer)
    if result.is_canceled():
        gl.store(out, result.program_id(0))


def _case(
    name: str,
    kernel: Any,
    signature: dict[str, str],
    constexprs: dict[str, int] | None = None,
    targets: tuple[str, ...] = HOPPER_UP,
    **options: Any,
) -> Case:
    return case(name, kernel, signature, constexprs, targets=targets, since=SINCE, **options)


def _desc(element: str, bits: int, rows: int, columns: int, cga: str = "[]") -> str:
    layout = (
        "NVMMASharedLayout(swizzle_byte_width=128, "
        f"element_bitwidth={bits}, rank=2, transposed=False, fp4_padded=False, cga_layout={cga})"
    )
    return f"tensordesc<{element}[{rows}, {columns}],{layout}>"


CASES = (
    _case(
        "gluon_tma",
        tma_round_trip,
        dict(src=_desc("fp16", 16, 64, 64), dst=_desc("fp16", 16, 64, 64), x="i32", y="i32"),
    ),
    _case(
        "gluon_warpgroup",
        warpgroup_product,
        dict(a=_desc("fp16", 16, 64, 64), b=_desc("fp16", 16, 64, 64), out="*fp32:16"),
        dict(M=64, N=64, K=64),
        targets=("sm90",),
    ),
    _case(
        "gluon_specialized",
        specialized_pipeline,
        dict(src=_desc("fp32", 32, 64, 64), dst="*fp32:16", steps="i32"),
    ),
    _case(
        "gluon_cluster",
        distributed_barriers,
        dict(src=_desc("fp16", 16, 128, 64, "[[0, 0]]"), dst=_desc("fp16", 16, 128, 64, "[[0, 0]]")),
        num_ctas=2,
    ),
    _case(
        "gluon_tensor_memory",
        tensor_memory_product,
        dict(a=_desc("fp16", 16, 128, 64), b=_desc("fp16", 16, 128, 64), out="*fp32:16"),
        dict(M=128, N=128),
        targets=("sm100",),
    ),
    # The reducing load is an instruction of sm_103 and later.
    _case(
        "gluon_tensor_memory_extrema",
        tensor_memory_extrema,
        dict(out="*fp32:16"),
        dict(M=128, N=64),
        targets=("sm100",),
        text_only=("sm100",),
    ),
    _case(
        "gluon_tensor_memory_scales",
        tensor_memory_scales,
        dict(
            a=_desc("fp8e4nv", 8, 128, 128), b=_desc("fp8e5", 8, 128, 128), a_scale="*u8:16",
            b_scale="*u8:16", out="*fp32:16",
        ),
        dict(M=128, N=128),
        targets=("sm100",),
    ),
    _case(
        "gluon_tensor_memory_copy",
        tensor_memory_copy,
        dict(src="*fp32:16", out="*fp32:16"),
        dict(M=128, N=64),
        targets=("sm100",),
    ),
    _case(
        "gluon_row_gather",
        row_gather,
        dict(src=_desc("fp16", 16, 1, 64), dst=_desc("fp16", 16, 1, 64), index="*i32:16"),
        dict(COUNT=32),
        targets=("sm100",),
    ),
    _case("gluon_launch_control", launch_control, dict(out="*i32:16"), targets=("sm100",)),
)  # fmt: skip
