"""Whole kernels: they verify, their text reads back as itself, and storage aliasing lowers."""

import re

import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.language.tlx.ours import module_of
from tilewright.dialects import make_context
from tilewright.dialects.tt import TensorDescType
from tilewright.dialects.ttg import MemDescType, WarpSpecializeOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pipeline, parse_pipeline
from tilewright.ir.text import parse_source, print_module
from tilewright.ir.text.flavour import TLX
from tilewright.passes import PASSES

BLACKWELL = ("cuda", 100)

HOPPER_GEMM = """
@jit
def kernel(a_desc, b_desc, c_desc, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
           STAGES: tl.constexpr):
    a = tlx.local_alloc((BM, BK), tlx.dtype_of(a_desc), STAGES)
    b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_warp_barrier(STAGES, num_warps=4)
    row = tl.program_id(0) * BM
    column = tl.program_id(1) * BN
    with tlx.async_tasks():
        with tlx.async_task("default"):
            acc = tl.zeros((BM, BN), tl.float32)
            for k in range(0, tl.cdiv(K, BK)):
                buf = k % STAGES
                tlx.barrier_wait(full[buf], (k // STAGES) & 1)
                acc = tlx.async_dot(a[buf], b[buf], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[buf])
            c_desc.store([row, column], acc.to(tlx.dtype_of(c_desc)))
        with tlx.async_task(num_warps=1, registers=24):
            for k in range(0, tl.cdiv(K, BK)):
                buf = k % STAGES
                tlx.barrier_wait(empty[buf], ((k // STAGES) & 1) ^ 1)
                bytes: tl.constexpr = (BM + BN) * BK * tlx.size_of(tlx.dtype_of(a_desc))
                tlx.barrier_expect_bytes(full[buf], bytes)
                tlx.async_descriptor_load(a_desc, a[buf], [row, k * BK], full[buf])
                tlx.async_descriptor_load(b_desc, b[buf], [k * BK, column], full[buf])
"""

BLACKWELL_ATTENTION = """
@jit
def ring(step, COUNT):
    return step % COUNT, (step // COUNT) & 1

@jit
def kernel(q_desc, k_desc, o_desc, scale, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    q = tlx.local_alloc((M, D), tl.float16, 1)
    kv = tlx.local_alloc((N, D), tl.float16, 2)
    out = tlx.local_alloc((M, D), tl.float16, 1)
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    qk = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem, reuse=spec)
    p = tlx.local_alloc((M, N // 2), tl.float16, 2, tlx.storage_kind.tmem, reuse=spec)
    alpha = tlx.local_alloc((M, 1), tl.float32, 1, tlx.storage_kind.tmem, reuse=spec)
    spec.set_buffer_overlap(
        tlx.reuse_group(
            qk,
            tlx.reuse_group(
                tlx.reuse_group(p, group_size=2),
                alpha,
                group_type=tlx.reuse_group_type.distinct,
            ),
        )
    )
    acc = tlx.local_alloc((M, D), tl.float32, 1, tlx.storage_kind.tmem)
    kv_full = tlx.alloc_barriers(2)
    kv_empty = tlx.alloc_barriers(2)
    qk_full = tlx.alloc_barriers(1)
    p_full = tlx.alloc_barriers(1)
    acc_full = tlx.alloc_barriers(1)
    context = tlx.clc_create_context(num_consumers=3)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tile = tl.program_id(0)
            ask = 1
            answer = 0
            while tile != -1:
                tlx.clc_producer(context, ask, multi_ctas=False)
                ask ^= 1
                for i in range(0, n):
                    tlx.barrier_wait(qk_full[0], i & 1)
                    x = tlx.local_load(qk[0]) * scale
                    m = tl.max(x, 1)
                    e = tl.math.exp2(x - m[:, None])
                    left, right = tl.split(tl.permute(tl.reshape(e, (M, 2, N // 2)), (0, 2, 1)))
                    tlx.local_store(p[0], left.to(tl.float16))
                    tlx.local_store(p[1], right.to(tl.float16))
                    tlx.local_store(alpha[0], m[:, None])
                    tlx.barrier_arrive(p_full[0])
                tlx.barrier_wait(acc_full[0], 0)
                for half in tl.static_range(2):
                    piece = tlx.subslice(acc[0], half * D // 2, D // 2)
                    tlx.local_store(
                        tlx.local_slice(out[0], [0, half * D // 2], [M, D // 2]),
                        tlx.local_load(piece).to(tl.float16),
                    )
                tlx.fence("async_shared")
                tlx.async_descriptor_store(o_desc, out[0], [tile * M, 0])
                tlx.async_descriptor_store_wait(0)
                tile = tlx.clc_consumer(context, answer, multi_ctas=False)
                answer ^= 1
        with tlx.async_task(num_warps=1, registers=24):
            tile = tl.program_id(0)
            answer = 0
            while tile != -1:
                for i in range(0, n):
                    buf, phase = ring(i, 2)
                    tlx.barrier_wait(kv_full[buf], phase)
                    tlx.async_dot(q[0], tlx.local_trans(kv[buf]), qk[0], use_acc=False,
                                  mBarriers=[qk_full[0]])
                    tlx.barrier_wait(p_full[0], i & 1)
                    for part in tl.static_range(2):
                        rows = tlx.local_slice(kv[buf], [part * N // 2, 0], [N // 2, D])
                        tlx.async_dot(p[part], rows, acc[0], use_acc=i > 0)
                    tlx.tcgen05_commit(kv_empty[buf])
                tlx.tcgen05_commit(acc_full[0])
                tile = tlx.clc_consumer(context, answer, multi_ctas=False)
                answer ^= 1
        with tlx.async_task(num_warps=1, registers=24):
            tile = tl.program_id(0)
            answer = 0
            while tile != -1:
                for i in range(0, n):
                    buf, phase = ring(i, 2)
                    tlx.barrier_wait(kv_empty[buf], phase ^ 1)
                    tlx.barrier_expect_bytes(kv_full[buf], N * D * 2)
                    tlx.async_descriptor_load(k_desc, kv[buf], [i * N, 0], kv_full[buf])
                tile = tlx.clc_consumer(context, answer, multi_ctas=False)
                answer ^= 1
"""


