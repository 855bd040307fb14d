"""Every op of ``ttng`` is read and written as Triton does, in plain and in generic form."""

import pytest

from tests.dialects.ttng_bench import (
    ACC,
    BENCH,
    CLC,
    DESC,
    F8,
    F8T,
    IM2COL,
    MA,
    MB,
    MR,
    MT,
    ROWS,
    SCALE,
    D,
    V,
)
from tilewright.dialects.ttng import Ttng
from tilewright.ir.text.flavour import TLX, TRITON_3_6, TRITON_3_8, TRITON_3_9

HALF = "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable, 128x128>"
REMOTE = "!ttg.memdesc<1xi64, #shared, #ttng.shared_cluster_memory, mutable>"
RESPONSE = "!ttg.memdesc<1xui128, #shared, #smem, mutable>"
DOT = "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>"
ROW = "tensor<128xf32, #ttg.slice<{dim = 1, parent = #blocked}>>"
RANK = "{elem_type = 7 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32}"

SAME = [
    f"ttng.init_barrier %bar, 1 : {MB}",
    f"ttng.inval_barrier %bar : {MB}",
    f"ttng.barrier_expect %bar, 16384, %p : {MB}",
    f"ttng.barrier_expect %bar, 16384 {{fromCTA = 0 : i32}}, %p : {MB}",
    f"ttng.wait_barrier %bar, %i : {MB}",
    f"ttng.wait_barrier %bar, %i, %p : {MB}",
    f"ttng.wait_barrier %bar, %i deps %a, %d : {MB}, {MA}, {D}",
    f"ttng.wait_barrier %bar, %i, %p deps %a {{async_task_id = array<i32: 0>}} : {MB}, {MA}",
    f"ttng.arrive_barrier %bar, 2 : {MB}",
    f"ttng.arrive_barrier %bar, 2, %p : {MB}",
    f"ttng.arrive_barrier %bar, 1 {{perThread}} : {MB}",
    f"ttng.arrive_barrier %bar, 1, %p {{fromCTA = 0 : i32}} : {MB}",
    f"ttng.async_copy_mbarrier_arrive %bar : {MB}",
    f"ttng.async_copy_mbarrier_arrive %bar {{noIncrement}} : {MB}",
    "ttng.arrive_barrier_named %i, %j : i32, i32",
    "ttng.wait_barrier_named %i, %j : i32, i32",
    "ttng.fence_async_shared {bCluster = false}",
    'ttng.fence {scope = "gpu"}',
    "ttng.fence_mbarrier_init_release_cluster",
    "ttng.cluster_arrive",
    "ttng.cluster_arrive {relaxed = true}",
    "ttng.cluster_wait",
    "ttng.cluster_barrier",
    "ttng.cluster_barrier {relaxed = true}",
    "%0 = ttng.cluster_size_1d",
    f"%0 = ttng.map_to_remote_buffer %bar, %i : {MB} -> {REMOTE}",
    f"ttng.clc_try_cancel %clc, %bar : {CLC}, {MB}",
    f"%0 = ttng.clc_load_result %clc : {CLC} -> i128",
    "%0 = ttng.clc_try_cancel_sync : tensor<2xi64>",
    "%0 = ttng.clc_is_canceled %resp : i128 -> i1",
    "%0 = ttng.clc_get_program_id %resp, y : i128 -> i32",
    "%0 = ttng.vote_ballot_sync %i, %p : i1 -> i32",
    "%0 = ttng.vote_ballot_sync %i, %mask : tensor<128xi1> -> tensor<128xi32>",
    f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p : {DESC}, {MB} -> {MA}",
    f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p, %i : {DESC}, {MB} -> {MA}",
    f"ttng.async_tma_copy_global_to_local %im[%i, %j, %i] offsets = [%o] %a, %bar, %p : {IM2COL}, {MB} -> {MA}",
    f"ttng.async_tma_copy_local_to_global %desc[%i, %j] %a : {DESC}, {MA}",
    f"%0 = ttng.async_tma_copy_local_to_global %desc[%i, %j] %a : {DESC}, {MA} -> !ttg.async.token",
    f"ttng.async_tma_reduce add, %desc[%i, %j] %a : {DESC}, {MA}",
    f"%0 = ttng.async_tma_reduce max, %desc[%i, %j] %a : {DESC}, {MA} -> !ttg.async.token",
    f"ttng.async_tma_gather %rows[%ix, %i] %rbuf, %bar, %p : {ROWS}, tensor<32xi32>, i32, {MB}, {MR}, i1",
    f"ttng.async_tma_scatter %rows[%ix, %i] %rbuf : {ROWS}, tensor<32xi32>, i32, {MR}",
    f"ttng.async_tma_prefetch %desc[%i, %j], %p : {DESC}",
    "ttng.async_tma_store_wait {pendings = 0 : i32}",
    "ttng.async_tma_store_wait {pendings = 1 : i32, read_only}",
    "ttng.async_tma_store_token_wait %tok   : !ttg.async.token",
    "ttng.async_tma_store_token_wait %tok   {async_task_id = array<i32: 3>} : !ttg.async.token",
    f"ttng.tensormap_create %ptr, %ptr, [%i, %j], [%i, %j], [%l], [%i, %j] {RANK} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32, i32, i64, i32, i32) -> ()",
    f"ttng.tensormap_create %ptr, %ptr, [%i], [%i], [], [%i] {RANK} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()",
    "ttng.tensormap_fenceproxy_acquire %ptr : !tt.ptr<i8>",
    f"%0 = ttng.reinterpret_tensor_descriptor %ptr : !tt.ptr<i8> to {DESC}",
    f"ttng.async_store %a, %ptr, %i : {MA}, !tt.ptr<i8>",
    f"ttng.async_bulk_copy_global_to_local %ptr, %a, %i, %bar, %p : !tt.ptr<i8>, {MA}, {MB}",
    f"ttng.async_bulk_copy_local_to_global %a, %ptr, %i, %p : {MA}, !tt.ptr<i8>",
    "ttng.prefetch %ptrs, %mask : tensor<128x!tt.ptr<f32>>",
    "ttng.prefetch %ptr : !tt.ptr<i8>",
    f"ttng.prefetch_tensormap %desc : {DESC}",
    f"%0 = ttng.warp_group_dot %a, %b, %acc : {MA} * {MT} -> {ACC}",
    f"%0 = ttng.warp_group_dot %a, %b, %acc, %p {{inputPrecision = 0 : i32, isAsync = true}} : {MA} * {MT} -> {ACC}",
    f"%0 = ttng.warp_group_dot %fa, %fb, %acc {{maxNumImpreciseAcc = 32 : i32}} : {F8} * {F8T} -> {ACC}",
    f"%0 = ttng.warp_group_dot_wait %acc {{pendings = 0 : i32}} : {ACC}",
    f"%0:2 = ttng.warp_group_dot_wait %acc, %a {{pendings = 1 : i32, warpGroupLocal}} : {ACC}, {MA}",
    f"ttng.tc_gen5_mma %a, %b, %d, %p, %p : {MA}, {MT}, {D}",
    f"ttng.tc_gen5_mma %a, %b, %d, %p, %p, %bar[%p], %bar[%p] {{is_async}} : {MA}, {MT}, {D}, {MB}, {MB}",
    f"%0 = ttng.tc_gen5_mma %a, %b, %d[], %p, %p {{is_unsigned, multicast}} : {MA}, {MT}, {D}",
    f"%0 = ttng.tc_gen5_mma %a, %b, %d[%tok], %p, %p, %bar[%p] {{is_async}} : {MA}, {MT}, {D}, {MB}",
    f"ttng.tc_gen5_mma_scaled %fa, %fb, %d, %sa, %sa, %p, %p lhs = e4m3 rhs = e4m3 : {F8}, {F8T}, {D}, {SCALE}, {SCALE}",
    f"%0 = ttng.tc_gen5_mma_scaled %fa, %fb, %d[%tok], %sa, %sa, %p, %p lhs = e4m3 rhs = e4m3, %bar[%p] {{is_async}} : {F8}, {F8T}, {D}, {SCALE}, {SCALE}, {MB}",
    f"ttng.tc_gen5_commit %bar : {MB}",
    f"ttng.tc_gen5_commit %bar, %p descs %a, %b {{two_ctas}} : {MB}, {MA}, {MT}",
    f"%result = ttng.tmem_alloc : () -> {D}",
    f"%result = ttng.tmem_alloc %x : (tensor<128x128xf32, #blocked>) -> {D}",
    f"%result, %token = ttng.tmem_alloc : () -> ({D}, !ttg.async.token)",
    f"%result = ttng.tmem_load %d : {D} -> {V}",
    f"%result, %token = ttng.tmem_load %d[%tok] : {D} -> {V}",
    f"%result, %red = ttng.tmem_load %d {{NaN = true, abs = true, redOp = #ttng.redOp<min>}} : {D} -> {V}, {ROW}",
    f"ttng.tmem_store %x, %d, %p : {V} -> {D}",
    f"%0 = ttng.tmem_store %x, %d[%tok], %p : {V} -> {D}",
    f"%0 = ttng.tmem_store %x, %d[], %p : {V} -> {D}",
    f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32}} : {D} -> {HALF}",
    "ttng.tmem_wait load",
    "ttng.tmem_wait store",
    f"%0 = ttng.packed_arith mul %x, %x : ({V}, {V}) -> {V}",
    f"%0 = ttng.packed_arith fma %x, %x, %x : ({V}, {V}, {V}) -> {V}",
]


