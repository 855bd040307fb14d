"""Lane facts: runs, sectors, alignment, vectors, and the masks that limit them."""

from __future__ import annotations

import pytest

from tests.analysis.pid_address.support import fixture_module, only_access, report_of
from tilewright.analysis.pid_address import (
    AccessProperties,
    AssumptionKind,
    MemoryOp,
    Pattern,
    analyze,
)


def load(offset: str, *, element: str = "f32", extent: int = 32, mask: str = "") -> str:
    """A load of `extent` lanes at ``%o``, which `offset` computes from the lane ``%l``."""
    tensor = f"tensor<{extent}xi32>"
    suffix = ", %mask" if mask else ""
    return f"""
    tt.func public @k(%p: !tt.ptr<{element}> {{tt.divisibility = 16 : i32}},
                      %s: i32 {{tt.divisibility = 16 : i32}}, %n: i32, %a: i32) {{
      %l = tt.make_range {{end = {extent} : i32, start = 0 : i32}} : {tensor}
      %ns = tt.splat %n : i32 -> {tensor}
      %ss = tt.splat %s : i32 -> {tensor}
      %as = tt.splat %a : i32 -> {tensor}
      %pid = tt.get_program_id x : i32
      %ids = tt.splat %pid : i32 -> {tensor}
      {offset}
      {mask}
      %ps = tt.splat %p : !tt.ptr<{element}> -> tensor<{extent}x!tt.ptr<{element}>>
      %q = tt.addptr %ps, %o : tensor<{extent}x!tt.ptr<{element}>>, {tensor}
      %v = tt.load %q{suffix} : tensor<{extent}x!tt.ptr<{element}>>
      tt.return
    }}""".replace("T", tensor)


def scaled(by: int, plus: int = 0) -> str:
    return f"""%k = arith.constant dense<{by}> : T
      %m = arith.muli %l, %k : T
      %k2 = arith.constant dense<{plus}> : T
      %o = arith.addi %m, %k2 : T"""


def facts(access: MemoryOp) -> tuple[object, ...]:
    return (
        access.contiguity,
        access.block_size,
        access.coalesced,
        access.align_bytes,
        access.vector_bits,
    )


def test_a_plain_row() -> None:
    assert facts(only_access(load(scaled(1)))) == ((32,), 32, True, 16, 128)


def test_a_row_that_starts_off_the_alignment() -> None:
    assert facts(only_access(load(scaled(1, 1)))) == ((32,), 32, True, 4, 32)
    assert facts(only_access(load(scaled(1, 2)))) == ((32,), 32, True, 8, 64)


def test_a_strided_column_is_not_coalesced() -> None:
    """32 lanes 256 bytes apart access 32 sectors instead of 4."""
    access = only_access(load(scaled(64)))
    assert facts(access) == ((1,), 1, False, 16, 32)
    assert str(access) == ("%v (load):  PATTERN(PID_INDEPENDENT, block_size=1, coalesced=false)")


def test_every_second_element_fills_half_of_each_sector() -> None:
    assert only_access(load(scaled(2))).coalesced is False


def test_a_row_read_backwards_is_one_run_without_contiguity() -> None:
    access = only_access(load(scaled(-1, 31)))
    assert (access.contiguity, access.block_size, access.coalesced) == ((1,), 32, True)


def test_all_lanes_at_one_address() -> None:
    access = only_access(load("%o = arith.addi %as, %ids : T"))
    assert (str(access.lane_strides[0]), access.block_size, access.coalesced) == ("0", 1, True)


def test_an_unknown_stride_may_be_anything() -> None:
    access = only_access(load("%o = arith.muli %l, %as : T"))
    assert (access.block_size, access.coalesced, access.vector_bits) == (1, None, 32)
    one = only_access(load("%o = arith.muli %l, %as : T"), AccessProperties(args={"a": 1}))
    assert (one.block_size, one.coalesced, one.vector_bits) == (32, True, 128)


@pytest.mark.parametrize(
    ("element", "bits"), [("i8", 128), ("f16", 128), ("f32", 128), ("f64", 128)]
)
def test_vectors_are_limited_to_sixteen_bytes(element: str, bits: int) -> None:
    assert only_access(load(scaled(1), element=element)).vector_bits == bits


def test_terms_of_the_offset_limit_the_vector() -> None:
    plain = only_access(load("%o = arith.addi %l, %as : T"))
    assert (plain.contiguity, plain.align_bytes, plain.vector_bits) == ((32,), 4, 32)
    assert plain.vector_limits is not None
    assert [(str(term), limit) for term, limit in plain.vector_limits.terms] == [("4*a", 1)]
    divisible = only_access(load("%o = arith.addi %l, %ss : T"))
    assert (divisible.align_bytes, divisible.vector_bits) == (16, 128)


