"""Elements, slices, views and allocations."""

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.language.T.kernels import body, mistake, module_text, ops, position
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.tile.api import TileFault


def test_a_constant_negative_index_counts_from_the_end():
    def kernel(A: T.Tensor((8, 4), "int32")):
        with T.Kernel(8) as bx:
            A[-1, bx] = A[bx, -4]

    text = body(kernel)
    assert "arith.constant 7 : index" in text
    assert "arith.constant 0 : index" in text


@pytest.mark.parametrize("count", [1, 3])
def test_as_many_indices_as_dimensions(count):
    index = (0,) * count

    def kernel(A: T.Tensor((8, 4), "int32")):
        with T.Kernel(8):
            A[index] = 1

    assert mistake(kernel) == (
        f"error[TW1022]: Buffer A is 2-dimensional (shape=(8, 4)), but {count} index(es) were "
        "provided"
    )
    assert position(kernel) == (2, "A[index]")


def test_an_index_is_an_integer():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8) as bx:
            A[bx] = A[A[bx]]

    assert mistake(kernel) == (
        "error[TW1010]: an index must be an integer, got a value of type float32: convert it with "
        "T.cast(value, T.int32)"
    )


def test_the_extent_of_a_slice_is_found_to_be_a_number():
    def kernel(A: T.Tensor((1024, 64), "float32"), starts: T.Tensor((8,), "int32"), n: T.int32):
        with T.Kernel(8, 4) as (bx, by):
            s = T.alloc_shared((16, 64), "float32")
            first = starts[bx]
            T.copy(A[bx * 16 : (bx + 1) * 16, :], s)
            T.copy(A[first + by * 16 : first + (by + 1) * 16, 0:64], s)
            T.copy(A[(bx // 2) * 16 : (bx // 2) * 16 + 16, :], s)
            T.copy(A[starts[by] : starts[by] + 16, :], s)
            T.copy(A[n : n + 16, :], s)

    regions = [line for line in body(kernel).splitlines() if "= tile.region" in line]
    assert len(regions) == 5
    assert all("[16, 64]" in line for line in regions)


def test_a_slice_of_a_cell_that_changed_in_between_is_not_a_number():
    def kernel(A: T.Tensor((1024,), "float32"), B: T.Tensor((1024,), "float32")):
        with T.Kernel(8) as bx:
            n = T.alloc_var("int32", init=0)
            start = n + 0
            n = 16
            T.copy(A[start : n + 0], B[bx])

    (region, _) = [line for line in body(kernel).splitlines() if "= tile.region" in line]
    assert "!tile.region<?xf32" in region


def test_slices_have_no_step():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(8):
            T.clear(A[0:8:2])

    assert "step 2 is not supported" in mistake(kernel)


def test_assigning_a_slice_fills_or_copies():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8,), "float32")
            s[0:4] = 1
            s[4:8] = A[0:4]

    assert [op for op in ops(body(kernel)) if op in ("tile.fill", "tile.copy")] == [
        *("tile.fill", "tile.copy"),
    ]


def test_allocations_stand_at_the_beginning_and_are_named():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            for _ in T.serial(4):
                s = T.alloc_shared((8,), "float16")
                f = T.alloc_fragment(8, "float32")
                T.copy(A, s)
                T.copy(s, f)

    lines = body(kernel).splitlines()
    assert lines[0] == '%s = tile.alloc "s" {dtype = "float16"} : memref<8xf16, #shared>'
    assert lines[1] == '%f = tile.alloc "f" {dtype = "float32"} : memref<8xf32, #fragment>'


def test_every_kind_of_allocation():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1, threads=128):
            T.alloc_shared((4, 8), "bfloat16")
            T.alloc_shared((4,), "bool")
            T.alloc_shared((4,), "int8", scope="shared")
            T.alloc_local((2,), "uint8")
            T.alloc_var("int32")
            T.alloc_barrier([128, 1])
            T.alloc_barrier(arrive_count=64)
            T.alloc_cluster_barrier([2])
            T.alloc_reducer((16,), "float32", op="max", replication="all")

    text = body(kernel)
    for piece in (
        'dtype = "bfloat16"} : memref<4x8xbf16, #shared>',
        'dtype = "bool"} : memref<4xi1, #shared_static>',
        'dtype = "int8"} : memref<4xi8, #shared_static>',
        'dtype = "uint8"} : memref<2xi8, #local>',
        "memref<1xi32, #var>",
        "init [128, 1] : memref<2x!nv.mbarrier, #barrier>",
        "init [64] : memref<1x!nv.mbarrier, #barrier>",
        "init [2] : memref<1x!nv.mbarrier, #cluster_barrier>",
        "tile.reducer.alloc",
    ):
        assert piece in text


def test_the_forms_of_alloc_var():
    def kernel(A: T.Tensor((8,), "float32")):
        with T.Kernel(1):
            a = T.alloc_var("float32", 1.0)
            b = T.alloc_var("float32", "local.var")
            c = T.alloc_var("float32", 2.0, "local.var")
            d = T.alloc_var("float32", init=3.0)
            A[0] = a + b + c + d

    text = body(kernel)
    assert text.count("#var") == 4 + 3 + 4  # allocations, first values, reads
    assert text.count("memref.store") == 4


