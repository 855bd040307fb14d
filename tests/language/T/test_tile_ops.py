"""Ops on tiles: text, operands, and what does not fit."""

import pytest

from tests.language.T.kernels import body, mistake, ops, position
from tilewright import T


def tiles(function):
    return [op for op in ops(body(function)) if op.startswith(("tile.", "nv.")) and op not in (
        "tile.alloc", "tile.region")]  # fmt: skip


def test_the_operands_of_a_copy():
    def kernel(A: T.Tensor((4, 64, 2, 32), "float16"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(4, 2) as (bx, by):
            s = T.alloc_shared((16, 32), "float16")
            f = T.alloc_fragment((16, 32), "float32")
            T.copy(A[bx, 0:16, by, :], s)  # extents of 1 do not count
            T.copy(s, f)  # converted
            T.copy(f, B[bx * 16, 0])  # as large as the other side
            T.copy(B[0, 0], B[1, 1])  # one element

    text = body(kernel)
    assert (
        "tile.copy %0 -> %s : !tile.region<1x16x1x32xf16, #global> -> memref<16x32xf16, #shared>"
        in text
    )
    assert "tile.copy %s -> %f : memref<16x32xf16, #shared> -> memref<16x32xf32, #fragment>" in text
    assert "tile.region %B[%1, 0] [16, 32]" in text
    assert text.count("tile.copy") == 3
    assert text.splitlines()[-1].startswith("memref.store")


def test_options_of_a_copy():
    def kernel(A: T.Tensor((64,), "float16")):
        with T.Kernel(4) as bx:
            s = T.alloc_shared((16,), "float16")
            T.copy(
                A[bx * 16],
                s,
                coalesced_width=4,
                disable_tma=True,
                eviction_policy="evict_last",
                annotations={"tl.note": 3},
            )

    text = body(kernel)
    for piece in ("coalesced_width = 4", "disable_tma", "evict_last", "tile.note = 3"):
        assert piece in text


def test_extents_that_differ():
    def kernel(A: T.Tensor((64, 4), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((32, 8), "float32")
            T.copy(A[0:16, :], s)

    assert mistake(kernel) == (
        "error[TW1028]: T.copy: the extents differ: A gives (16, 4), s takes (32, 8). Nothing is "
        "broadcast: make them equal"
    )
    assert position(kernel) == (3, "T.copy(A[0:16, :], s)")


def test_a_head_with_too_few_dimensions():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((32, 8), "float32")
            T.copy(A[0], s)

    assert "cannot have the extents (32, 8) of the other side" in mistake(kernel)


def test_what_is_no_buffer():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.copy(A, 3)

    assert mistake(kernel) == (
        "error[TW1026]: T.copy: the destination must be a buffer, a slice or an element of one, "
        "got 3"
    )


def test_gemm():
    def kernel(A: T.Tensor((64,), "float32"), n: T.int32):
        with T.Kernel(1):
            a = T.alloc_shared((2, 64, 32), "float16")
            b = T.alloc_shared((16, 32), "float16")
            c = T.alloc_fragment((64, 16), "float32")
            T.gemm(a[0, :, :], b, c, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            T.gemm(a[n % 2, :, :], b, c, False, True, clear_accum=True, k_pack=2)
            T.gemm(a[1, :, :], b, c, transpose_B=True, clear_accum=n == 0)
            T.wgmma_gemm(a[1, :, :], b, c, transpose_B=True)
            T.wait_wgmma(0)

    text = body(kernel)
    assert tiles(kernel) == [*["tile.gemm"] * 4, "nv.wgmma.wait"]
    for piece in ("transpose_b", "full_row", "clear", "k_pack 2", "async", "clear_if %"):
        assert piece in text


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((64, 32), (16, 16), (64, 16)), "K shape check failed: K of A and B is 32 and 16: a is (64, 32), b is (16, 16), c is (64, 16). Change a tile, or transpose_A / transpose_B"),
        (((64, 32), (32, 16), (32, 16)), "M shape check failed: M of A and C is 64 and 32"),
        (((64, 32), (32, 16), (64, 8)), "N shape check failed: N of B and C is 16 and 8"),
        (((64,), (32, 16), (64, 8)), "A must be a matrix, got a with extents (64,)"),
    ],
)  # fmt: skip
def test_shapes_of_a_product(shapes, message):
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared(shapes[0], "float16")
            b = T.alloc_shared(shapes[1], "float16")
            c = T.alloc_fragment(shapes[2], "float32")
            T.gemm(a, b, c)

    assert message in mistake(kernel)
    assert mistake(kernel).startswith("error[TW1028]: T.gemm")


def test_wg_wait_is_deprecated():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            a = T.alloc_shared((16, 16), "float16")
            c = T.alloc_fragment((16, 16), "float32")
            T.gemm(a, a, c, wg_wait=-1)

    with pytest.warns(UserWarning, match="wg_wait is deprecated"):
        assert "async" in body(kernel)


def test_reductions_and_scans():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            x = T.alloc_fragment((16, 32), "float32")
            rows = T.alloc_fragment((16,), "float32")
            columns = T.alloc_fragment((32,), "float32")
            T.reduce_sum(x, rows, dim=1)
            T.reduce_max(x, columns, dim=0, clear=False)
            T.reduce_min(x, rows, -1, nan_propagate=True)
            T.reduce_absmax(x, rows)
            T.cumsum(x, dim=1, reverse=True)
            T.cummax(columns)
            T.transpose(x, T.alloc_fragment((32, 16), "float32"))

    text = body(kernel)
    assert "tile.reduce sum %x -> %rows dim 1 :" in text
    assert "tile.reduce max %x -> %columns dim 0 accumulate :" in text
    assert "tile.reduce min %x -> %rows dim 1 {nan_propagate} :" in text
    assert "tile.reduce absmax %x -> %rows dim 1 :" in text
    assert "tile.scan sum %x -> %x dim 1 reverse :" in text
    assert "tile.scan max %columns -> %columns dim 0 :" in text


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        (2, "dim 2 is outside of x, which has 2 dimensions: use -2 to 1"),
        (
            0,
            "x (16, 32) without dimension 0 is (32,), but rows is (16,): reduce another dimension, "
            "or make the destination fit",
        ),
    ],
)
def test_a_reduction_that_does_not_fit(dim, message):
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            x = T.alloc_fragment((16, 32), "float32")
            rows = T.alloc_fragment((16,), "float32")
            T.reduce_sum(x, rows, dim=dim)

    assert mistake(kernel) == f"error[TW1028]: T.reduce_sum: {message}"


