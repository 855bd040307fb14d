"""Gluon kernels for AMD: buffer operations, matrix cores, direct-to-shared loads, the tensor mover."""

from typing import Any

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

from ..case import Case, case

SINCE = (3, 9)


@gluon.jit
def buffer_access(x, out, n, BLOCK: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    lane = gl.arange(0, BLOCK, layout=flat)
    value = gl.amd.cdna3.buffer_load(x, lane)
    value += gl.amd.cdna3.buffer_load(x, lane + BLOCK, mask=lane < n, other=1.0, cache=".cg")
    gl.amd.cdna3.buffer_store(value, out, lane)
    gl.amd.cdna3.buffer_store(value, out, lane + BLOCK, mask=lane < n, cache=".cs")
    gl.amd.cdna3.buffer_atomic_add(out, lane, value, mask=lane < n, sem="relaxed", scope="cta")
    gl.amd.hint.sched_barrier()


@gluon.jit
def matrix_core(
    a, b, out, M: gl.constexpr, N: gl.constexpr, K: gl.constexpr, VERSION: gl.constexpr
):
    flat: gl.constexpr = gl.BlockedLayout([1, 8], [16, 4], [4, 1], [1, 0])
    mma: gl.constexpr = gl.amd.AMDMFMALayout(VERSION, [32, 32, 8], True, [2, 2])
    left: gl.constexpr = gl.DotOperandLayout(0, mma, 4)
    right: gl.constexpr = gl.DotOperandLayout(1, mma, 4)
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, flat))
    rk = gl.arange(0, K, layout=gl.SliceLayout(0, flat))
    km = gl.arange(0, K, layout=gl.SliceLayout(1, flat))
    kn = gl.arange(0, N, layout=gl.SliceLayout(0, flat))
    x = gl.convert_layout(gl.load(a + rm[:, None] * K + rk[None, :]), left)
    y = gl.convert_layout(gl.load(b + km[:, None] * N + kn[None, :]), right)
    acc = gl.amd.cdna3.mfma(x, y, gl.zeros([M, N], gl.float32, layout=mma))
    om = gl.arange(0, M, layout=gl.SliceLayout(1, mma))
    on = gl.arange(0, N, layout=gl.SliceLayout(0, mma))
    gl.store(out + om[:, None] * N + on[None, :], acc)


@gluon.jit
def direct_to_shared(x, out, n, BLOCK: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    plain: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    lane = gl.arange(0, BLOCK, layout=flat)
    ring = gl.allocate_shared_memory(gl.float32, [2, BLOCK], plain)
    gl.amd.cdna4.async_copy.global_load_to_shared(ring.index(0), x + lane)
    gl.amd.cdna4.async_copy.commit_group()
    gl.amd.cdna4.async_copy.buffer_load_to_shared(ring.index(1), x, lane)
    gl.amd.cdna4.async_copy.commit_group()
    gl.amd.cdna4.async_copy.wait_group(0)
    first = gl.amd.cdna4.async_copy.load_shared_relaxed(ring.index(0), flat)
    gl.store(out + lane, first + ring.index(1).load(flat), mask=lane < n)


@gluon.jit
def warp_pipeline(x, out, steps, BLOCK: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    lane = gl.arange(0, BLOCK, layout=flat)
    total = gl.zeros([BLOCK], gl.float32, layout=flat)
    for i in range(steps):
        with gl.amd.warp_pipeline_stage("load", priority=1):
            value = gl.load(x + i * BLOCK + lane)
        with gl.amd.warp_pipeline_stage("add"):
            total += value
    gl.store(out + lane, total)


@gluon.jit
def register_slice(x, out, M: gl.constexpr, N: gl.constexpr):
    flat: gl.constexpr = gl.BlockedLayout([1, 4], [8, 8], [4, 1], [1, 0])
    rm = gl.arange(0, M, layout=gl.SliceLayout(1, flat))
    rn = gl.arange(0, N, layout=gl.SliceLayout(0, flat))
    value = gl.load(x + rm[:, None] * N + rn[None, :])
    part = gl.amd.slice(value, [M // 2, N], [M // 2, 0])
    hm = gl.arange(0, M // 2, layout=gl.SliceLayout(1, flat))
    gl.store(out + hm[:, None] * N + rn[None, :], part)


@gluon.jit
def tensor_mover(src, dst, M, N, BLOCK: gl.constexpr):
    layout: gl.constexpr = gl.PaddedSharedLayout.with_identity_for(
        [[64, 4]], [BLOCK, BLOCK], [1, 0]
    )
    source = gl.amd.cdna5.tdm.make_tensor_descriptor(src, [M, N], [N, 1], [BLOCK, BLOCK], layout)
    target = gl.amd.cdna5.tdm.make_tensor_descriptor(dst, [M, N], [N, 1], [BLOCK, BLOCK], layout)
    bar: gl.constexpr = gl.amd.cdna5.mbarrier.MBarrierLayout()
    ready = gl.allocate_shared_memory(gl.int64, [1], bar)
    gl.amd.cdna5.mbarrier.init(ready, count=4)
    buffer = gl.allocate_shared_memory(gl.float16, [BLOCK, BLOCK], layout)
    gl.amd.cdna5.tdm.prefetch(source, [0, 0])
    gl.amd.cdna5.tdm.async_load(source, [0, 0], buffer, mbarrier=ready)
    gl.amd.cdna5.mbarrier.wait(ready, 0)
    gl.amd.cdna5.mbarrier.arrive(ready)
    gl.amd.cdna5.tdm.async_store(target, [BLOCK, 0], buffer)
    gl.amd.cdna5.tdm.async_wait(0)


def _case(
    name: str,
    kernel: Any,
    signature: dict[str, str],
    constexprs: dict[str, int],
    targets: tuple[str, ...],
) -> Case:
    return case(name, kernel, signature, constexprs, targets=targets, since=SINCE)


PLAIN = dict(x="*fp32:16", out="*fp32:16")

CASES = (
    _case(
        "gluon_amd_buffers",
        buffer_access,
        {**PLAIN, "n": "i32"},
        dict(BLOCK=1024),
        ("gfx942", "gfx950"),
    ),
    _case(
        "gluon_amd_matrix_core",
        matrix_core,
        dict(a="*fp16:16", b="*fp16:16", out="*fp32:16"),
        dict(M=64, N=64, K=32, VERSION=3),
        ("gfx942",),
    ),
    _case(
        "gluon_amd_direct", direct_to_shared, {**PLAIN, "n": "i32"}, dict(BLOCK=1024), ("gfx950",)
    ),
    _case(
        "gluon_amd_pipeline",
        warp_pipeline,
        {**PLAIN, "steps": "i32"},
        dict(BLOCK=1024),
        ("gfx942", "gfx950"),
    ),
    _case("gluon_amd_slice", register_slice, PLAIN, dict(M=64, N=32), ("gfx942",)),
    _case(
        "gluon_amd_tensor_mover",
        tensor_mover,
        dict(src="*fp16:16", dst="*fp16:16", M="i32:16", N="i32:16"),
        dict(BLOCK=64),
        ("gfx1250",),
    ),
)
