"""Twenty worked examples of placement (docs/design/storage-alias.md#placement)."""

from tests.memory.support import (
    TMEM_CAPACITY,
    dims,
    levels,
    offsets,
    planned,
    slots,
    smem,
    stride,
    tmem,
    units,
)
from tilewright.memory import (
    Buffer,
    Memory,
    Options,
    Phase,
    StorageRegion,
    TmemScales,
    TmemTile,
    check_plan,
    distinct,
    plan_region,
    region_of,
    shared,
    tmem_buffer,
)


def test_01_no_overlap():
    a, b = smem("a", 3, 128, 64, bits=16), smem("b", 2, 64, 64, bits=32)
    plan = plan_region(StorageRegion("r", Memory.SMEM, (a, b))).unwrap()
    assert (a.packed_size, b.packed_size) == (49152, 32768)
    assert plan.backing.shape == (49152,)
    assert dims(plan) == {"a": 3, "b": 2}
    assert all(placement.index_map.is_identity for placement in plan.placements)
    assert check_plan(plan) == ()


def test_02_shared_ratio_of_four():
    plan = planned(shared(smem("a", 3, 128, 64, bits=32), smem("b", 3, 128, 64, bits=8)))
    assert stride(plan) == 32768
    assert plan.backing.shape == (98304,)
    assert units(plan) == {"a": 32768, "b": 8192}
    assert slots(plan) == {"a": (0, 1, 2), "b": (0, 4, 8)}
    assert dims(plan) == {"a": 3, "b": 9}


def test_03_distinct_in_a_working_order():
    c, a, b = (
        smem("c", 2, 128, 64, bits=16),
        smem("a", 2, 64, 64, bits=16),
        smem("b", 2, 64, 64, bits=16),
    )
    plan = planned(distinct(c, a, b))
    assert (stride(plan), plan.backing.shape) == (32768, (65536,))
    assert units(plan) == {"c": 16384, "a": 8192, "b": 8192}
    assert offsets(plan) == {"c": 0, "a": 16384, "b": 24576}
    assert slots(plan) == {"c": (0, 2), "a": (2, 6), "b": (3, 7)}
    assert dims(plan) == {"c": 3, "a": 7, "b": 8}


def test_03_distinct_in_an_order_that_does_not_work():
    c, a, b = (
        smem("c", 2, 128, 64, bits=16),
        smem("a", 2, 64, 64, bits=16),
        smem("b", 2, 64, 64, bits=16),
    )
    (error,) = plan_region(region_of("r", distinct(a, c, b))).errors
    assert (error.rule, error.subject, error.path) == ("E7", "c", (1,))
    assert error.message == (
        "buffer_offset (8192) must be a multiple of the original buffer size (16384)"
    )
    assert error.notes == (
        "this order works: distinct(c, a, b)",
        "placement=explicit works with the order as it is",
    )


def test_04_alignment_to_128_bytes():
    plan = planned(
        distinct(smem("x", 3, 32, bits=32), smem("y", 3, 8, bits=32), smem("z", 3, 16, bits=64))
    )
    assert units(plan) == {"x": 128, "y": 32, "z": 128}
    assert offsets(plan) == {"x": 0, "y": 128, "z": 256}
    assert (stride(plan), plan.backing.shape) == (384, (1152,))
    assert slots(plan) == {"x": (0, 3, 6), "y": (4, 16, 28), "z": (2, 5, 8)}
    assert dims(plan) == {"x": 7, "y": 29, "z": 9}


def test_05_three_levels():
    big, u = smem("big", 2, 128, 64, bits=32), smem("u", 2, 128, 64, bits=16)
    v, w = smem("v", 2, 64, 32, bits=32), smem("w", 2, 64, 64, bits=16)
    plan = planned(shared(big, distinct(u, shared(v, w))))
    assert (stride(plan), plan.backing.shape) == (32768, (65536,))
    assert slots(plan) == {"big": (0, 1), "u": (0, 2), "v": (2, 6), "w": (2, 6)}
    assert dims(plan) == {"big": 2, "u": 3, "v": 7, "w": 7}
    assert offsets(plan)["v"] == offsets(plan)["w"] == 16384
    assert units(plan)["v"] == units(plan)["w"] == 8192


def test_06_sub_tiles_that_fill_the_block():
    qk, p = smem("qk", 2, 64, 64, bits=32), smem("p", 4, 64, 64, bits=16)
    plan = planned(shared(qk, shared(p, group_size=2)))
    assert stride(plan) == 16384
    assert "".join(str(level) for level in plan.of("p").levels) == "(2,8192)(inf,16384)"
    assert levels(plan, "p") == "(inf,8192)"
    assert slots(plan)["p"] == (0, 1, 2, 3)
    assert dims(plan)["p"] == 4
    assert plan.of("p").index_map.is_identity


