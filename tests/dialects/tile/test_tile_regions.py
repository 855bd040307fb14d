"""The region interface: what ops of any dialect read and write, seen from where they stand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.dialects.tile.support import ARGUMENTS, module_text, op_named, ops_named, parse
from tilewright.dialects.tile import PipelineOp
from tilewright.dialects.tile.access import AccessedRegion, may_share_bytes, somewhere, whole
from tilewright.dialects.tile.interfaces import (
    base_of,
    is_async,
    reads,
    region_of,
    scheduled_ops,
    writes,
)

T = ARGUMENTS


def touched(body: str, name: str) -> tuple[list[str], list[str]]:
    op = op_named(body, name)
    return [str(region) for region in reads(op)], [str(region) for region in writes(op)]


def test_a_buffer_is_touched_as_a_whole():
    body = f"tile.copy %A -> %A : {T['A']} -> {T['A']}"
    assert touched(body, "tile.copy") == (["%A[0 +256, 0 +128]"], ["%A[0 +256, 0 +128]"])


def test_a_region_is_looked_through():
    body = (
        f"%0 = tile.region %A[%i, 16] [64, 32] : {T['A']} to {T['RA']}\n"
        f"tile.copy %0 -> %As : {T['RA']} -> {T['As']}"
    )
    assert touched(body, "tile.copy") == (["%A[%i +64, 16 +32]"], ["%As[0 +64, 0 +32]"])


def test_a_view_has_all_bytes_of_its_buffer():
    view = f"%0 = tile.view %As : {T['As']} to memref<2048xf16, #shared>\n"
    fill = "tile.fill %0, %h : memref<2048xf16, #shared>, f16"
    assert touched(view + fill, "tile.fill") == ([], ["%As[0 +64, 0 +32]"])
    part = "%1 = tile.region %0[64] [64] : memref<2048xf16, #shared> to !tile.region<64xf16, #shared>\n"
    fill = "tile.fill %1, %h : !tile.region<64xf16, #shared>, f16"
    assert touched(view + part + fill, "tile.fill") == ([], ["%As[? +?, ? +?]"])
    load = "%1 = memref.load %0[%i] : memref<2048xf16, #shared>"
    assert touched(view + load, "memref.load") == (["%As[? +?, ? +?]"], [])


def test_a_version_is_a_part_of_its_ring():
    slot = f"%c1 = arith.constant 1 : index\n%0 = tile.slot %Vs[%c1] : {T['Vs']} to {T['As']}\n"
    fill = f"tile.fill %0, %h : {T['As']}, f16"
    assert touched(slot + fill, "tile.fill") == ([], ["%Vs[1 +1, 0 +64, 0 +32]"])
    part = "!tile.region<8x32xf16, #shared>"
    fill = (
        f"%1 = tile.region %0[%i, 0] [8, 32] : {T['As']} to {part}\ntile.fill %1, %h : {part}, f16"
    )
    assert touched(slot + fill, "tile.fill") == ([], ["%Vs[1 +1, %i +8, 0 +32]"])
    load = f"%1 = memref.load %0[%i, %j] : {T['As']}"
    assert touched(slot + load, "memref.load") == (["%Vs[1 +1, %i +1, %j +1]"], [])
    view = f"%1 = tile.view %0 : {T['As']} to memref<2048xf16, #shared>\n"
    fill = "tile.fill %1, %h : memref<2048xf16, #shared>, f16"
    assert touched(slot + view + fill, "tile.fill") == ([], ["%Vs[1 +1, 0 +64, 0 +32]"])
    load = "%2 = memref.load %1[%i] : memref<2048xf16, #shared>"
    assert touched(slot + view + load, "memref.load") == (["%Vs[? +?, ? +?, ? +?]"], [])


def test_elements():
    assert touched(f"memref.store %h, %As[%i, %j] : {T['As']}", "memref.store") == (
        [],
        ["%As[%i +1, %j +1]"],
    )
    body = f"%c = arith.constant 3 : index\n%0 = memref.load %As[%c, %j] : {T['As']}"
    assert touched(body, "memref.load") == (["%As[3 +1, %j +1]"], [])


def test_who_touches():
    def units(body: str, name: str) -> set[str]:
        op = op_named(body, name)
        return {region.unit for region in (*reads(op), *writes(op))}

    assert units(f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}", "tile.copy") == {"threads"}
    copy = f"tile.async_copy %RA -> %As barrier %bars[%i] : {T['RA']} -> {T['As']}, {T['bars']}"
    assert units(copy, "tile.async_copy") == {"tma"}
    assert units(f"tile.async_copy %RA -> %As : {T['RA']} -> {T['As']}", "tile.async_copy") == {
        "threads"
    }
    assert units(f"tile.async_copy %As -> %RA : {T['As']} -> {T['RA']}", "tile.async_copy") == {
        "tma"
    }
    gemm = f"tile.gemm %As, %Bs -> %Cf : {T['As']}, {T['Bs']} -> {T['Cf']}"
    assert units(gemm, "tile.gemm") == {"tensor_core"}
    assert units(f"%0 = memref.load %loc[%i] : {T['loc']}", "memref.load") == {"thread"}


LOOPS = {
    "parallel index": (
        "tile.parallel (%a, %b) in (64, %n) {\n  BODY\n}",
        f"memref.store %h, %As[%a, %b] : {T['As']}",
        "%As[0 +64, 0 +%n]",
    ),
    "offset and index": (
        "tile.parallel (%a) in (8) {\n  %s = arith.addi %i, %a : index\n  BODY\n}",
        f"memref.store %h, %As[%s, %j] : {T['As']}",
        "%As[%i +8, %j +1]",
    ),
    "index and offset": (
        "tile.parallel (%a) in (8) {\n  %s = arith.addi %a, %i : index\n  BODY\n}",
        f"memref.store %h, %As[%s, %j] : {T['As']}",
        "%As[%i +8, %j +1]",
    ),
    "what is not an index": (
        "tile.parallel (%a) in (8) {\n  %s = arith.muli %a, %i : index\n  BODY\n}",
        f"memref.store %h, %As[%s, %j] : {T['As']}",
        "%As[? +?, %j +1]",
    ),
    "two indices": (
        "tile.parallel (%a, %b) in (8, 8) {\n  %s = arith.addi %a, %b : index\n  BODY\n}",
        f"memref.store %h, %As[%s, %j] : {T['As']}",
        "%As[? +?, %j +1]",
    ),
    "tiles of a loop": (
        "tile.pipeline %k = 2 to 5 {\n"
        f"  %r = tile.region %A[%k, 0] [64, 32] : {T['A']} to {T['RA']}\n  BODY\n}}",
        f"tile.copy %As -> %r : {T['As']} -> {T['RA']}",
        "%A[2 +66, 0 +32]",
    ),
    "tiles of a run-time loop": (
        "tile.pipeline %k = 0 to %n {\n"
        f"  %r = tile.region %A[%k, 0] [64, 32] : {T['A']} to {T['RA']}\n  BODY\n}}",
        f"tile.copy %As -> %r : {T['As']} -> {T['RA']}",
        "%A[0 +?, 0 +32]",
    ),
    "loop from a value": (
        "tile.pipeline %k = %i to 8 {\n  BODY\n}",
        f"memref.store %h, %As[%k, %j] : {T['As']}",
        "%As[? +?, %j +1]",
    ),
    "extent from inside": (
        "tile.pipeline %k = 0 to 8 {\n"
        "  %s = arith.addi %k, %k : index\n"
        f"  %r = tile.region %A[0, 0] [%s, 32] : {T['A']} to {T['RN']}\n  BODY\n}}",
        f"tile.fill %r, %h : {T['RN']}, f16",
        "%A[? +?, 0 +32]",
    ),
    "persistent": (
        "tile.persistent (%a, %b) in (%n, 4) wave 8 index %i group 8 {\n  BODY\n}",
        f"memref.store %h, %As[%a, %b] : {T['As']}",
        "%As[0 +%n, 0 +4]",
    ),
}


@pytest.mark.parametrize(("loop", "access", "seen"), LOOPS.values(), ids=LOOPS)
def test_seen_from_outside_of_a_loop(loop: str, access: str, seen: str):
    body = loop.replace("BODY", access)
    (op,) = [
        op
        for op in parse(module_text(body)).walk()
        if op.name in ("tile.parallel", "tile.pipeline", "tile.persistent")
    ]
    assert [str(region) for region in writes(op)] == [seen]


def test_scf_loops_and_branches():
    body = f"""\
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c8 = arith.constant 8 : index
scf.for %a = %c0 to %c8 step %c1 {{
  scf.if %p {{
    memref.store %h, %As[%a, %c2] : {T["As"]}
  }} else {{
    tile.fill %As, %h : {T["As"]}, f16
  }}
}}
scf.for %a = %c0 to %c8 step %c2 {{
  memref.store %h, %As[%a, %c2] : {T["As"]}
}}"""
    loops = ops_named(body, "scf.for")
    found = [[str(region) for region in writes(op)] for op in loops]
    assert found == [["%As[0 +8, 2 +1]", "%As[0 +64, 0 +32]"], ["%As[? +?, 2 +1]"]]


def test_nested_loops():
    body = f"""\
