"""Ops of ``ttng`` made by their constructors are those that the text means."""

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tests.dialects.gpu_text import errors_in
from tests.dialects.ttng_bench import ACC, BENCH, DESC, F8, F8T, MA, MB, MR, MT, ROWS, SCALE, D, V
from tilewright.dialects import ttng
from tilewright.dialects.tt import FuncOp

Values = dict[str, SSAValue]

HALF = "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable, 128x128>"
REMOTE = "!ttg.memdesc<1xi64, #shared, #ttng.shared_cluster_memory, mutable>"
RESPONSE = "!ttg.memdesc<2xi64, #shared, #smem, mutable>"
RANK = "{elem_type = 7 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32}"
TENSORMAP = "(!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32, i32, i64, i32, i32) -> ()"

CASES: list[tuple[str, Callable[[Values], Operation]]] = [
    (f"ttng.init_barrier %bar, 2 : {MB}", lambda v: ttng.InitBarrierOp(v["bar"], 2)),
    (f"ttng.inval_barrier %bar : {MB}", lambda v: ttng.InvalBarrierOp(v["bar"])),
    (
        f"ttng.barrier_expect %bar, 64, %p : {MB}",
        lambda v: ttng.BarrierExpectOp(v["bar"], 64, v["p"]),
    ),
    (f"ttng.wait_barrier %bar, %i : {MB}", lambda v: ttng.WaitBarrierOp(v["bar"], v["i"])),
    (
        f"ttng.wait_barrier %bar, %i, %p deps %a : {MB}, {MA}",
        lambda v: ttng.WaitBarrierOp(v["bar"], v["i"], v["p"], [v["a"]]),
    ),
    (f"ttng.arrive_barrier %bar, 1 : {MB}", lambda v: ttng.ArriveBarrierOp(v["bar"])),
    (
        f"ttng.arrive_barrier %bar, 3, %p {{perThread}} : {MB}",
        lambda v: ttng.ArriveBarrierOp(v["bar"], 3, v["p"], per_thread=True),
    ),
    (
        f"ttng.async_copy_mbarrier_arrive %bar {{noIncrement}} : {MB}",
        lambda v: ttng.AsyncCopyMbarrierArriveOp(v["bar"], no_increment=True),
    ),
    (
        "ttng.arrive_barrier_named %i, %j : i32, i32",
        lambda v: ttng.NamedBarrierArriveOp(v["i"], v["j"]),
    ),
    (
        "ttng.wait_barrier_named %i, %j : i32, i32",
        lambda v: ttng.NamedBarrierWaitOp(v["i"], v["j"]),
    ),
    ("ttng.fence_async_shared {bCluster = false}", lambda v: ttng.FenceAsyncSharedOp()),
    (
        "ttng.fence_async_shared {bCluster = true}",
        lambda v: ttng.FenceAsyncSharedOp(cluster=True),
    ),
    ('ttng.fence {scope = "gpu"}', lambda v: ttng.FenceOp("gpu")),
    (
        "ttng.fence_mbarrier_init_release_cluster",
        lambda v: ttng.FenceMBarrierInitReleaseClusterOp(),
    ),
    ("ttng.cluster_arrive", lambda v: ttng.ClusterArriveOp()),
    ("ttng.cluster_arrive {relaxed = true}", lambda v: ttng.ClusterArriveOp(relaxed=True)),
    ("ttng.cluster_wait", lambda v: ttng.ClusterWaitOp()),
    ("ttng.cluster_barrier {relaxed = true}", lambda v: ttng.ClusterBarrierOp(relaxed=True)),
    ("%0 = ttng.cluster_size_1d", lambda v: ttng.ClusterSize1DOp()),
    (
        f"%0 = ttng.map_to_remote_buffer %bar, %i : {MB} -> {REMOTE}",
        lambda v: ttng.MapToRemoteBufferOp(v["bar"], v["i"]),
    ),
    (
        "%0 = ttng.vote_ballot_sync %i, %p : i1 -> i32",
        lambda v: ttng.VoteBallotSyncOp(v["i"], v["p"]),
    ),
    (
        "%0 = ttng.vote_ballot_sync %i, %mask : tensor<128xi1> -> tensor<128xi32>",
        lambda v: ttng.VoteBallotSyncOp(v["i"], v["mask"]),
    ),
    (
        f"ttng.async_clc_try_cancel %bar, %clc : {MB}, {RESPONSE}",
        lambda v: ttng.AsyncCLCTryCancelOp(v["bar"], v["clc"]),
    ),
    (
        f"%x_0, %y, %z = ttng.clc_query_cancel %clc : ({RESPONSE}) -> (i32, i32, i32)",
        lambda v: ttng.CLCQueryCancelOp(v["clc"]),
    ),
    (
        f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p : {DESC}, {MB} -> {MA}",
        lambda v: ttng.AsyncTMACopyGlobalToLocalOp(
            v["desc"], [v["i"], v["j"]], v["a"], v["bar"], v["p"]
        ),
    ),
    (
        f"ttng.async_tma_copy_global_to_local %desc[%i, %j] %a, %bar, %p, %i : {DESC}, {MB} -> {MA}",
        lambda v: ttng.AsyncTMACopyGlobalToLocalOp(
            v["desc"], [v["i"], v["j"]], v["a"], v["bar"], v["p"], multicast_targets=v["i"]
        ),
    ),
    (
        f"ttng.async_tma_gather %rows[%ix, %i] %rbuf, %bar, %p : {ROWS}, tensor<32xi32>, i32, {MB}, {MR}, i1",
        lambda v: ttng.AsyncTMAGatherOp(v["rows"], v["ix"], v["i"], v["rbuf"], v["bar"], v["p"]),
    ),
    (
        f"ttng.async_tma_scatter %rows[%ix, %i] %rbuf : {ROWS}, tensor<32xi32>, i32, {MR}",
        lambda v: ttng.AsyncTMAScatterOp(v["rows"], v["ix"], v["i"], v["rbuf"]),
    ),
    (
        f"ttng.async_tma_prefetch %desc[%i, %j], %p : {DESC}",
        lambda v: ttng.AsyncTMAPrefetchOp(v["desc"], [v["i"], v["j"]], v["p"]),
    ),
    (
        f"ttng.async_tma_copy_local_to_global %desc[%i, %j] %a : {DESC}, {MA}",
        lambda v: ttng.AsyncTMACopyLocalToGlobalOp(v["desc"], [v["i"], v["j"]], v["a"]),
    ),
    (
        f"ttng.async_tma_reduce max, %desc[%i, %j] %a : {DESC}, {MA}",
        lambda v: ttng.AsyncTMAReduceOp("max", v["desc"], [v["i"], v["j"]], v["a"]),
    ),
    ("ttng.async_tma_store_wait {pendings = 1 : i32}", lambda v: ttng.TMAStoreWaitOp(1)),
    (
        f"ttng.tensormap_create %ptr, %ptr, [%i, %j], [%i, %j], [%l], [%i, %j] {RANK} : {TENSORMAP}",
        lambda v: ttng.TensormapCreateOp(
            v["ptr"],
            v["ptr"],
            [v["i"], v["j"]],
            [v["i"], v["j"]],
            [v["l"]],
            [v["i"], v["j"]],
            elem_type=7,
            swizzle_mode=3,
        ),
    ),
    (
        "ttng.tensormap_fenceproxy_acquire %ptr : !tt.ptr<i8>",
        lambda v: ttng.TensormapFenceproxyAcquireOp(v["ptr"]),
    ),
    (
        f"%0 = ttng.reinterpret_tensor_descriptor %ptr : !tt.ptr<i8> to {DESC}",
        lambda v: ttng.ReinterpretTensorDescOp(v["ptr"], v["desc"].type),
    ),
    (
        f"ttng.async_store %a, %ptr, %i : {MA}, !tt.ptr<i8>",
        lambda v: ttng.AsyncStoreOp(v["a"], v["ptr"], v["i"]),
    ),
    (
        f"ttng.async_bulk_copy_global_to_local %ptr, %a, %i, %bar, %p : !tt.ptr<i8>, {MA}, {MB}",
        lambda v: ttng.AsyncBulkCopyGlobalToLocalOp(v["ptr"], v["a"], v["i"], v["bar"], v["p"]),
    ),
    (
        f"ttng.async_bulk_copy_local_to_global %a, %ptr, %i, %p : {MA}, !tt.ptr<i8>",
        lambda v: ttng.AsyncBulkCopyLocalToGlobalOp(v["a"], v["ptr"], v["i"], v["p"]),
    ),
    ("ttng.prefetch %ptr : !tt.ptr<i8>", lambda v: ttng.PrefetchOp(v["ptr"])),
    (f"ttng.prefetch_tensormap %desc : {DESC}", lambda v: ttng.PrefetchTensormapOp(v["desc"])),
    (
        f"%0 = ttng.warp_group_dot %a, %b, %acc {{inputPrecision = 0 : i32}} : {MA} * {MT} -> {ACC}",
        lambda v: ttng.WarpGroupDotOp(v["a"], v["b"], v["acc"], input_precision="tf32"),
    ),
    (
        f"%0 = ttng.warp_group_dot %a, %b, %acc, %p {{isAsync = true}} : {MA} * {MT} -> {ACC}",
        lambda v: ttng.WarpGroupDotOp(v["a"], v["b"], v["acc"], v["p"], is_async=True),
    ),
    (
        f"%0 = ttng.warp_group_dot_wait %acc {{pendings = 0 : i32}} : {ACC}",
        lambda v: ttng.WarpGroupDotWaitOp([v["acc"]], 0),
    ),
    (
        f"ttng.tc_gen5_mma %a, %b, %d, %p, %p : {MA}, {MT}, {D}",
        lambda v: ttng.TCGen5MMAOp(v["a"], v["b"], v["d"], v["p"], v["p"]),
    ),
    (
        f"ttng.tc_gen5_mma %a, %b, %d, %p, %p, %bar[%p] {{is_async}} : {MA}, {MT}, {D}, {MB}",
        lambda v: ttng.TCGen5MMAOp(
            v["a"], v["b"], v["d"], v["p"], v["p"], [(v["bar"], v["p"])], is_async=True
        ),
    ),
    (
        f"ttng.tc_gen5_mma_scaled %fa, %fb, %d, %sa, %sa, %p, %p lhs = e4m3 rhs = e4m3 : {F8}, {F8T}, {D}, {SCALE}, {SCALE}",
        lambda v: ttng.TCGen5MMAScaledOp(
            *(v[name] for name in ("fa", "fb", "d", "sa", "sa", "p", "p")),
            a_type="e4m3",
            b_type="e4m3",
        ),
    ),
    (f"ttng.tc_gen5_commit %bar : {MB}", lambda v: ttng.TCGen5CommitOp(v["bar"])),
    (
        f"ttng.tc_gen5_commit %bar, %p {{two_ctas}} : {MB}",
        lambda v: ttng.TCGen5CommitOp(v["bar"], v["p"], two_ctas=True),
    ),
    (f"%result = ttng.tmem_alloc : () -> {D}", lambda v: ttng.TMEMAllocOp(v["d"].type)),
    (
        f"%result = ttng.tmem_alloc %x : ({V}) -> {D}",
        lambda v: ttng.TMEMAllocOp(v["d"].type, v["x"]),
    ),
    (
        f"%result = ttng.tmem_load %d : {D} -> {V}",
        lambda v: ttng.TMEMLoadOp(v["d"], v["x"].type),
    ),
    (
        f"ttng.tmem_store %x, %d, %p : {V} -> {D}",
        lambda v: ttng.TMEMStoreOp(v["x"], v["d"], v["p"]),
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32}} : {D} -> {HALF}",
        lambda v: ttng.TMEMSubSliceOp(v["d"], 64, 64),
    ),
]


def function_of(module: ModuleOp) -> FuncOp:
    (function,) = (op for op in module.walk() if isinstance(op, FuncOp))
    return function


@pytest.mark.parametrize(("text", "build"), CASES, ids=[text[:60] for text, _ in CASES])
def test_a_constructor_makes_what_the_text_means(
    text: str, build: Callable[[Values], Operation]
) -> None:
    written, made = BENCH.module(text), BENCH.module("")
    block = function_of(made).body.block
    names = (name.removeprefix("%") for name in BENCH.arguments)
    last = block.last_op
    assert last is not None
    block.insert_op_before(build(dict(zip(names, block.args, strict=True))), last)
    assert errors_in(written) == []
    assert errors_in(made) == []
    assert made.is_structurally_equivalent(written)