def test_07_sub_tiles_with_slack():
    qk, p = smem("qk", 2, 64, 64, bits=32), smem("p", 4, 64, 32, bits=16)
    plan = planned(shared(qk, shared(p, group_size=2)))
    assert p.unit == 4096
    assert levels(plan, "p") == "(2,4096)(inf,16384)"
    assert slots(plan)["p"] == (0, 1, 4, 5)
    assert dims(plan)["p"] == 6


def attention(p: Buffer, slices: int):
    """The tree of the forward kernel, with 128 rows."""
    scalars = [tmem(name, 2, 128, 1, bits=32) for name in ("alpha", "l", "m")]
    return shared(
        tmem("qk", 2, 128, 128, bits=32), distinct(shared(p, group_size=slices), *scalars)
    )


def test_08_attention_two_slices():
    plan = planned(attention(tmem("p", 4, 128, 64, bits=16), 2))
    assert units(plan) == {"qk": 128, "p": 32, "alpha": 1, "l": 1, "m": 1}
    assert offsets(plan) == {"qk": 0, "p": 0, "alpha": 64, "l": 65, "m": 66}
    assert levels(plan, "p") == "(2,32)(inf,128)"
    assert slots(plan) == {
        "qk": (0, 1),
        "p": (0, 1, 4, 5),
        "alpha": (64, 192),
        "l": (65, 193),
        "m": (66, 194),
    }
    assert dims(plan) == {"qk": 2, "p": 6, "alpha": 193, "l": 194, "m": 195}
    assert (stride(plan), plan.backing.shape) == (128, (128, 256))
    assert plan.of("p").addresses[2:] == (128, 160)
    assert str(plan.of("p").index_map) == "(i mod 2) + 4*(i div 2)"


def test_09_attention_four_slices():
    plan = planned(attention(tmem("p", 8, 128, 32, bits=16), 4))
    assert units(plan)["p"] == 16
    assert levels(plan, "p") == "(4,16)(inf,128)"
    assert slots(plan)["p"] == (0, 1, 2, 3, 8, 9, 10, 11)
    assert dims(plan)["p"] == 12
    assert plan.of("p").addresses == (0, 16, 32, 48, 128, 144, 160, 176)
    assert slots(plan)["alpha"] == (64, 192)
    assert plan.backing.shape == (128, 256)


def test_10_attention_fp8():
    plan = planned(attention(tmem("p", 4, 128, 64, bits=8), 2))
    assert units(plan)["p"] == 16
    assert slots(plan) == {
        "qk": (0, 1),
        "p": (0, 1, 8, 9),
        "alpha": (32, 160),
        "l": (33, 161),
        "m": (34, 162),
    }
    assert dims(plan)["p"] == 10


def test_11_attention_64_rows():
    scalars = [tmem(name, 2, 64, 2, bits=32) for name in ("alpha", "l", "m")]
    p = tmem("p", 4, 64, 64, bits=16)
    tree = shared(tmem("qk", 2, 64, 128, bits=32), distinct(shared(p, group_size=2), *scalars))
    plan = planned(tree)
    assert units(plan) == {"qk": 128, "p": 32, "alpha": 2, "l": 2, "m": 2}
    assert offsets(plan) == {"qk": 0, "p": 0, "alpha": 64, "l": 66, "m": 68}
    assert slots(plan)["alpha"] == (32, 96)
    assert slots(plan)["l"] == (33, 97)
    assert slots(plan)["m"] == (34, 98)
    assert plan.backing.shape == (64, 256)
    assert plan.backing.rows_needed == 64


def test_12_stride_that_is_no_multiple_of_the_group_size():
    a, p = smem("a", 2, 64, 64, bits=16), smem("p", 4, 64, 64, bits=16)
    plan = planned(distinct(a, shared(p, group_size=2)))
    assert (stride(plan), plan.backing.shape) == (24576, (49152,))
    assert offsets(plan)["p"] == 8192
    assert levels(plan, "p") == "(2,8192)(inf,24576)"
    assert slots(plan) == {"a": (0, 3), "p": (1, 2, 4, 5)}
    assert dims(plan) == {"a": 4, "p": 6}


