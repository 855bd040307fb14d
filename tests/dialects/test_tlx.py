"""``tlx``: text, verifiers in the fork's words, folding, effects."""

import re

import pytest
from xdsl.utils.exceptions import ParseError, VerifyException

from tests.dialects.gpu_text import Bench, errors_in, parse
from tilewright.dialects import make_context
from tilewright.dialects.tlx import (
    DummyRegisterLayout,
    DummyTMemLayout,
    NoVerifyLayout,
    PlacedAliasOp,
    RequireLayoutOp,
    ReuseGroupOp,
    SetBufferOverlapOp,
    StorageAliasLocalAllocOp,
    StorageAliasSpecOp,
    StorageAliasSpecType,
    Tlx,
    UserLayout,
    is_unverified,
    leaves_of,
)
from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttng import unwrapped
from tilewright.ir.effects import is_removable, iter_effects
from tilewright.ir.interfaces import Foldable
from tilewright.ir.text.parser import IRParser
from tilewright.ir.traversal import walk

SPEC = "!tlx.storage_alias_spec<smem>"
A = "!ttg.memdesc<2x64x64xf32, #shared, #smem, mutable>"
B = "!ttg.memdesc<2x64x64xf16, #shared, #smem, mutable>"
T = "!ttg.memdesc<2x64x64xf32, #tmem, #ttng.tensor_memory, mutable>"
X = "tensor<64x64xf32, #blocked>"

BENCH = Bench(
    aliases="""\
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
#tmem = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1>""",
    arguments={
        "%s": SPEC,
        "%t": "!tlx.storage_alias_spec<tmem, 65536>",
        "%a": A,
        "%b": B,
        "%g": "!tlx.reuse_group<shared>",
        "%x": X,
        "%tm": T,
    },
    attributes={"ttg.num-warps": "4 : i32", "ttg.target": '"cuda:100"'},
)

SAME = [
    f"%0 = tlx.storage_alias_spec storage = smem : {SPEC}",
    "%0 = tlx.storage_alias_spec storage = tmem, size = 8192 : !tlx.storage_alias_spec<tmem, 8192>",
    f"%0 = tlx.storage_alias_spec storage = smem, size = 32 {{buffer_shape = array<i64: 32>}} : {SPEC}",
    f"%0 = tlx.storage_alias_local_alloc %s : {SPEC} -> {A}",
    f"%0 = tlx.storage_alias_local_alloc %s {{buffer_offset = 0 : i64}} : {SPEC} -> {A}",
    f"%0 = tlx.storage_alias_local_alloc %t : !tlx.storage_alias_spec<tmem, 65536> -> {T}",
    f"%0 = tlx.reuse_group(%a) group_kind = shared : ({A}) -> !tlx.reuse_group<shared>",
    f"%0 = tlx.reuse_group(%a, %g) group_kind = distinct, group_size = 2 : ({A}, !tlx.reuse_group<shared>) -> !tlx.reuse_group<distinct>",
    f"%0 = tlx.local_alias %a : {A} -> {B}",
    f"%0 = tlx.placed_alias %a offset = 8192, radices = [2], strides = [4096, 16384] : {A} -> {B}",
    f"%0 = tlx.placed_alias %a offset = 0, radices = [], strides = [8192] {{note = 1 : i32}} : {A} -> {B}",
    f"%0 = tlx.require_layout %x : {X} -> tensor<64x64xf32>",
    f"%0 = tlx.release_layout %x : {X} -> tensor<64x64xf32>",
    f"tlx.dump_layout %x : {X}",
    f"tlx.dump_layout %a : {A}",
    f"tlx.assert_same_layout %x, %a : {X}, {A}",
    f"tlx.assert_same_layout_expected %x {{expected = #blocked}} : {X}",
]


@pytest.mark.parametrize("text", SAME)
def test_op_is_written_as_it_was_read(text: str) -> None:
    assert BENCH.printed(text) == text


@pytest.mark.parametrize("text", SAME)
def test_op_survives_generic_form(text: str) -> None:
    assert BENCH.printed(text, generic=True) == text


def test_every_op_has_a_case() -> None:
    told = {re.split(r"[ (]", text.split("tlx.", 1)[1])[0] for text in SAME}
    assert {op.name for op in Tlx.operations} == {
        f"tlx.{name}" for name in told | {"set_buffer_overlap"}
    }