@pytest.mark.parametrize("text", SAME)
def test_op_is_written_as_it_was_read(text: str) -> None:
    assert BENCH.printed(text) == text


@pytest.mark.parametrize("text", SAME)
def test_op_survives_generic_form(text: str) -> None:
    assert BENCH.printed(text, generic=True) == text


def test_every_op_has_a_case() -> None:
    told = {word for text in SAME for word in text.split() if word.startswith("ttng.")}
    told |= {"ttng.tmem_copy", "ttng.async_clc_try_cancel", "ttng.clc_query_cancel"}
    told |= {"ttng.async_shared_store"}
    assert {op.name for op in Ttng.operations} <= told


def test_scales_are_copied_from_shared_memory() -> None:
    text = "\n".join(
        (
            "%0 = ttg.local_alloc : () -> !ttg.memdesc<128x4xi8, #shared5, #smem, mutable>",
            "%result = ttng.tmem_alloc : () -> !ttg.memdesc<128x4xi8, #tmem_scales, #ttng.tensor_memory, mutable>",
            "ttng.tmem_copy %0, %result : !ttg.memdesc<128x4xi8, #shared5, #smem, mutable>, !ttg.memdesc<128x4xi8, #tmem_scales, #ttng.tensor_memory, mutable>",
            f"ttng.tmem_copy %0, %result, %bar : !ttg.memdesc<128x4xi8, #shared5, #smem, mutable>, !ttg.memdesc<128x4xi8, #tmem_scales, #ttng.tensor_memory, mutable>, {MB}",
        )
    )
    plain = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    assert BENCH.printed(text.replace("#shared5", plain)) == text


