"""Pointers, descriptors and block pointers: what an access is recorded with."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import (
    corpus_module,
    fixture_module,
    only_access,
    report_of,
)
from tilewright.analysis.affine import evaluate, holds
from tilewright.analysis.pid_address import AccessKind, Pattern, Reason, analyze


def kernel(body: str) -> str:
    return f"""
    tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}, %t: !tt.ptr<i64>,
                      %a: i32, %addr: i64) {{
      %pid = tt.get_program_id x : i32
      %v = arith.constant 0.0 : f32
      %c4 = arith.constant 4 : i64
      {body}
      tt.return
    }}"""


@pytest.mark.parametrize(
    ("element", "size"),
    [("i1", 1), ("i8", 1), ("f16", 2), ("bf16", 2), ("f32", 4), ("i64", 8), ("f64", 8)],
)
def test_offsets_count_elements(element: str, size: int) -> None:
    access = only_access(
        f"""
    tt.func public @k(%p: !tt.ptr<{element}>, %a: i32) {{
      %q = tt.addptr %p, %a : !tt.ptr<{element}>, i32
      %v = tt.load %q : !tt.ptr<{element}>
      tt.return
    }}"""
    )
    assert (access.elem_bytes, evaluate(access.offset, {"a": 5})) == (size, 5 * size)


def test_an_address_cast_there_and_back_keeps_its_base() -> None:
    access = only_access(
        kernel("""
      %i = tt.ptr_to_int %p : !tt.ptr<f32> -> i64
      %w = arith.extsi %pid : i32 to i64
      %m = arith.muli %w, %c4 : i64
      %j = arith.addi %i, %m : i64
      %q = tt.int_to_ptr %j : i64 -> !tt.ptr<f32>
      tt.store %q, %v : !tt.ptr<f32>""")
    )
    assert (access.base, str(access.offset), access.pattern) == ("%p", "4*pid0", Pattern.AFFINE)
    assert access.align_bytes == 4


def test_a_loaded_address_is_a_base_of_its_own() -> None:
    report = report_of(
        kernel("""
      %slot = tt.addptr %t, %pid : !tt.ptr<i64>, i32
      %b = tt.load %slot : !tt.ptr<i64>
      %q = tt.int_to_ptr %b : i64 -> !tt.ptr<f32>
      %r = tt.addptr %q, %a : !tt.ptr<f32>, i32
      tt.store %r, %v : !tt.ptr<f32>""")
    )
    store = report.accesses[-1]
    assert (store.base, str(store.offset)) == ("*%b", "4*a")
    assert (store.pattern, store.reason, store.pid_axes) == (
        Pattern.UNKNOWN,
        Reason.DATA_DEPENDENT,
        (0,),
    )
    # Nothing is known about where a loaded pointer points.
    assert (store.base_divisibility, store.align_bytes, store.vector_bits) == (None, 4, 32)


def test_pointers_in_memory() -> None:
    report = report_of(
        """
    tt.func public @k(%t: !tt.ptr<!tt.ptr<f32>>, %a: i32) {
      %b = tt.load %t : !tt.ptr<!tt.ptr<f32>>
      %r = tt.addptr %b, %a : !tt.ptr<f32>, i32
      %v = tt.load %r : !tt.ptr<f32>
      tt.return
    }"""
    )
    assert [access.base for access in report.accesses] == ["%t", "*%b"]
    assert report.accesses[1].pattern is Pattern.INDEPENDENT


def test_an_integer_argument_as_an_address() -> None:
    access = only_access(
        kernel("""
      %q = tt.int_to_ptr %addr : i64 -> !tt.ptr<f32>
      %r = tt.addptr %q, %pid : !tt.ptr<f32>, i32
      tt.store %r, %v : !tt.ptr<f32>""")
    )
    assert (access.base, access.pattern) == ("*%addr", Pattern.AFFINE)


def test_an_address_out_of_nowhere_has_no_base() -> None:
    access = only_access(
        kernel("""
      %m = arith.muli %addr, %addr : i64
      %q = tt.int_to_ptr %m : i64 -> !tt.ptr<f32>
      tt.store %q, %v : !tt.ptr<f32>""")
    )
    assert (access.base, access.pattern) == ("?", Pattern.UNKNOWN)


def test_kinds_and_counts_of_accesses() -> None:
    report = report_of(
        """
    tt.func public @k(%p: !tt.ptr<i32>, %a: i32, %m: i1) {
      %l = tt.load %p : !tt.ptr<i32>
      %x = tt.atomic_rmw add, acq_rel, gpu, %p, %a, %m : (!tt.ptr<i32>, i32, i1) -> i32
      %y = tt.atomic_cas acq_rel, gpu, %p, %a, %x : (!tt.ptr<i32>, i32, i32) -> i32
      %q = tt.addptr %p, %y : !tt.ptr<i32>, i32
      tt.store %q, %l, %m : !tt.ptr<i32>
      tt.return
    }"""
    )
    assert [(access.index, access.kind, access.masked) for access in report.accesses] == [
        (0, AccessKind.LOAD, False),
        (1, AccessKind.ATOMIC, True),
        (2, AccessKind.ATOMIC, False),
        (3, AccessKind.STORE, True),
    ]
    # The order of atomics differs from program to program.
    assert report.accesses[3].pid_axes == (0, 1, 2)
    assert report.accesses[3].reason is Reason.DATA_DEPENDENT


def test_values_loaded_in_a_loop_are_new_in_every_iteration() -> None:
    report = report_of(
        """
    tt.func public @k(%p: !tt.ptr<i32>, %n: i32) {
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i32
      scf.for %i = %c0 to %n step %c1 : i32 {
        %x = tt.load %p : !tt.ptr<i32>
        %q = tt.addptr %p, %x : !tt.ptr<i32>, i32
        tt.store %q, %x : !tt.ptr<i32>
      }
      tt.return
    }"""
    )
    assert report.accesses[1].loop_strides[0].stride is None


# Blocks.


def test_descriptors_made_on_the_device() -> None:
    a, _, c = analyze(corpus_module("matmul_tma")).accesses
    assert str(a.mask) == "lane0 + 128*pid0 < M and lane1 + 64*it(%k) < K"
    assert a.box is not None and c.box is not None
    assert [str(extent) for extent in a.box.shape] == ["M", "K"]
    assert [str(stride) for stride in c.box.strides] == ["N", "1"]
    assert [str(index) for index in c.box.indices] == ["128*pid0", "128*pid1"]
    assert a.box.block == (128, 64)


def test_descriptor_arguments_take_shape_and_strides_from_the_signature() -> None:
    load, store = analyze(fixture_module("descriptor_arguments")).accesses
    assert (load.base, store.base) == ("%a_desc", "%c_desc")
    assert str(load.pid_strides[0]) == "128*a_desc.stride.0"
    # The last stride is 1 by contract, although the signature has an argument for it.
    assert [str(stride) for stride in load.lane_strides] == ["2*a_desc.stride.0", "2"]
    assert (load.align_bytes, load.vector_bits) == (None, None)
    assert load.box is not None
    assert [str(extent) for extent in load.box.shape] == ["a_desc.shape.0", "a_desc.shape.1"]


def test_a_descriptor_argument_alone_gets_hidden_symbols() -> None:
    access = only_access(
        """
    tt.func public @k(%d: !tt.tensordesc<16x32xf32>, %i: i32) {
      %v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<16x32xf32> -> tensor<16x32xf32>
      tt.return
    }"""
    )
    assert str(access.offset) == "4*d.stride.0*i + 4*d.stride.0*lane0 + 4*i + 4*lane1"


def test_gathered_rows_come_from_the_index_tensor() -> None:
    report = report_of(
        """
    tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %m: i32, %n: i32, %y: i32) {
      %c1 = arith.constant 1 : i64
      %w = arith.extsi %n : i32 to i64
      %d = tt.make_tensor_descriptor %p, [%m, %n], [%w, %c1] : <f16>, <1x64xf16>
      %r = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
      %k = arith.constant dense<3> : tensor<32xi32>
      %x = arith.muli %r, %k : tensor<32xi32>
      %v = tt.descriptor_gather %d[%x, %y]
          : (!tt.tensordesc<1x64xf16>, tensor<32xi32>, i32) -> tensor<32x64xf16>
      tt.descriptor_scatter %d[%x, %y], %v
          : !tt.tensordesc<1x64xf16>, tensor<32xi32>, i32, tensor<32x64xf16>
      tt.return
    }"""
    )
    gather, scatter = report.accesses
    assert (gather.kind, scatter.kind) == (AccessKind.LOAD, AccessKind.STORE)
    for access in (gather, scatter):
        assert access.shape == (32, 64)
        assert [str(stride) for stride in access.lane_strides] == ["6*n", "2"]
        assert access.mask is not None
        values = {"m": 10, "n": 70, "y": 8, "lane0": 3, "lane1": 61}
        assert holds(access.mask, values) and not holds(access.mask, {**values, "lane1": 62})
        assert not holds(access.mask, {**values, "lane0": 4})


def test_block_pointers_check_the_dimensions_they_name() -> None:
    text = """
    tt.func public @k(%p: !tt.ptr<f16>, %m: i64, %n: i64, %i: i32) {{
      %c0 = arith.constant 0 : i32
      %c1 = arith.constant 1 : i64
      %b = tt.make_tensor_ptr %p, [%m, %n], [%n, %c1], [%i, %c0] {{order = array<i32: 1, 0>}}
          : <tensor<16x32xf16>>
      %d = tt.advance %b, [%c0, %i] : <tensor<16x32xf16>>
      %v = tt.load %d {{boundaryCheck = array<i32{checks}>}} : !tt.ptr<tensor<16x32xf16>>
      tt.return
    }}"""
    one = only_access(text.format(checks=": 1"))
    assert one.masked and str(one.mask) == "i + lane1 < n and i + lane1 >= 0"
    assert str(one.offset) == "2*i*n + 2*lane0*n + 2*i + 2*lane1"
    none = only_access(text.format(checks=""))
    assert not none.masked and none.mask is None


def test_block_pointers_advance_through_loops() -> None:
    a, b, _ = analyze(corpus_module("matmul_block_ptr")).accesses
    assert str(a.offset) == ("2*lane0*stride_am + 256*pid0*stride_am + 2*lane1 + 64*it(%k)")
    assert a.mask is not None and b.mask is not None
    point = {"pid0": 1, "lane0": 79, "lane1": 15, "it(%k)": 2, "M": 208, "K": 80}
    assert holds(a.mask, point) and not holds(a.mask, {**point, "lane1": 16})
