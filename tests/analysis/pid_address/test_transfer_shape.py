"""Shape ops: every element of the result against NumPy's, lane by lane."""

from __future__ import annotations

import numpy as np
import pytest

from tests.analysis.pid_address.support import only_access
from tilewright.analysis.affine import evaluate
from tilewright.analysis.affine.arrays import evaluate_array, holds_array
from tilewright.analysis.pid_address import MemoryOp, Pattern, Reason


def kernel(body: str, type: str, mask: str = "") -> str:
    """Load from ``%p + %r`` bytes, where ``%r`` has `type`."""
    pointers = type.replace("xi32", "x!tt.ptr<i8>")
    suffix = f", {mask}" if mask else ""
    return f"""
    tt.func public @k(%p: !tt.ptr<i8>, %n: i32, %f: i1) {{
      {body}
      %ps = tt.splat %p : !tt.ptr<i8> -> {pointers}
      %q = tt.addptr %ps, %r : {pointers}, {type}
      %v = tt.load %q{suffix} : {pointers}
      tt.return
    }}"""


def table(access: MemoryOp, **values: int) -> np.ndarray:
    """The offset at every lane."""
    lanes = {
        f"lane{dim}": np.arange(extent).reshape(
            [-1 if d == dim else 1 for d in range(len(access.shape))]
        )
        for dim, extent in enumerate(access.shape)
    }
    return np.broadcast_to(evaluate_array(access.offset, {**lanes, **values}), access.shape)


RANGE = "%a = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>"


def test_a_range_starts_at_its_start() -> None:
    access = only_access(
        kernel(
            "%r = tt.make_range {end = 24 : i32, start = 16 : i32} : tensor<8xi32>", "tensor<8xi32>"
        )
    )
    assert table(access).tolist() == list(range(16, 24))


@pytest.mark.parametrize("axis", [0, 1])
def test_expanded_and_broadcast_dimensions(axis: int) -> None:
    thin = "tensor<1x32xi32>" if axis == 0 else "tensor<32x1xi32>"
    wide = "tensor<4x32xi32>" if axis == 0 else "tensor<32x4xi32>"
    access = only_access(
        kernel(
            f"""{RANGE}
            %e = tt.expand_dims %a {{axis = {axis} : i32}} : tensor<32xi32> -> {thin}
            %r = tt.broadcast %e : {thin} -> {wide}""",
            wide,
        )
    )
    row = np.arange(32)
    expected = (
        np.broadcast_to(row[None, :], (4, 32))
        if axis == 0
        else np.broadcast_to(row[:, None], (32, 4))
    )
    assert (table(access) == expected).all()


SHAPES = [(32,), (2, 16), (16, 2), (4, 8), (2, 4, 4), (8, 1, 4), (2, 2, 2, 4)]


def tensor(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xi32>"


@pytest.mark.parametrize("source", SHAPES, ids=str)
@pytest.mark.parametrize("target", SHAPES, ids=str)
def test_reshapes_keep_the_order_of_elements(
    source: tuple[int, ...], target: tuple[int, ...]
) -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %s = tt.reshape %a : tensor<32xi32> -> {tensor(source)}
            %c = arith.constant dense<3> : {tensor(source)}
            %t = arith.muli %s, %c : {tensor(source)}
            %r = tt.reshape %t : {tensor(source)} -> {tensor(target)}""",
            tensor(target),
        )
    )
    assert (table(access) == 3 * np.arange(32).reshape(target)).all()


def test_reshapes_that_split_or_merge_are_affine_again() -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %s = tt.reshape %a : tensor<32xi32> -> tensor<4x8xi32>
            %r = tt.reshape %s : tensor<4x8xi32> -> tensor<2x2x8xi32>""",
            "tensor<2x2x8xi32>",
        )
    )
    assert [str(stride) for stride in access.lane_strides] == ["16", "8", "1"]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_transpositions(order: tuple[int, ...]) -> None:
    shape = (2, 4, 4)
    after = tuple(shape[dim] for dim in order)
    access = only_access(
        kernel(
            f"""{RANGE}
            %s = tt.reshape %a : tensor<32xi32> -> {tensor(shape)}
            %r = tt.trans %s {{order = array<i32: {", ".join(map(str, order))}>}}
                : {tensor(shape)} -> {tensor(after)}""",
            tensor(after),
        )
    )
    assert (table(access) == np.arange(32).reshape(shape).transpose(order)).all()


def test_join_and_split() -> None:
    body = f"""{RANGE}
      %c = arith.constant dense<100> : tensor<32xi32>
      %b = arith.addi %a, %c : tensor<32xi32>
      %j = tt.join %a, %b : tensor<32xi32> -> tensor<32x2xi32>"""
    joined = only_access(
        kernel(
            f"{body}\n %z = arith.constant dense<0> : tensor<32x2xi32>\n"
            " %r = arith.addi %j, %z : tensor<32x2xi32>",
            "tensor<32x2xi32>",
        )
    )
    row = np.arange(32)
    assert (table(joined) == np.stack([row, row + 100], axis=-1)).all()
    assert [str(stride) for stride in joined.lane_strides] == ["1", "100"]
    split = only_access(
        kernel(
            f"""{body}
            %r, %u = tt.split %j : tensor<32x2xi32> -> tensor<32xi32>""",
            "tensor<32xi32>",
        )
    )
    assert (table(split) == row).all()


