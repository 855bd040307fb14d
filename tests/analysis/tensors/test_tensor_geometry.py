"""What divides values of the host, and the copies that depend on it."""

from __future__ import annotations

import pytest

from tests.passes.raising.levels import parsed
from tilewright.analysis.copies.copy_instructions import BulkCopy, Starts, bulk_copy
from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.tensors.tensor_geometry import uneven_start, uneven_stride
from tilewright.dialects.tile import CopyOp, ViewOp
from tilewright.ir.traversal import walk

COPY = """
#global = #tile.space<global>
#shared = #tile.space<shared>
func.func public @copy(%x: memref<?xf16, #global>, %y: memref<64x64xf16, #global>,
    %n: i32 {{tile.divisibility = 16 : i32}}, %m: i32) attributes {{tile.entry}} {{
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %i = arith.index_cast %n : i32 to index
  %j = arith.index_cast %m : i32 to index
  %row = {row} : index
  %at = {at} : index
  %start = tile.ptr_of rw %x[%at] : memref<?xf16, #global>
  %view = tile.view %start strides(%row)
    : !tile.ptr<f16> to memref<64x64xf16, strided<[?, 1]>, #global>
  tile.kernel (%b) in (%c1) threads(128) {{
    %s = tile.alloc "s" : memref<64x64xf16, #shared>
    tile.copy %view -> %s : memref<64x64xf16, strided<[?, 1]>, #global> -> memref<64x64xf16, #shared>
    tile.copy %s -> %y : memref<64x64xf16, #shared> -> memref<64x64xf16, #global>
  }}
  func.return
}}
"""


@pytest.mark.parametrize(
    ("row", "factor"),
    [
        ("arith.muli %i, %c4", 64),
        ("arith.addi %i, %c64", 16),
        ("arith.muli %j, %c4", 4),
        ("arith.divsi %i, %c4", 4),
        ("arith.addi %i, %j", 1),
    ],
)
def test_what_divides_the_stride_of_a_view(row: str, factor: int) -> None:
    module = parsed(COPY.format(row=row, at="arith.addi %i, %i"))
    (view,) = [op for op in walk(module) if isinstance(op, ViewOp)]
    copy = next(op for op in walk(module) if isinstance(op, CopyOp))
    ranges = IndexRanges(module)

    def problem(unit: int) -> str | None:
        return uneven_stride(view.results[0], unit, copy, lambda: ranges)

    assert problem(factor) is None
    assert problem(2 * factor) == (
        "the stride of dimension 0 of view is a run-time value that is not known to be a multiple "
        f"of {2 * factor}"
    )


@pytest.mark.parametrize(
    ("row", "at", "problem"),
    [
        ("arith.muli %i, %c4", "arith.addi %i, %i", None),
        (
            "arith.muli %j, %c4",
            "arith.addi %i, %i",
            "the stride of dimension 0 of view is a run-time value",
        ),
        ("arith.muli %i, %c4", "arith.addi %i, %c3", "the address of an element of x is not known"),
    ],
)
def test_a_tensor_map_of_a_view_needs_multiples_of_16_bytes(
    row: str, at: str, problem: str | None
) -> None:
    module = parsed(COPY.format(row=row, at=at))
    load = next(op for op in walk(module) if isinstance(op, CopyOp))
    found = bulk_copy(load, Starts(module))
    if problem is None:
        assert isinstance(found, BulkCopy)
    else:
        assert isinstance(found, str)
        assert found.startswith(problem)


AT_ADDRESS = """
#global = #tile.space<global>
func.func public @at(%address: i64, %at: index) attributes {{tile.entry}} {{
  %c8 = arith.constant 8 : index
  %pointer = tile.ptr_at %address {stated} : !tile.ptr<f16>
  %memory = tile.view %pointer sizes(%at) : !tile.ptr<f16> to memref<?xf16, #global>
  %index = {index} : index
  %start = tile.ptr_of rw %memory[%index] : memref<?xf16, #global>
  %view = tile.view %start : !tile.ptr<f16> to memref<64xf16, #global>
  func.return
}}
"""


@pytest.mark.parametrize(
    ("stated", "index", "multiple"),
    [
        ("", "arith.muli %at, %c8", 2),
        ("{tile.divisibility = 16 : i64}", "arith.muli %at, %c8", 16),
        ("{tile.divisibility = 8 : i64}", "arith.muli %at, %c8", 8),
        ("{tile.divisibility = 16 : i64}", "arith.addi %at, %c8", 2),
    ],
)
def test_memory_at_an_address_begins_where_it_is_stated(
    stated: str, index: str, multiple: int
) -> None:
    """The address of an argument is a multiple of 16; one that is an integer, of an element."""
    module = parsed(AT_ADDRESS.format(stated=stated, index=index))
    *_, view = [op for op in walk(module) if isinstance(op, ViewOp)]
    ranges = IndexRanges(module)

    def problem(bytes_: int) -> str | None:
        return uneven_start(view.result, bytes_, view, lambda: ranges)

    assert problem(multiple) is None
    assert "known to be a multiple of" in (problem(2 * multiple) or "")