def test_launch_control_of_the_fork() -> None:
    text = "\n".join(
        (
            f"%0 = ttg.local_alloc : () -> {RESPONSE}",
            f"ttng.async_clc_try_cancel %bar, %0 : {MB}, {RESPONSE}",
            f"%x_0, %y, %z = ttng.clc_query_cancel %0 : ({RESPONSE}) -> (i32, i32, i32)",
            f"%1 = ttng.clc_query_cancel %0 : ({RESPONSE}) -> i32",
        )
    )
    assert BENCH.printed(text) == text


@pytest.mark.parametrize(
    ("flavour", "text"),
    [
        (TRITON_3_9, f"ttng.arrive_barrier %bar, 1 : {MB}"),
        (TRITON_3_9, "ttng.cluster_arrive"),
        (TRITON_3_8, "ttng.cluster_arrive"),
        (TRITON_3_6, "ttng.cluster_arrive {relaxed = false}"),
        (TLX, "ttng.cluster_arrive {relaxed = false}"),
        (TRITON_3_9, f"ttng.clc_try_cancel %clc, %bar : {CLC}, {MB}"),
        (TRITON_3_8, f"ttng.clc_try_cancel %clc, %bar {{multicast = false}} : {CLC}, {MB}"),
        (TRITON_3_9, f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32}} : {D} -> {HALF}"),
        (TRITON_3_8, f"%0 = ttng.tmem_subslice %d {{N = 64 : i32}} : {D} -> {HALF}"),
        (TLX, f"%0 = ttng.tmem_subslice %d {{N = 64 : i32}} : {D} -> {HALF}"),
        (
            TRITON_3_9,
            f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p {{cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_first>}} : {DESC}, {MB} -> {MA}",
        ),
        (
            TRITON_3_8,
            f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p cacheModifier = cg evictionPolicy = evict_first {{isVolatile = true}} : {DESC}, {MB} -> {MA}",
        ),
        (
            TLX,
            f"ttng.async_tma_copy_local_to_global %desc[%i, %j] %a evictionPolicy = evict_last : {DESC}, {MA}",
        ),
        (
            TRITON_3_9,
            f"ttng.async_tma_reduce add, %desc[%i, %j] %a {{cachePolicy = #ttng.cache_policy<l2_primary = evict_first, l2_secondary = evict_unchanged, l2_fraction = 5.000000e-01 : f32>}} : {DESC}, {MA}",
        ),
    ],
)
def test_spelling_depends_on_the_release(flavour, text: str) -> None:
    assert BENCH.printed(text, flavour) == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            f"%0 = ttng.tmem_subslice %d {{N = 64 : i32}} : {D} -> {HALF}",
            f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32}} : {D} -> {HALF}",
        ),
        (
            f'%0 = "ttng.tmem_subslice"(%d) <{{N = 64 : i32}}> : ({D}) -> {HALF}',
            f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32}} : {D} -> {HALF}",
        ),
        (
            f"ttng.arrive_barrier %bar, 1 {{ctaMask = 0 : i32}} : {MB}",
            f"ttng.arrive_barrier %bar, 1 : {MB}",
        ),
        (
            f"ttng.clc_try_cancel %clc, %bar {{multicast = false}} : {CLC}, {MB}",
            f"ttng.clc_try_cancel %clc, %bar : {CLC}, {MB}",
        ),
        (
            f"ttng.async_tma_copy_local_to_global %desc[%i, %j] %a evictionPolicy = evict_first : {DESC}, {MA}",
            f"ttng.async_tma_copy_local_to_global %desc[%i, %j] %a {{cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_first>}} : {DESC}, {MA}",
        ),
    ],
)
def test_older_text_becomes_that_of_today(old: str, new: str) -> None:
    assert BENCH.printed(old) == new