def test_interleaved_addresses_are_one_run() -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %two = arith.constant dense<2> : tensor<32xi32>
            %one = arith.constant dense<1> : tensor<32xi32>
            %e = arith.muli %a, %two : tensor<32xi32>
            %o = arith.addi %e, %one : tensor<32xi32>
            %j = tt.join %e, %o : tensor<32xi32> -> tensor<32x2xi32>
            %r = tt.reshape %j : tensor<32x2xi32> -> tensor<64xi32>""",
            "tensor<64xi32>",
        )
    )
    assert (access.contiguity, access.block_size) == ((64,), 64)
    assert (table(access) == np.arange(64)).all()


def test_a_table_is_read_by_lane() -> None:
    access = only_access(
        kernel(
            "%r = arith.constant dense<[[7, -3, 5, 0], [1, 2, 3, 4]]> : tensor<2x4xi32>",
            "tensor<2x4xi32>",
        )
    )
    assert table(access).tolist() == [[7, -3, 5, 0], [1, 2, 3, 4]]
    assert access.block_size == 1  # -3 and 7 are runs of one element
    assert access.coalesced is False


def test_a_gather_reads_an_exact_source_at_its_indices() -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %c = arith.constant dense<5> : tensor<32xi32>
            %s = arith.muli %a, %c : tensor<32xi32>
            %k = arith.constant dense<31> : tensor<32xi32>
            %i = arith.subi %k, %a : tensor<32xi32>
            %r = tt.gather %s[%i] {{axis = 0 : i32}} : (tensor<32xi32>, tensor<32xi32>) -> tensor<32xi32>""",
            "tensor<32xi32>",
        )
    )
    assert table(access).tolist() == [5 * (31 - lane) for lane in range(32)]


@pytest.mark.parametrize(
    "body",
    [
        "%s = tt.reshape %a allow_reorder : tensor<32xi32> -> tensor<32xi32>",
        "%h = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>\n"
        " %s = tt.cat %h, %h : tensor<16xi32> -> tensor<32xi32>",
    ],
)
def test_ops_that_may_reorder_leave_a_range(body: str) -> None:
    access = only_access(
        kernel(
            f"{RANGE}\n {body}\n %i = tt.get_program_id x : i32\n"
            " %is = tt.splat %i : i32 -> tensor<32xi32>\n"
            " %r = arith.addi %s, %is : tensor<32xi32>",
            "tensor<32xi32>",
        )
    )
    [opaque] = [atom for atom in access.offset.atoms() if atom.is_opaque]
    assert (opaque.range.lo, opaque.range.hi) in ((0, 31), (0, 15))
    # What was reordered does not depend on the program.
    assert (access.pattern, str(access.pid_strides[0])) == (Pattern.AFFINE, "1")
    assert access.lane_strides == (None,)


def test_a_reduction_forgets_the_lane_it_runs_over() -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %i = tt.get_program_id x : i32
            %is = tt.splat %i : i32 -> tensor<32xi32>
            %m = arith.muli %a, %is : tensor<32xi32>
            %s = "tt.reduce"(%m) <{{axis = 0 : i32}}> ({{
            ^bb0(%x: i32, %y: i32):
              %z = arith.addi %x, %y : i32
              tt.reduce.return %z : i32
            }}) : (tensor<32xi32>) -> i32
            %r = tt.splat %s : i32 -> tensor<32xi32>""",
            "tensor<32xi32>",
        )
    )
    assert [str(stride) for stride in access.lane_strides] == ["0"]
    assert (access.pattern, access.reason) == (Pattern.UNKNOWN, Reason.UNSUPPORTED)


def test_masks_move_with_their_lanes() -> None:
    access = only_access(
        kernel(
            f"""{RANGE}
            %ns = tt.splat %n : i32 -> tensor<32xi32>
            %m = arith.cmpi slt, %a, %ns : tensor<32xi32>
            %me = tt.expand_dims %m {{axis = 0 : i32}} : tensor<32xi1> -> tensor<1x32xi1>
            %mb = tt.broadcast %me : tensor<1x32xi1> -> tensor<2x32xi1>
            %ae = tt.expand_dims %a {{axis = 0 : i32}} : tensor<32xi32> -> tensor<1x32xi32>
            %r = tt.broadcast %ae : tensor<1x32xi32> -> tensor<2x32xi32>""",
            "tensor<2x32xi32>",
            "%mb",
        )
    )
    assert access.mask is not None
    assert str(access.mask) == "lane1 < n"
    found = holds_array(access.mask, {"lane1": np.arange(32), "n": 5})
    assert found.tolist() == [lane < 5 for lane in range(32)]


def test_a_scalar_out_of_a_tensor() -> None:
    access = only_access(
        """
        tt.func public @k(%p: !tt.ptr<i8>, %n: i32) {
          %s = tt.splat %n : i32 -> tensor<1xi32>
          %u = tt.unsplat %s : tensor<1xi32>
          %q = tt.addptr %p, %u : !tt.ptr<i8>, i32
          %v = tt.load %q : !tt.ptr<i8>
          tt.return
        }"""
    )
    assert evaluate(access.offset, {"n": 9}) == 9