def tree(groups: str, overlap: str) -> str:
    """Buffers ``%1`` and ``%2`` of the spec ``%0``, groups of them, and how they overlap."""
    return (
        f"%0 = tlx.storage_alias_spec storage = smem : {SPEC}\n"
        f"%1 = tlx.storage_alias_local_alloc %0 : {SPEC} -> {A}\n"
        f"%2 = tlx.storage_alias_local_alloc %0 : {SPEC} -> {B}\n"
        f"{groups}\n"
        f"tlx.set_buffer_overlap({overlap}) : ({SPEC}, !tlx.reuse_group<shared>) -> ()"
    )


PAIR = f"%3 = tlx.reuse_group(%1, %2) group_kind = shared : ({A}, {B}) -> !tlx.reuse_group<shared>"


def test_overlap_is_written_as_it_was_read() -> None:
    text = tree(PAIR, "%0, %3")
    assert BENCH.printed(text) == text
    assert BENCH.printed(text + ' {phase = "a"}') == text + ' {phase = "a"}'


@pytest.mark.parametrize(
    ("groups", "overlap", "message"),
    [
        (
            f"%3 = tlx.reuse_group(%1, %2, %1) group_kind = shared : ({A}, {B}, {A}) -> !tlx.reuse_group<shared>",
            "%0, %3",
            "reuse_group tree contains duplicate elements; each allocation can only appear once in the tree",
        ),
        (
            f"{PAIR}\n%4 = tlx.reuse_group(%1, %3) group_kind = shared : ({A}, !tlx.reuse_group<shared>) -> !tlx.reuse_group<shared>",
            "%0, %4",
            "reuse_group tree contains duplicate elements; each allocation can only appear once in the tree",
        ),
        (
            f"%3 = tlx.reuse_group(%1, %a) group_kind = shared : ({A}, {A}) -> !tlx.reuse_group<shared>",
            "%0, %3",
            "all elements in the reuse_group tree must be allocated via tlx.storage_alias_local_alloc, but found an element that is not",
        ),
        (
            PAIR,
            "%s, %3",
            "all allocations in the reuse_group must reference the same storage_alias_spec, but found an allocation that uses a different spec",
        ),
        (PAIR, "%0, %g", "overlap_def must be defined by a tlx.reuse_group op"),
    ],
)
def test_trees_that_say_nothing_sensible(groups: str, overlap: str, message: str) -> None:
    assert BENCH.errors(tree(groups, overlap)) == [f"'tlx.set_buffer_overlap' op {message}"]


def test_groups_that_double_at_each_level_are_refused_without_walking_every_path() -> None:
    group = "!tlx.reuse_group<shared>"
    doubled = [PAIR] + [
        f"%{n} = tlx.reuse_group(%{n - 1}, %{n - 1}) group_kind = shared : ({group}, {group}) -> {group}"
        for n in range(4, 64)
    ]
    (error,) = BENCH.errors(tree("\n".join(doubled), "%0, %63"))
    assert "contains duplicate elements" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"%0 = tlx.storage_alias_spec storage = smem, size = 0 : {SPEC}",
            "buffer_size_bytes must be positive, got 0",
        ),
        (
            f'%0 = "tlx.storage_alias_spec"() <{{storage = 2 : i32}}> : () -> {SPEC}',
            "unsupported storage kind for storage_alias_spec, expected smem or tmem",
        ),
        (
            f"%0 = tlx.storage_alias_local_alloc %s : {SPEC} -> {T}",
            "storage_alias_spec has smem storage but result is not in shared memory",
        ),
        (
            f"%0 = tlx.storage_alias_local_alloc %t : !tlx.storage_alias_spec<tmem, 65536> -> {A}",
            "storage_alias_spec has tmem storage but result is not in tensor memory",
        ),
        (
            '%0 = "tlx.reuse_group"() <{group_kind = 0 : i32}> : () -> !tlx.reuse_group<shared>',
            "reuse_group requires at least one element",
        ),
        (
            f"%0 = tlx.reuse_group(%a) group_kind = shared, group_size = 0 : ({A}) -> !tlx.reuse_group<shared>",
            "group_size must be a positive integer, got 0",
        ),
        (
            f"%0 = tlx.reuse_group(%a) group_kind = shared : ({A}) -> !tlx.reuse_group<distinct>",
            "group_kind attribute (shared) doesn't match result type group kind (distinct)",
        ),
        (
            f"%0 = tlx.local_alias %x : {X} -> {X}",
            "requires the MemDescType for all operands and results",
        ),
        (
            f"%0 = tlx.local_alias %a : {A} -> {T}",
            "requires the same memory space for all operands and results",
        ),
        (
            f"%0 = tlx.placed_alias %a offset = 0, radices = [], strides = [1] : {A} -> {T}",
            "requires the same memory space for all operands and results",
        ),
        (
            f"%0 = tlx.placed_alias %a offset = -1, radices = [], strides = [1] : {A} -> {B}",
            "offset must not be negative, got -1",
        ),
        (
            f"%0 = tlx.placed_alias %a offset = 0, radices = [2], strides = [1] : {A} -> {B}",
            "expected one stride more than radices, got 1 and 1",
        ),
        (
            f"%0 = tlx.placed_alias %a offset = 0, radices = [1], strides = [1, 2] : {A} -> {B}",
            "radices must be at least 2, got [1]",
        ),
        (
            f"%0 = tlx.placed_alias %a offset = 0, radices = [2], strides = [1, 0] : {A} -> {B}",
            "strides must be positive, got [1, 0]",
        ),
        (
            f"%0 = tlx.require_layout %a : {A} -> {B}",
            "requires the same element type for all operands and results",
        ),
        (
            f"%0 = tlx.require_layout %x : {X} -> tensor<64x32xf32>",
            "requires the same shape for all operands and results",
        ),
        (
            "%0 = ttg.local_load %v : !ttg.memdesc<64x64xf32, #shared, #smem, mutable> -> tensor<64x64xf32>\n"
            "%1 = tlx.release_layout %0 : tensor<64x64xf32> -> tensor<64x64xf32>",
            "requires the source tensor to have a layout encoding",
        ),
    ],
)
def test_message(text: str, message: str) -> None:
    view = "%c = arith.constant 0 : i32\n%v = ttg.memdesc_index %a[%c] : " + A
    view += " -> !ttg.memdesc<64x64xf32, #shared, #smem, mutable>\n"
    (error,) = BENCH.errors(view + text)
    assert error.startswith("'tlx.")
    assert message in error