def test_13_distinct_holds_for_every_sub_tile():
    qk, x = tmem("qk", 2, 128, 128, bits=32), tmem("x", 2, 128, 64, bits=32)
    p = tmem("p", 4, 128, 64, bits=8)
    plan = planned(shared(qk, distinct(shared(p, group_size=2), x)))
    assert offsets(plan)["x"] == 64
    assert slots(plan)["p"] == (0, 1, 8, 9)
    assert plan.of("p").addresses == (0, 16, 128, 144)
    assert slots(plan)["x"] == (1, 3)


def test_14_attention_backward_on_two_ctas():
    qk, p = tmem("qk", 1, 128, 128, bits=32), tmem("p", 1, 128, 128, bits=16)
    dq = tmem_buffer("dq", (1, 64, 128), 32, TmemTile(64, 128, cta_mode="twocta_rhs"))
    view = tmem("dq_view", 1, 128, 64, bits=32)
    plan = planned(shared(qk, distinct(p, shared(dq, view))))
    assert units(plan) == {"qk": 128, "p": 64, "dq": 64, "dq_view": 64}
    assert slots(plan) == {"qk": (0,), "p": (0,), "dq": (1,), "dq_view": (1,)}
    assert dims(plan) == {"qk": 1, "p": 1, "dq": 2, "dq_view": 2}
    assert plan.backing.shape == (128, 128)


def test_14_without_halving_it_does_not_fit():
    qk, p = tmem("qk", 1, 128, 128, bits=32), tmem("p", 1, 128, 128, bits=16)
    dq = tmem("dq", 1, 64, 128, bits=32)
    assert dq.unit == 128
    assert stride(planned(shared(qk, distinct(p, dq)))) == 256


def test_15_mxfp8_attention_backward():
    def scale(name: str) -> Buffer:
        return tmem_buffer(name, (1, 128, 4), 8, TmemScales())

    def square(name: str, bits: int = 32) -> Buffer:
        return tmem(name, 1, 128, 128, bits=bits)

    first = shared(square("qk"), distinct(square("p", 8), *(scale(f"first{i}") for i in range(6))))
    third = shared(
        square("dp"),
        square("dq"),
        distinct(square("ds", 8), *(scale(f"third{i}") for i in range(4))),
    )
    fourth = shared(square("dk"), distinct(*(scale(f"prologue{i}") for i in range(6))))
    plan = planned(
        distinct(first, square("dv"), third, fourth), options=Options(capacity=TMEM_CAPACITY)
    )
    assert stride(plan) == 512
    assert plan.backing.shape == (128, 512)
    found = offsets(plan)
    assert (found["qk"], found["p"], found["dv"]) == (0, 0, 128)
    assert [found[f"first{i}"] for i in range(6)] == [32, 36, 40, 44, 48, 52]
    assert (found["dp"], found["dq"], found["ds"], found["dk"]) == (256, 256, 256, 384)
    assert [found[f"third{i}"] for i in range(4)] == [288, 292, 296, 300]
    assert [found[f"prologue{i}"] for i in range(6)] == [384, 388, 392, 396, 400, 404]
    assert (slots(plan)["dk"], dims(plan)["dk"]) == ((3,), 4)
    assert (slots(plan)["prologue5"], dims(plan)["prologue5"]) == ((101,), 102)


def fused_gemm() -> dict[str, Buffer]:
    return {
        "A0": smem("A0", 2, 128, 128, bits=16),
        "B0": smem("B0", 2, 128, 128, bits=16),
        "A2": smem("A2", 3, 128, 64, bits=16),
        "B2": smem("B2", 3, 64, 128, bits=16),
    }


def test_16_unequal_counts():
    b = fused_gemm()
    tree = shared(distinct(b["A0"], b["B0"]), distinct(b["A2"], b["B2"]))
    result = plan_region(region_of("r", tree))
    plan = result.unwrap()
    assert stride(plan) == 65536
    assert slots(plan) == {"A0": (0, 2), "B0": (1, 3), "A2": (0, 4, 8), "B2": (1, 5, 9)}
    assert (dims(plan)["A2"], dims(plan)["B2"]) == (9, 10)
    assert plan.backing.shape == (163840,)
    assert [(w.rule, w.subject, w.message) for w in result.warnings] == [
        ("W4", name, "buffer count 3 gives 3 logical buffers, but its peers have 2")
        for name in ("A2", "B2")
    ]
    assert check_plan(plan) == ()


def test_16_as_two_phases():
    b = fused_gemm()
    region = StorageRegion(
        "r",
        Memory.SMEM,
        tuple(b.values()),
        (Phase(distinct(b["A0"], b["B0"]), "a"), Phase(distinct(b["A2"], b["B2"]), "b")),
    )
    live = {"A0": (0, 5), "B0": (0, 5), "A2": (6, 9), "B2": (6, 9)}
    plan = plan_region(region, Options(live=live)).unwrap()
    assert [tree.stride for tree in plan.trees] == [65536, 32768]
    assert plan.backing.shape == (131072,)
    assert check_plan(plan, live=live) == ()