def test_a_base_without_a_hint_counts_one_element() -> None:
    text = load(scaled(1)).replace(
        "%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}", "%p: !tt.ptr<f32>"
    )
    access = only_access(text)
    assert (access.contiguity, access.align_bytes, access.vector_bits) == ((32,), 4, 32)
    assert access.vector_limits is not None and access.vector_limits.base == 1


# Wrapped and mixed lanes.


def wrapped(divisor: str) -> str:
    return f"""%k = arith.constant dense<32> : T
      %b = arith.muli %ids, %k : T
      %c = arith.addi %b, %l : T
      %o = arith.remsi %c, {divisor} : T"""


def test_a_wrapped_row_runs_to_the_common_divisor() -> None:
    access = only_access(load(wrapped("%ss")))
    assert (access.contiguity, access.block_size) == ((16,), 16)
    assert (access.align_bytes, access.vector_bits) == (16, 128)
    assert access.lane_strides == (None,)


def test_a_wrap_by_an_argument_without_divisor_breaks_anywhere() -> None:
    access = only_access(load(wrapped("%ns")))
    assert (access.contiguity, access.block_size, access.coalesced) == ((1,), 1, None)


def test_a_wrap_that_never_happens_goes_away() -> None:
    access = only_access(load(wrapped("%ss")), AccessProperties(grid=(4,), args={"s": 128}))
    assert (access.contiguity, access.pattern) == ((32,), Pattern.AFFINE)


def test_signs_taken_for_granted_are_assumptions() -> None:
    offset = """%c = arith.addi %ss, %l : T
      %k = arith.constant dense<64> : T
      %o = arith.remsi %c, %k : T"""
    report = report_of(load(offset))
    [access] = report.accesses
    assert access.contiguity == (16,)
    kinds = [report.assumptions[index].kind for index in access.assumptions]
    assert AssumptionKind.NON_NEGATIVE in kinds
    [signs] = [one for one in report.assumptions if one.kind is AssumptionKind.NON_NEGATIVE]
    assert (signs.value, str(signs.expr), signs.lower, signs.upper) == ("%o", "lane0 + s", 0, None)
    known = report_of(load(offset), AccessProperties(assumptions=("s >= 0",)))
    assert known.accesses[0].contiguity == (16,)
    assert all(one.kind is AssumptionKind.NO_OVERFLOW for one in known.assumptions)


def test_a_swizzle_keeps_runs_and_the_set_of_addresses() -> None:
    _, store = analyze(fixture_module("swizzled")).accesses
    assert str(store.offset) == "2048*pid0 + 4*xor(4, lane0)"
    assert facts(store) == ((4,), 512, True, 16, 128)
    assert (store.pattern, store.lane_strides) == (Pattern.AFFINE, (None,))


def test_repeated_lanes() -> None:
    offset = """%k = arith.constant dense<4> : T
      %o = arith.divsi %l, %k : T"""
    access = only_access(load(offset))
    assert (access.contiguity, access.block_size, access.coalesced) == ((1,), 8, True)


def test_adjacent_rows_make_one_run() -> None:
    text = """
    tt.func public @k(%p: !tt.ptr<f32> {{tt.divisibility = 16 : i32}}) {{
      %i = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
      %r = tt.expand_dims %i {{axis = 1 : i32}} : tensor<8xi32> -> tensor<8x1xi32>
      %w = arith.constant dense<{width}> : tensor<8x1xi32>
      %y = arith.muli %r, %w : tensor<8x1xi32>
      %c = tt.expand_dims %i {{axis = 0 : i32}} : tensor<8xi32> -> tensor<1x8xi32>
      %yb = tt.broadcast %y : tensor<8x1xi32> -> tensor<8x8xi32>
      %cb = tt.broadcast %c : tensor<1x8xi32> -> tensor<8x8xi32>
      %o = arith.addi %yb, %cb : tensor<8x8xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>>
      %q = tt.addptr %ps, %o : tensor<8x8x!tt.ptr<f32>>, tensor<8x8xi32>
      %v = tt.load %q : tensor<8x8x!tt.ptr<f32>>
      tt.return
    }}"""
    found = {
        width: (access.block_size, access.coalesced, access.order)
        for width in (4, 8, 9, 16)
        for access in [only_access(text.format(width=width))]
    }
    assert found == {
        4: (36, True, (1, 0)),
        8: (64, True, (1, 0)),
        9: (8, True, (1, 0)),
        16: (8, True, (1, 0)),
    }