tile.kernel (%bx) in (4) threads(128) {{
  tile.pipeline %k = 0 to 2 {{
    tile.parallel (%a, %b) in (64, 32) {{
      %0 = memref.load %As[%a, %b] : {T["As"]}
      %s = arith.addi %bx, %b : index
      memref.store %0, %A[%a, %s] : {T["A"]}
    }}
  }}
}}"""
    assert touched(body, "tile.parallel") == (["%As[0 +64, 0 +32]"], ["%A[0 +64, %bx +32]"])
    # 32 columns from each of the four values of %bx on.
    assert touched(body, "tile.kernel") == (["%As[0 +64, 0 +32]"], ["%A[0 +64, ? +?]"])


def test_barriers_are_read_and_written():
    body = f"nv.mbarrier.arrive %bars[%i] : {T['bars']}"
    assert touched(body, "nv.mbarrier.arrive") == (["%bars[%i +1]"], ["%bars[%i +1]"])


def test_calls_reach_what_their_pointers_allow():
    body = (
        f"%0 = tile.ptr_of r %A[%i, %j] : {T['A']}\n%1 = tile.ptr_of w %rows[%i] extent %n : {T['rows']}\n"
        f'tile.extern "f"(%0, %1, %As, %x) : (!tile.ptr<f16>, !tile.ptr<f32, #fragment>, {T["As"]}, f32) -> ()'
    )
    assert touched(body, "tile.extern") == (
        ["%A[? +?, ? +?]", "%As[0 +64, 0 +32]"],
        ["%rows[%i +%n]", "%As[0 +64, 0 +32]"],
    )


def test_printing_reads():
    body = f'tile.print "x", %x, %As : f32, {T["As"]}'
    assert touched(body, "tile.print") == (["%As[0 +64, 0 +32]"], [])
    assert not is_async(op_named(body, "tile.print"))


def test_reducers():
    body = (
        f"%acc = tile.reducer.alloc sum : {T['rows']}\n"
        f"tile.reducer.finalize %acc -> %rows : {T['rows']} -> {T['rows']}"
    )
    assert touched(body, "tile.reducer.finalize") == (
        ["%acc[0 +64]"],
        ["%acc[0 +64]", "%rows[0 +64]"],
    )


def test_asynchrony_shows_through_regions():
    copy = f"tile.async_copy %RA -> %As : {T['RA']} -> {T['As']}"
    assert is_async(op_named(copy, "tile.async_copy"))
    assert is_async(op_named(f"tile.pipeline %k = 0 to 8 {{\n  {copy}\n}}", "tile.pipeline"))
    assert is_async(op_named(f"scf.if %p {{\n  {copy}\n}}", "scf.if"))
    assert not is_async(op_named(f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}", "tile.copy"))
    gemm = f"tile.gemm %As, %Bs -> %Cf{{}} : {T['As']}, {T['Bs']} -> {T['Cf']}"
    assert is_async(op_named(gemm.replace("{}", " {async}"), "tile.gemm"))
    assert not is_async(op_named(gemm.replace("{}", ""), "tile.gemm"))


# -- comparing regions -------------------------------------------------------------------------


def _values(body: str) -> dict[str, object]:
    function = op_named(body, "func.func")
    return {arg.name_hint: arg for arg in function.regions[0].block.args}


_ARGS = _values(f"memref.store %h, %As[%i, %j] : {T['As']}\ntile.fill %Bs, %h : {T['Bs']}, f16")
AS, BS, X, Y = (_ARGS[name] for name in ("As", "Bs", "i", "j"))


def box(*spans: tuple[object, object]) -> AccessedRegion:
    return AccessedRegion(AS, tuple(s[0] for s in spans), tuple(s[1] for s in spans))


def test_regions_of_different_buffers_do_not_meet():
    assert not whole(AS).may_overlap(whole(BS))
    assert whole(AS).may_overlap(whole(AS))


def test_one_dimension_apart_is_apart():
    assert not box((0, 8), (0, 32)).may_overlap(box((8, 8), (0, 32)))
    assert box((0, 9), (0, 32)).may_overlap(box((8, 8), (0, 32)))
    assert not box((X, 8), (0, 16)).may_overlap(box((Y, 8), (16, 16)))
    assert box((X, 8), (0, 16)).may_overlap(box((Y, 8), (0, 16)))
    assert box((0, None), (0, 16)).may_overlap(box((8, 8), (0, 16)))
    assert not box((8, None), (0, 16)).may_overlap(box((0, 8), (0, 16)))
    assert somewhere(AS).may_overlap(box((0, 1), (0, 1)))


def test_containing():
    assert whole(AS).contains(box((X, 8), (Y, 4)))
    assert box((X, 8), (0, 32)).contains(box((X, 8), (4, 8)))
    assert box((X, 8), (0, 32)).contains(box((X, 4), (0, 32)))
    assert not box((X, 4), (0, 32)).contains(box((X, 8), (0, 32)))
    assert not box((X, 8), (0, 32)).contains(box((Y, 8), (0, 32)))
    assert not box((0, 8), (0, 32)).contains(somewhere(AS))
    assert not whole(BS).contains(whole(AS))
    assert box((X, Y), (0, 32)).contains(box((X, Y), (0, 32)))


@given(st.lists(st.integers(0, 12), min_size=8, max_size=8))
def test_numbers_decide_as_sets_do(numbers: list[int]):
    spans = [(numbers[k], numbers[k + 1] + 1) for k in range(0, 8, 2)]
    one, other = box(*spans[:2]), box(*spans[2:])

    def cells(region: AccessedRegion) -> set[tuple[int, int]]:
        rows, columns = (
            range(start, start + length)
            for start, length in zip(region.offsets, region.extents, strict=True)
        )
        return {(row, column) for row in rows for column in columns}

    assert one.may_overlap(other) == bool(cells(one) & cells(other))
    assert one.may_overlap(other) == other.may_overlap(one)
    assert one.contains(other) == (cells(other) <= cells(one))


def test_aliased_buffers_may_share_bytes():
    body = f"""\