def test_memory_of_a_block_has_a_fixed_size():
    m = T.dynamic("m")

    def kernel(A: T.Tensor((m,), "float32")):
        with T.Kernel(1):
            T.alloc_shared((m,), "float32")

    assert mistake(kernel).startswith(
        "error[TW1026]: T.alloc_shared: a buffer size must be a compile-time constant, got (m,)"
    )


def test_views_share_bytes():
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            s = T.alloc_shared((8, 16), "float16")
            flat = T.reshape(s, (128,))
            words = T.view(s, shape=(64,), dtype="int32")
            T.clear(flat)
            T.clear(words)
            rows = T.Tensor((128,), "float32", A.data)
            T.clear(rows)

    text = body(kernel)
    assert text.count("tile.view") == 3
    assert "memref<8x16xf16, #shared> to memref<64xi32, #shared>" in text


def test_a_view_of_other_size_is_refused():
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            T.view(A, (100,), "float32")

    assert mistake(kernel) == (
        "error[TW1026]: a view has the bytes of its buffer: A is float32(8, 16) = 512 bytes, the "
        "view float32(100,) = 400 bytes"
    )


def test_storage_is_shared_as_in_tlx():
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            spec = T.storage_alias_spec()
            a = T.alloc_shared((8, 16), "float32", reuse=spec)
            b = T.alloc_shared((8, 16), "float16", reuse=spec)
            c = T.alloc_shared((8, 16), "float16", reuse=spec)
            T.set_buffer_overlap(spec, T.reuse_group(a, T.reuse_group(b, c, group_type="distinct")))
            T.copy(A, a)

    text = body(kernel)
    assert [op for op in ops(text) if op.startswith("tile.")] == [
        "tile.storage_alias_spec",
        *("tile.alloc", "tile.alloc", "tile.alloc"),
        *("tile.reuse_group", "tile.reuse_group", "tile.set_buffer_overlap", "tile.copy"),
    ]


def test_global_memory_for_one_call():
    m = T.dynamic("m")

    def kernel(A: T.Tensor((m,), "float32")):
        B = T.alloc_global((m, 4), "float16")
        with T.Kernel(1):
            T.clear(B)

    text = module_text(kernel)
    assert 'tile.alloc "B" (%dim) {dtype = "float16"}' in text or "tile.alloc" in text
    assert text.index("tile.alloc") < text.index("tile.kernel")
    assert "memref<?x4xf16, #global>" in text


def test_safe_values_and_layouts_of_parameters():
    def kernel(A: T.Tensor((8, 16), "float32")):
        with T.Kernel(1):
            T.annotate_safe_value({A: -1.0})
            T.annotate_layout({A: T.Layout(A.shape, lambda i, j: [j, i])})
            T.annotate_l2_hit_ratio({A: 0.5})
            T.clear(A)

    text = module_text(kernel)
    assert "tile.safe_value = -1.000000e+00 : f32" in text
    assert "tile.layout = #tile.layout<(i : 8, j : 16) -> (j, i)>" in text
    assert "tile.l2_hit_ratio = 5.000000e-01" in text


def _shared_pair(kind: str, *, second: str | None = None) -> Any:
    @T.prim_func
    def kernel(B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            spec = T.storage_alias_spec()
            a = T.alloc_shared((64,), "float32", reuse=spec)
            b = T.alloc_shared((64,), "float32", reuse=spec)
            c = T.alloc_shared((64,), "float32", reuse=spec)
            T.reuse_group(a, T.reuse_group(b, c, group_type=kind), group_type=kind)
            if second is not None:
                T.reuse_group(b, a, group_type=second)
            T.fill(a, 1.0)
            T.fill(b, 2.0)
            T.fill(c, 3.0)
            T.copy(a, B)

    return kernel


def test_reuse_group_without_set_buffer_overlap_is_placed():
    found = np.zeros(64, np.float32)
    tw.compile(_shared_pair("distinct"), target="numpy")(found)
    assert (found == 1).all()
    tw.compile(_shared_pair("distinct", second="distinct"), target="numpy")(found)
    with pytest.raises(TileFault, match="has overwritten"):
        tw.compile(_shared_pair("shared"), target="numpy")(found)


def test_reuse_groups_that_contradict_each_other_are_refused():
    with pytest.raises(CompileError) as caught:
        tw.compile(_shared_pair("shared", second="distinct"), target="numpy")(np.zeros(64, "f4"))
    assert "reuse groups of this spec contradict each other: distinct(b, a) does not hold" in str(
        caught.value
    )


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("other", "a and b are allocated from different storage_alias_specs"),
        (None, "b is not allocated from a storage_alias_spec"),
    ],
)
def test_a_reuse_group_of_no_single_spec_is_refused(where, message):
    def kernel(B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=64):
            spec = T.storage_alias_spec()
            other = T.storage_alias_spec()
            a = T.alloc_shared((64,), "float32", reuse=spec)
            b = T.alloc_shared((64,), "float32", reuse=other if where else None)
            T.reuse_group(a, b)
            T.fill(a, 1.0)

    with pytest.raises(CompileError, match=message):
        T.prim_func(kernel)