# Masks.


def bound(by: str, predicate: str = "slt") -> str:
    return f"%mask = arith.cmpi {predicate}, %l, {by} : T"


@pytest.mark.parametrize(
    ("mask", "constancy", "bits"),
    [
        (bound("%ns"), 1, 32),
        (bound("%ss"), 16, 128),
        (bound("%ss", "sle"), 1, 32),
        (bound("%ss", "sge"), 16, 128),
        ("%mask = arith.cmpi sgt, %ss, %l : T", 16, 128),
        ("%mask = arith.cmpi slt, %as, %ns : T", 32, 128),
        ("%mask = arith.cmpi eq, %l, %ss : T", 1, 32),
        ("%k9 = arith.constant dense<12> : T\n " + bound("%k9"), 4, 128),
        ("%k9 = arith.constant dense<31> : T\n " + bound("%k9", "sle"), 32, 128),
        (
            "%m1 = arith.cmpi slt, %l, %ss : T\n %m2 = arith.cmpi slt, %as, %ns : T\n"
            " %mask = arith.andi %m1, %m2 : tensor<32xi1>",
            16,
            128,
        ),
        (
            "%k9 = arith.constant dense<2> : T\n %d = arith.divsi %l, %k9 : T\n"
            " %mask = arith.cmpi slt, %d, %as : T",
            2,
            64,
        ),
    ],
    ids=[
        "unknown bound",
        "bound of 16",
        "inclusive",
        "at least",
        "mirrored",
        "same for all lanes",
        "one lane",
        "constant bound",
        "always",
        "both",
        "pairs",
    ],
)
def test_masks_limit_vectors(mask: str, constancy: int, bits: int) -> None:
    access = only_access(load(scaled(1), mask=mask))
    assert (access.mask_constancy, access.vector_bits) == (constancy, bits)


def test_the_argument_that_limits_a_vector_can_be_given() -> None:
    text = load(scaled(1), mask=bound("%ns"))
    assert only_access(text, AccessProperties(args={"n": 24})).vector_bits == 128
    assert only_access(text, AccessProperties(args={"n": 30})).vector_bits == 64
    assert only_access(text, AccessProperties(assumptions=("n % 4 == 0",))).vector_bits == 128


# Hints.


def test_hints_are_trusted() -> None:
    for access in analyze(fixture_module("hinted_wrap")).accesses:
        assert facts(access) == ((256,), 256, True, 16, 128)


def test_a_hint_about_an_opaque_offset() -> None:
    text = """
    tt.func public @k(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %t: !tt.ptr<i32>) {
      %x = tt.load %t {tt.divisibility = 8 : i32} : !tt.ptr<i32>
      %l = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
      %xs = tt.splat %x : i32 -> tensor<32xi32>
      %o = arith.addi %xs, %l : tensor<32xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
      %q = tt.addptr %ps, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
      %v = tt.load %q : tensor<32x!tt.ptr<f32>>
      tt.return
    }"""
    hinted = report_of(text).accesses[1]
    assert (hinted.align_bytes, hinted.vector_bits) == (16, 128)
    plain = report_of(
        text.replace(" {tt.divisibility = 8 : i32} : !tt.ptr<i32>", " : !tt.ptr<i32>")
    )
    assert (plain.accesses[1].align_bytes, plain.accesses[1].vector_bits) == (4, 32)


def test_a_choice_by_an_unknown_mask_implies_nothing_about_lanes() -> None:
    text = """
    tt.func public @k(%p: !tt.ptr<f32>, %t: !tt.ptr<i1>) {
      %l = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
      %ts = tt.splat %t : !tt.ptr<i1> -> tensor<32x!tt.ptr<i1>>
      %tl = tt.addptr %ts, %l : tensor<32x!tt.ptr<i1>>, tensor<32xi32>
      %m = tt.load %tl : tensor<32x!tt.ptr<i1>>
      %z = arith.constant dense<0> : tensor<32xi32>
      %o = arith.select %m, %l, %z : tensor<32xi1>, tensor<32xi32>
      %ps = tt.splat %p : !tt.ptr<f32> -> tensor<32x!tt.ptr<f32>>
      %q = tt.addptr %ps, %o : tensor<32x!tt.ptr<f32>>, tensor<32xi32>
      %v = tt.load %q : tensor<32x!tt.ptr<f32>>
      tt.return
    }"""
    access = report_of(text).accesses[1]
    assert (access.contiguity, access.block_size, access.coalesced) == ((1,), 1, None)