def test_17_group_size_on_a_stride_that_is_no_power_of_two():
    a, p = tmem("a", 3, 128, 64, bits=32), tmem("p", 12, 128, 64, bits=16)
    tree = distinct(a, shared(p, group_size=4))
    plan = planned(tree)
    assert stride(plan) == 192
    assert slots(plan)["a"] == (0, 3, 6)
    assert offsets(plan)["p"] == 64
    assert p.unit == 32
    assert levels(plan, "p") == "(4,32)(inf,192)"
    assert slots(plan)["p"] == (2, 3, 4, 5, 8, 9, 10, 11, 14, 15, 16, 17)
    assert dims(plan)["p"] == 18
    (error,) = plan_region(region_of("r", tree), Options(capacity=TMEM_CAPACITY)).errors
    assert (error.rule, error.message) == (
        "E17",
        "storage alias region needs 576 columns, tensor memory has 512",
    )


def test_17_two_logical_buffers_need_three_tiles():
    a, p = tmem("a", 2, 128, 64, bits=32), tmem("p", 8, 128, 64, bits=16)
    plan = planned(distinct(a, shared(p, group_size=4)), options=Options(capacity=TMEM_CAPACITY))
    assert plan.backing.shape == (128, 384)
    assert plan.backing.tiles == (3, 128, 128)


def ring() -> tuple[Buffer, Buffer, Buffer]:
    return (
        smem("A", 4, 128, 64, bits=16),
        smem("B", 4, 64, 128, bits=16),
        smem("C", 1, 128, 128, bits=32),
    )


def test_18_ring_as_one_logical_buffer():
    a, b, c = ring()
    plan = planned(shared(shared(distinct(a, b), group_size=4), c))
    assert stride(plan) == 131072
    assert "".join(str(level) for level in plan.of("A").levels) == "(4,32768)(inf,131072)"
    assert levels(plan, "A") == "(inf,32768)"
    assert slots(plan) == {"A": (0, 2, 4, 6), "B": (1, 3, 5, 7), "C": (0,)}
    assert dims(plan) == {"A": 7, "B": 8, "C": 1}
    assert plan.backing.shape == (131072,)


def test_18_ring_shared_stage_by_stage():
    a, b, c = ring()
    result = plan_region(region_of("r", shared(distinct(a, b), c)))
    plan = result.unwrap()
    assert stride(plan) == 65536
    assert plan.backing.shape == (229376,)
    assert [w.subject for w in result.warnings if w.rule == "W4"] == ["C"]


def test_19_nested_sub_tiles():
    qk, p, s = (
        tmem("qk", 2, 128, 128, bits=32),
        tmem("p", 8, 128, 32, bits=8),
        tmem("s", 4, 128, 1, bits=32),
    )
    plan = planned(shared(qk, shared(distinct(shared(p, group_size=2), s), group_size=2)))
    assert levels(plan, "p") == "(2,8)(2,24)(inf,128)"
    assert slots(plan)["p"] == (0, 1, 3, 4, 16, 17, 19, 20)
    assert dims(plan)["p"] == 21
    assert offsets(plan)["s"] == 16
    assert levels(plan, "s") == "(2,24)(inf,128)"
    assert slots(plan)["s"] == (16, 40, 144, 168)
    assert dims(plan)["s"] == 169


def test_20_explicit_size_adds_room():
    leaf = tmem("t", 128, 64, bits=16)
    region = StorageRegion("r", Memory.TMEM, (leaf,))
    assert plan_region(region).unwrap().backing.size_bytes == 16384
    assert plan_region(region).unwrap().backing.shape == (128, 32)
    sized = StorageRegion("r", Memory.TMEM, (leaf,), size_bytes=65536)
    plan = plan_region(sized).unwrap()
    assert plan.backing.shape == (128, 128)
    assert plan.backing.size_bytes == 65536


def test_20_explicit_size_that_is_too_small():
    a, b = smem("a", 2, 64, 64, bits=32), smem("b", 2, 64, 64, bits=32)
    region = StorageRegion("r", Memory.SMEM, (a, b), (Phase(distinct(a, b)),), size_bytes=1024)
    (error,) = plan_region(region).errors
    assert (error.rule, error.message) == (
        "E2",
        "storage_alias_spec buffer_size_bytes 1024 is too small for computed shape, "
        "requires at least 65536 bytes",
    )