%0 = tile.alloc "a" alias %spec : {T["As"]}
%1 = tile.alloc "b" alias %spec : {T["Bs"]}
%2 = tile.alloc "c" : {T["Bs"]}
%3 = tile.view %1 : {T["Bs"]} to memref<2048xf16, #shared>"""
    a, b, c = (op.results[0] for op in ops_named(body, "tile.alloc"))
    assert may_share_bytes(a, a)
    assert whole(a).may_overlap(whole(b))
    assert not whole(a).may_overlap(whole(c))
    view = op_named(body, "tile.view")
    assert base_of(view.results[0]) is view.operands[0]
    assert region_of(view.results[0]).is_whole


def test_pointers_may_point_anywhere():
    body = (
        "%0 = tile.view %ptr : !tile.ptr<f16> to memref<8x8xf16, #global>\n"
        "tile.fill %0, %h : memref<8x8xf16, #global>, f16\n"
        f"%1 = memref.load %A[%i, %j] : {T['A']}\n%2 = memref.load %As[%i, %j] : {T['As']}"
    )
    module = parse(module_text(body))
    by_name = {op.name: op for op in module.walk()}
    (written,) = writes(by_name["tile.fill"])
    assert written.base.name_hint == "ptr"
    assert not written.is_whole
    tensor, tile = (reads(op)[0] for op in module.walk() if op.name == "memref.load")
    assert written.may_overlap(tensor) and tensor.may_overlap(written)
    assert not written.may_overlap(tile)
    assert not written.contains(written)