def test_fill_clear_and_im2col():
    def kernel(A: T.Tensor((1, 8, 8, 16), "float16")):
        with T.Kernel(4, 2) as (bx, by):
            x = T.alloc_shared((16, 32), "float16")
            v = T.alloc_var("float32")
            T.fill(x, 3)
            T.clear(v)
            T.fill(x[0, :], -T.infinity("float16"))
            T.im2col(A, x, by, bx, 3, 1, 1, 1)

    text = body(kernel)
    assert tiles(kernel) == ["tile.fill", "tile.fill", "tile.fill", "tile.im2col"]
    assert "tile.region %x[0, 0] [1, 32]" in text


def test_reducers():
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            r = T.alloc_reducer(8, "float32", replication="all")
            T.clear(r)
            for i, j in T.Parallel(8, 16):
                r[i] += A[i, j]
            T.finalize_reducer(r)

    assert tiles(kernel) == [
        *("tile.reducer.alloc", "tile.fill", "tile.parallel", "tile.reducer.finalize"),
    ]


def test_asynchronous_copies():
    def kernel(A: T.Tensor((64, 32), "float16")):
        with T.Kernel(4, threads=256) as bx:
            s = T.alloc_shared((2, 16, 32), "float16")
            bars = T.alloc_barrier([128, 128])
            T.tma_copy(A[bx * 16 : (bx + 1) * 16, :], s[bx % 2, :, :], barrier=bars[bx % 2])
            T.mbarrier_arrive(mbarrier=bars[0])
            T.mbarrier_wait_parity(mbarrier=bars[bx % 2], parity=(bx // 2) % 2 ^ 1)
            T.mbarrier_arrive_expect_tx(bars[1], 1024)
            T.async_copy(A[0, 0], s[0, :, :])
            T.ptx_commit_group()
            T.ptx_wait_group(0)

    assert tiles(kernel) == [
        "tile.async_copy",
        *("nv.mbarrier.arrive", "nv.mbarrier.wait", "nv.mbarrier.arrive_expect_tx"),
        *("tile.async_copy", "nv.cp_async.commit", "nv.cp_async.wait"),
    ]


def test_an_asynchronous_copy_does_not_convert():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((64,), "float16")
            T.async_copy(A, s)

    assert mistake(kernel) == (
        "error[TW1029]: T.async_copy cannot convert: A is float32, s is float16. Use T.copy"
    )


def test_synchronisation_and_output():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=256) as bx:
            x = T.alloc_fragment((4,), "float32")
            T.sync_threads()
            T.sync_threads(3, 128)
            T.sync_grid()
            T.fence_proxy_async()
            T.set_max_nreg(240, 1)
            T.assume(A[0] > 0)
            T.device_assert(bx < 4, "few blocks")
            T.print(x, "x is")
            T.print(bx)

    assert tiles(kernel) == [
        *("tile.sync", "tile.sync", "tile.sync", "nv.fence_proxy_async", "nv.setmaxnreg"),
        *("tile.assume", "tile.assert", "tile.print", "tile.print"),
    ]


def test_a_register_count():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            T.set_max_nreg(100, 1)

    assert mistake(kernel) == (
        "error[TW1026]: T.set_max_nreg: register count must be a multiple of 8 from 24 to 240, got 100"
    )


def test_atomics():
    def kernel(A: T.Tensor((64, 8), "float32"), n: T.Tensor((1,), "int32")):
        with T.Kernel(4) as bx:
            x = T.alloc_fragment((16, 8), "float32")
            s = T.alloc_shared((16, 8), "float32")
            v = T.alloc_local((4,), "float32")
            for i, j in T.Parallel(16, 8):
                T.atomic_add(A[bx * 16 + i, j], x[i, j])
            T.atomic_add(A[bx * 16, 0], x)
            T.atomic_add(A[bx * 16, 0], s, use_tma=True)
            old = T.atomic_add(n[0], 1, return_prev=True, memory_order="relaxed")
            T.atomic_max(A[0, 0], 1)
            T.atomic_addx4(A[old, 0], v)
            T.atomic_store(n[0], T.atomic_load(n[0], memory_order="acquire"))

    text = body(kernel)
    assert tiles(kernel) == ["tile.parallel", *["tile.atomic"] * 8]
    for piece in ("use_tma", "order relaxed", "width", "order acquire"):
        assert piece in text


def test_code_from_outside():
    def kernel(A: T.Tensor((64,), "uint8"), p: T.ptr("float16")):
        with T.Kernel(1) as bx:
            T.import_source("// decode")
            T.import_source("// decode")
            x = T.alloc_local((8,), "uint8")
            y = T.alloc_local((16,), "bfloat16")
            T.call_extern("handle", "decode", T.access_ptr(x, "r"), T.access_ptr(y[4], "w", 4), 1)
            z = T.call_extern("float32", "get", bx)
            flat = T.make_tensor(p, (64, 64), "float16")
            flat[bx, 0] = z

    text = body(kernel)
    assert text.count("tile.source") == 1
    assert "tile.extern" in text and '"decode"' in text
    assert "!tile.ptr<f16> to memref<64x64xf16, #global>" in text


def test_the_reduction_over_threads():
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=(2, 32)):
            k = T.get_thread_binding(1)
            x = T.alloc_local((1,), "float32")
            y = T.alloc_local((1,), "float32")
            x[0] = A[k]
            with T.attr(
                T.comm_reducer(lambda a, b: T.max(a, b), [T.cast(0, "float32")]),
                "reduce_scope",
                T.reinterpret(T.uint64(0), dtype="handle"),
            ):
                T.evaluate(T.tvm_thread_allreduce(T.uint32(1), x[0], True, y[0], k, dtype="handle"))

    assert 'tile.reduce max %x -> %y dim 1 {scope = "threads"}' in body(kernel)


@pytest.mark.parametrize("name", ["mma_gemm_blockscaled"])
def test_other_hardware_is_named(name):
    def kernel(A: T.Tensor((64,), "float32")):
        with T.Kernel(1):
            getattr(T, name)(A)

    assert mistake(kernel).startswith(f"error[TW1027]: T.{name} is for the mma.sync of sm_120")


def test_names_that_are_gone_say_what_to_write():
    with pytest.raises(AttributeError, match=r"T\.ws_op is not supported: the compiler assigns"):
        T.ws_op  # noqa: B018
    with pytest.raises(AttributeError, match="T has no attribute nothing"):
        T.nothing  # noqa: B018


def test_ops_belong_into_a_kernel():
    def kernel(A: T.Tensor((64,), "float32")):
        T.clear(A)

    assert mistake(kernel) == (
        "error[TW1020]: T.clear is part of a kernel: put it inside `with T.Kernel(...)`"
    )