@pytest.mark.parametrize(("visibility", "count"), [("public", 1), ("private", 0)])
def test_callers_of_a_helper_decide_on_layouts(visibility: str, count: int) -> None:
    module = parse(
        f"tt.func {visibility} @f(%x: tensor<128xf32>) {{\n"
        "  %0 = tlx.release_layout %x : tensor<128xf32> -> tensor<128xf32>\n  tt.return\n}"
    )
    assert len(errors_in(module)) == count


# -- types and attributes ------------------------------------------------------------------------


def attribute(text: str):
    return IRParser(make_context(), text).parse_attribute()


BLOCKED = (
    "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
)
SWIZZLED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>"


@pytest.mark.parametrize(
    "text",
    [
        "#tlx.dummy_register_layout<[128, 64], f32, true>",
        "#tlx.dummy_register_layout<[128], !tt.ptr<f16>, false>",
        "#tlx.dummy_tmem_layout",
        f"#tlx.user_layout<{SWIZZLED}>",
        f"#tlx.no_verify_layout<{BLOCKED}>",
        f"#tlx.no_verify_layout<#tlx.user_layout<#tlx.no_verify_layout<{BLOCKED}>>>",
        "!tlx.storage_alias_spec<smem>",
        "!tlx.storage_alias_spec<tmem, 16384>",
        "!tlx.reuse_group<distinct>",
    ],
)
def test_attribute_is_written_as_it_was_read(text: str) -> None:
    assert str(attribute(text)) == text


def test_attributes_of_older_text() -> None:
    assert attribute("#tlx.dummy_tmem_layout<>") == DummyTMemLayout()
    layout = attribute("#tlx.dummy_register_layout<[128, 64], f32>")
    assert isinstance(layout, DummyRegisterLayout)
    assert (layout.shape, layout.tmem_compatible) == ((128, 64), False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"#tlx.user_layout<#tlx.user_layout<{BLOCKED}>>", "nested user layouts are not supported"),
        (
            "#tlx.user_layout<#tlx.dummy_tmem_layout>",
            "user layout must wrap a distributed or shared layout",
        ),
        (
            f"#tlx.no_verify_layout<#tlx.no_verify_layout<{BLOCKED}>>",
            "nested no-verify layouts are not supported",
        ),
        (
            f"#tlx.no_verify_layout<{SWIZZLED}>",
            "no-verify layout must wrap a distributed tensor layout",
        ),
        ("!tlx.storage_alias_spec<smem, 0>", "buffer_size_bytes must be positive, got 0"),
        ("!tlx.storage_alias_spec<smemCluster>", "expected one of smem, tmem"),
        ("!tlx.reuse_group<both>", "expected one of shared, distinct"),
    ],
)
def test_impossible_attributes(text: str, message: str) -> None:
    with pytest.raises((VerifyException, ParseError), match=re.escape(message)):
        attribute(text)