def _desc(*shape: int) -> str:
    return f"tensordesc<fp16[{','.join(map(str, shape))}]>"


def _gemm() -> ModuleOp:
    signature = {"a_desc": _desc(64, 64), "b_desc": _desc(64, 128), "c_desc": _desc(64, 128)}
    constants = {"BM": 64, "BN": 128, "BK": 64, "STAGES": 3}
    return module_of(HOPPER_GEMM, {**signature, "K": "i32"}, constants=constants)


def _attention() -> ModuleOp:
    signature = {
        "q_desc": _desc(128, 64),
        "k_desc": _desc(128, 64),
        "o_desc": _desc(128, 64),
        "scale": "fp32",
        "n": "i32",
    }
    constants = {"M": 128, "N": 128, "D": 64}
    return module_of(BLACKWELL_ATTENTION, signature, BLACKWELL, constants)


KERNELS = {"gemm": _gemm, "attention": _attention}


@pytest.mark.parametrize("name", KERNELS)
def test_text_reads_back_as_itself(name: str) -> None:
    text = print_module(KERNELS[name](), flavour=TLX)
    engine = DiagnosticEngine()
    again = parse_source(make_context(), text, "kernel.mlir", engine)
    assert again is not None, [str(each) for each in engine.diagnostics]
    assert print_module(again.module, flavour=TLX) == text


def _count(module: ModuleOp, op: str) -> int:
    return print_module(module).count(f"{op} ")


def test_gemm() -> None:
    module = _gemm()
    assert _count(module, "ttng.async_tma_copy_global_to_local") == 2
    assert _count(module, "ttng.warp_group_dot") == 1
    assert _count(module, "ttng.wait_barrier") == 2
    assert "ttng.barrier_expect %" in print_module(module)
    assert ", 24576, " in print_module(module)
    text = print_module(module)
    assert re.search(
        r"ttg\.warp_specialize\(%K, %a, %a_desc(, %a_desc_\d+){4}, %b, %b_desc(, %b_desc_\d+){4}, "
        r"%column_\d+, %empty, %full, %row_\d+\)",
        text,
    )


def test_attention() -> None:
    module = _attention()
    assert _count(module, "ttng.tc_gen5_mma") == 3
    assert _count(module, "ttng.tmem_subslice") == 2
    assert _count(module, "ttng.async_clc_try_cancel") == 1
    assert _count(module, "ttng.clc_query_cancel") == 3
    assert _count(module, "scf.while") == 3


def test_a_context_is_captured_in_the_order_of_its_fields() -> None:
    tasks = next(op for op in _attention().walk() if isinstance(op, WarpSpecializeOp))
    types = [capture.type for capture in tasks.captures]
    answers = next(
        index
        for index, type in enumerate(types)
        if isinstance(type, MemDescType) and str(type.element_type) == "ui128"
    )
    context = types[answers - 2 : answers + 1]
    assert [(type.shape, str(type.element_type)) for type in context] == [
        ((1,), "i64"),
        ((1,), "i64"),
        ((1,), "ui128"),
    ]
    assert isinstance(types[answers + 1], TensorDescType)  # of `k_desc`, the next name


def test_the_tree_lowers_to_one_allocation() -> None:
    module = _attention()
    engine = DiagnosticEngine()
    passes = "tlx-storage-alias-lowering,tlx-rewrite-local-alias"
    Pipeline.build(parse_pipeline(passes), PASSES).run(module, engine)
    engine.raise_if_errors()
    text = print_module(module)
    assert "tlx.storage_alias" not in text
    # QK, with P and alpha inside, and the accumulator.
    assert text.count("ttng.tmem_alloc") == 2