def test_stock_views_are_looked_through():
    body = (
        f"%0 = memref.cast %A : {T['A']} to memref<?x128xf16, #global>\n"
        "tile.fill %0, %h : memref<?x128xf16, #global>, f16\n"
        "memref.store %h, %0[%i, %j] : memref<?x128xf16, #global>"
    )
    assert touched(body, "tile.fill") == ([], ["%A[? +?, ? +?]"])
    assert touched(body, "memref.store") == ([], ["%A[? +?, ? +?]"])
    assert base_of(op_named(body, "memref.cast").results[0]).name_hint == "A"


# -- what a schedule places --------------------------------------------------------------------


def test_scheduled_ops():
    body = f"""\
tile.pipeline %k = 0 to 8 num_stages(2) {{
  %s = arith.addi %k, %i : index
  %r = tile.region %A[%s, 0] [64, 32] : {T["A"]} to {T["RA"]}
  %w = memref.load %rows[%k] : {T["rows"]}
  tile.assume %p
  tile.copy %r -> %As : {T["RA"]} -> {T["As"]}
  %v = memref.load %As[%i, %j] : {T["As"]}
  tile.gemm %As, %Bs -> %Cf : {T["As"]}, {T["Bs"]} -> {T["Cf"]}
  scf.if %p {{
    tile.fill %Bs, %v : {T["Bs"]}, f16
  }}
  nv.cp_async.wait 0
}}"""
    loop = op_named(body, "tile.pipeline")
    assert isinstance(loop, PipelineOp)
    assert [op.name for op in scheduled_ops(loop)] == [
        "tile.copy",
        "memref.load",
        "tile.gemm",
        "scf.if",
        "nv.cp_async.wait",
    ]
