"""What is refused, in the words of TLX, with a caret under the call."""

import pytest

from tests.language.tlx.ours import emitted
from tilewright.ir.diagnostics import CompileError

HOPPER, BLACKWELL = ("cuda", 90), ("cuda", 100)
GFX950 = ("hip", "gfx950")
TILE = "b = tlx.local_alloc((64, 64), tl.float16, 2)\nq = tlx.alloc_barriers(1)\n"
TMEM = "t = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)\n" + TILE

CASES = [
    (
        HOPPER,
        "tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem)",
        "tmem is only available on Blackwell",
    ),
    (
        BLACKWELL,
        "tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem, "
        "layout=tlx.swizzled_layout(0))",
        "User-specified layout encoding is only supported for shared memory (smem)",
    ),
    (HOPPER, "k = 2\ntlx.local_alloc((64, 64), tl.float16, k)", "`num` must reach local_alloc as"),
    (
        HOPPER,
        TILE + "tlx.local_trans(b[0], (0, 2))",
        "permute dims must be a permutation of 0, 1, ..., n-1, but were (0, 2)",
    ),
    (HOPPER, TILE + "tlx.local_trans(b[0], (0,))", "permute dims must have the same length"),
    (HOPPER, TILE + "tlx.subslice(b[0], 0, 32)", "subslice is only supported for tmem"),
    (
        BLACKWELL,
        TMEM + "tlx.local_slice(t[0], [0, n], [128, 32])",
        "runtime local_slice offsets are only supported for SMEM",
    ),
    (
        BLACKWELL,
        TMEM + "tlx.local_reshape(t[0], [64, 128])",
        "TLX local_reshape only supports SMEM",
    ),
    (
        HOPPER,
        TILE + "tlx.local_load(b[0], rematerialize_coordinates=True, "
        "rematerialize_coordinates_group=1)",
        "rematerialize_coordinates and rematerialize_coordinates_group are mutually exclusive",
    ),
    (HOPPER, TILE + "tlx.remote_view(b, 0)", "remote_view only supports barrier for now"),
    (
        HOPPER,
        TILE + "tlx.barrier_wait(tlx.remote_view(q[0], 0), 0)",
        "barrier_wait does not support remote_view of mbarrier. Use local mbarrier only (storage "
        "must be smem, not smemCluster).",
    ),
    (
        HOPPER,
        TILE + "tlx.barrier_arrive(tlx.remote_view(q[0], 0))",
        "barrier_arrive does not allow users to pass a remote_view of mbarrier.",
    ),
    (
        HOPPER,
        TILE + "tlx.async_descriptor_load(d, b[0], [n], q[0])",
        "expected 2 offsets, but got 1",
    ),
    (
        HOPPER,
        TILE + "tlx.async_descriptor_load(d, b[0], [n, 0], q[0], eviction_policy='no')",
        "eviction_policy must be '', 'evict_first', or 'evict_last', got 'no'",
    ),
    (
        HOPPER,
        TILE + "tlx.async_descriptor_store(d, b[0], [n, 0], store_reduce='mul')",
        "store_reduce must be '', 'add', 'min', 'max', 'and', 'or', or 'xor', got 'mul'",
    ),
    (
        GFX950,
        "b = tlx.local_alloc((64, 64), tl.float16, 2)\ntlx.async_descriptor_store(d, b[0], [n, 0])",
        "tlx.async_descriptor_store is NV-only; got AMD arch 'gfx950'. Use "
        "tlx.async_amd_descriptor_store on TDM-capable AMD targets (gfx1250+).",
    ),
    (
        HOPPER,
        TILE + "tlx.async_load(x, b[0], bulk=True, barrier=q[0])",
        "bulk async_load requires a 1D result buffer",
    ),
    (HOPPER, TILE + "tlx.async_load(x, b[0], barrier=q[0])", "barrier requires bulk=True"),
    (
        HOPPER,
        "r = tlx.local_alloc((8,), tl.float16, 1)\nq = tlx.alloc_barriers(1)\n"
        "tlx.async_load(x, r[0], bulk=True, bulk_size=32, barrier=q[0])",
        "bulk_size (32) exceeds destination buffer size (16 bytes)",
    ),
    (HOPPER, "tlx.fence('cta')", "fence scope must be 'gpu', 'sys', or 'async_shared', got 'cta'"),
    (HOPPER, "tlx.prefetch(x, 'L3')", "level must be 'L1' or 'L2', got 'L3'"),
    (HOPPER, TILE + "tlx.async_dot(b[0], n)", "Unsupported rhs dtype int32"),
    (
        HOPPER,
        "b = tlx.local_alloc((32, 64), tl.float16, 1)\ntlx.async_dot(b[0], tlx.local_trans(b[0]))",
        "M must be a multiple of 64 on Hopper, but got 32",
    ),
    (
        HOPPER,
        "b = tlx.local_alloc((64, 8), tl.float16, 1)\ntlx.async_dot(b[0], tlx.local_trans(b[0]))",
        "K must be at least 16",
    ),
    (
        HOPPER,
        "b = tlx.local_alloc((64, 64), tl.float16, 1)\n"
        "e = tlx.local_alloc((64, 512), tl.float16, 1)\ntlx.async_dot(b[0], e[0])",
        "N must be a multiple of 8 in [8, 256], but got 512",
    ),
    (
        BLACKWELL,
        "b = tlx.local_alloc((32, 64), tl.float16, 1)\n"
        "t = tlx.local_alloc((128, 32), tl.float32, 1, tlx.storage_kind.tmem)\n"
        "tlx.async_dot(b[0], tlx.local_trans(b[0]), t[0])",
        "M must be 64 or 128 on Blackwell, but got 32",
    ),
    (
        BLACKWELL,
        TMEM + "p = tlx.local_load(b[0])\n"
        "u = tlx.local_alloc((64, 64), tl.float32, 1, tlx.storage_kind.tmem)\n"
        "tlx.async_dot(p, b[0], u[0])",
        "register operand is not supported on Blackwell",
    ),
    (
        HOPPER,
        TILE + "tlx.async_dot_scaled(b[0], b[0], b[0], b[0], 'e4m3', b[0], 'e4m3')",
        "async_dot_scaled is only available on Blackwell",
    ),
    (
        BLACKWELL,
        TMEM + "s = tlx.local_alloc((128, 64), tl.float8e5, 1)\n"
        "u = tlx.local_alloc((64, 64), tl.float8e5, 1)\n"
        "tlx.async_dot_scaled(s[0], u[0], t[0], s[0], 'e3m2', s[0], 'e4m3')",
        "Unsupported A_format: e3m2",
    ),
    (HOPPER, "tlx.thread_id(3)", "thread_id axis must be 0, 1, or 2 but got 3"),
    (
        HOPPER,
        "tlx.dtype_of(3)",
        "dtype_of only works on tensors and tensor descriptors, but got 3",
    ),
    (
        HOPPER,
        "tlx.get_fp8_format_name(tl.float16)",
        "get_fp8_format_name only supports tl.float8e5 (e5m2) and tl.float8e4nv (e4m3), but got "
        "fp16",
    ),
    (
        HOPPER,
        "tlx.stoch_round(tl.zeros((64,), tl.float32), tl.float8e5, tl.arange(0, 64))",
        "stoch_round requires compute capability >= 100 (Blackwell GPU), current capability: 90",
    ),
    (
        BLACKWELL,
        TMEM + "s = tlx.local_alloc((128, 16), tl.uint8, 1)\n"
        "u = tlx.local_alloc((128, 16), tl.uint8, 1, tlx.storage_kind.tmem)\n"
        "tlx.tmem_copy(s[0], u[0])",
        "scale tmem_copy requires an explicit packed i8 SMEM shape",
    ),
    (
        HOPPER,
        "tlx.make_tensor_descriptor(None, x, [n, n], [n, 1], [64, 4])",
        "Descriptor block shape must have at least 16 bytes in the last dimension, but got 4 * 2 = "
        "8 bytes",
    ),
    (
        HOPPER,
        "tlx.make_tensor_descriptor(None, x, [n, n], [1, n], [64, 64])",
        "Tensor descriptor last dim must be 1 but got",
    ),
    (
        HOPPER,
        "tlx.make_tensor_descriptor(x, x, [n, n], [n, 1], [64, 64])",
        "desc_ptr must be None or tlx.tensor_descriptor_ptr, got",
    ),
    (HOPPER, "tlx.amd_sched_barrier()", "tlx.amd_sched_barrier is only supported on AMD (HIP)"),
    (
        HOPPER,
        "with tlx.warp_pipeline_stage('load'):\n    tl.store(x, 0.0)",
        "tlx.warp_pipeline_stage is only supported on AMD (HIP) targets",
    ),
    (GFX950, "tlx.async_amd_descriptor_wait(0)", "only available on AMD TDM-capable targets"),
    (
        GFX950,
        "tlx.buffer_load(x, tl.arange(0, 64), contiguity=3)",
        "contiguity must be a positive power of two, got 3",
    ),
    (
        HOPPER,
        TILE + "v = b[0]\nfor i in range(0, n):\n    v = tlx.local_trans(v)",
        "Please make sure that the type stays consistent",
    ),
]


@pytest.mark.parametrize(("target", "body", "message"), CASES)
def test_refused(target: tuple[str, int | str], body: str, message: str) -> None:
    with pytest.raises(CompileError) as caught:
        emitted(body, target=target)
    assert message in str(caught.value)


def test_the_caret_is_under_the_call() -> None:
    with pytest.raises(CompileError) as caught:
        emitted("tlx.fence('cta')")
    lines = str(caught.value).splitlines()
    caret = next(index for index, line in enumerate(lines) if "^" in line)
    start = lines[caret].index("^")
    assert lines[caret - 1][start:] == "tlx.fence('cta')"