def test_a_mark_answers_for_what_it_marks() -> None:
    inner = attribute(BLOCKED)
    marked = NoVerifyLayout(UserLayout(inner))
    assert unwrapped(marked) is inner
    assert (marked.rank, marked.num_warps, marked.threads_per_warp, marked.cga) == (1, 4, 32, ())
    assert UserLayout(inner).is_equivalent(inner, (128,))
    assert NoVerifyLayout(inner).is_equivalent(attribute(SWIZZLED), (128,))


def test_unverified_parts_are_found() -> None:
    assert is_unverified(attribute(f"#tlx.user_layout<#tlx.no_verify_layout<{BLOCKED}>>"))
    assert not is_unverified(attribute(f"#tlx.user_layout<{BLOCKED}>"))


def test_a_buffer_keeps_the_layout_its_user_chose() -> None:
    text = f"!ttg.memdesc<64xf32, #tlx.user_layout<{SWIZZLED}>, #ttg.shared_memory, mutable>"
    type = IRParser(make_context(), text).parse_type()
    assert type.encoding.alignment == 16
    with pytest.raises((VerifyException, ParseError), match="is not a valid encoding"):
        IRParser(make_context(), text.replace(SWIZZLED, BLOCKED)).parse_type()


# -- folding and effects -------------------------------------------------------------------------


def first(text: str, name: str):
    return next(op for op in walk(BENCH.module(text)) if op.name == name)


@pytest.mark.parametrize("name", ["tlx.require_layout", "tlx.release_layout"])
def test_no_change_of_layout_is_no_change(name: str) -> None:
    op = first(f"%0 = {name} %x : {X} -> {X}", name)
    fold = op.get_trait(Foldable)
    assert fold is not None
    assert fold.fold(op, (None,)) == [op.operands[0]]
    change = first(f"%0 = {name} %x : {X} -> tensor<64x64xf32>", name)
    assert fold.fold(change, (None,)) is None


@pytest.mark.parametrize(
    ("text", "name", "removable"),
    [
        (tree(PAIR, "%0, %3"), "tlx.storage_alias_spec", True),
        (tree(PAIR, "%0, %3"), "tlx.storage_alias_local_alloc", True),
        (tree(PAIR, "%0, %3"), "tlx.reuse_group", True),
        (tree(PAIR, "%0, %3"), "tlx.set_buffer_overlap", False),
        (f"tlx.dump_layout %x : {X}", "tlx.dump_layout", False),
        (f"tlx.assert_same_layout %x, %x : {X}, {X}", "tlx.assert_same_layout", False),
    ],
)
def test_what_may_go_when_unused(text: str, name: str, removable: bool) -> None:
    assert is_removable(first(text, name)) is removable


def test_levels_of_a_placed_alias() -> None:
    op = first(SAME[9], "tlx.placed_alias")
    assert isinstance(op, PlacedAliasOp)
    assert (op.start, op.levels) == (8192, ((2, 4096), (None, 16384)))
    again = PlacedAliasOp(op.src, memdesc(op.result.type), 8192, [2], [4096, 16384])
    assert again.properties == op.properties


def test_specs_are_not_interchangeable() -> None:
    """An allocation effect keeps two equal specs apart: they are two regions."""
    op = first(SAME[0], "tlx.storage_alias_spec")
    (effect,) = iter_effects(op)
    assert effect is not None
    assert effect.value is op.results[0]


# -- building ------------------------------------------------------------------------------------


def test_a_tree_is_built_as_it_is_read() -> None:
    memdesc = first(SAME[3], "tlx.storage_alias_local_alloc").results[0].type
    spec = StorageAliasSpecOp("smem", 65536)
    one = StorageAliasLocalAllocOp(spec, memdesc)
    two = StorageAliasLocalAllocOp(spec, memdesc)
    inner = ReuseGroupOp([two], "distinct", group_size=2)
    outer = ReuseGroupOp([one, inner], "shared")
    overlap = SetBufferOverlapOp(spec, outer)
    assert spec.result.type == StorageAliasSpecType("smem", 65536)
    assert (spec.storage_kind, spec.size) == ("smem", 65536)
    assert (inner.kind, inner.size, outer.kind, outer.size) == ("distinct", 2, "shared", 1)
    assert list(leaves_of(overlap.overlap_def)) == [one.result, two.result]
    overlap.verify_()


def test_a_required_layout_is_that_of_the_result() -> None:
    module = BENCH.module("")
    x = next(iter(walk(module)))
    function = next(op for op in walk(x) if op.name == "tt.func")
    argument = function.regions[0].block.args[5]
    op = RequireLayoutOp(argument, attribute(SWIZZLED))
    assert op.result.type.encoding == attribute(SWIZZLED)
    assert op.result.type.get_shape() == argument.type.get_shape()
