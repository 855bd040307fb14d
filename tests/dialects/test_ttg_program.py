"""Ops on tensors, about the program, and of the pipeliner; where layouts fit."""

import pytest
from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region
from xdsl.traits import MemoryEffectKind, get_effects, is_side_effect_free

from tests.dialects.ttg_support import (
    ALIASES,
    HEADER,
    attribute,
    module_text,
    objections,
    op_named,
    parse,
    printed,
    verify_in_place_of,
)
from tilewright.dialects import ttg
from tilewright.dialects.ttg.effects import GLOBAL
from tilewright.ir.interfaces import RegionBranch
from tilewright.ir.text import print_module
from tilewright.ir.text.assembly import AsmOp

SAME_TEXT = [
    "%0 = ttg.convert_layout %z : tensor<32x32xi32, #b2> -> tensor<32x32xi32, #b2t>",
    "%0 = ttg.convert_layout %z {allocation.offset = 0 : i32} : tensor<32x32xi32, #b2> -> tensor<32x32xi32, #b2t>",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<32x64xbf16, #b2>",
    "ttg.barrier none",
    "ttg.barrier local",
    "ttg.barrier all",
    "ttg.barrier local|tensor_write",
    "ttg.barrier global_read|global_write|tensor_read",
    "ttg.local_barrier",
    "%0 = ttg.clock64",
    "%0 = ttg.warp_id",
    "%0 = ttg.warp_id {omitUniformHint}",
    "%0 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 256 : i32} : !tt.ptr<i8>",
    '%0 = ttg.global_scratch_alloc {alignment = 128 : i32, backend = "proton", nbytes = 256 : i32} : !tt.ptr<i8>',
    "%0 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 1 : i32, shared_cluster_state, third_party_allocation} : !tt.ptr<i8>",
    'ttg.inline_asm "bar.sync 0;" {constraints = "", pure = false} : () -> ()',
    '%0 = ttg.inline_asm "mov $0, $1;" {constraints = "=r,r", pure = true} %i : (i32) -> i32',
    '%0:2 = ttg.inline_asm "a\\0Ab" {constraints = "=r,=r,r,r", pure = true} %i, %m : (i32, !ttg.memdesc<128xi32, #s, #smem, mutable>) -> (i32, i32)',
    "%0 = ttg.predicate_stage %i, %i, %i maxStage 2 stage 1 : i32 -> i1",
    '%0 = "ttg.mask"(%p) ({\n  ttg.mask.return %i : i32\n}) : (i1) -> i32',
]


@pytest.mark.parametrize("body", SAME_TEXT)
def test_text_comes_back(body: str):
    assert printed(body) == body


@pytest.mark.parametrize("body", SAME_TEXT)
def test_generic_text_means_the_same(body: str):
    module = parse(module_text(body))
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


def test_all_memory_spaces_are_all():
    assert (
        printed("ttg.barrier local|global_read|global_write|tensor_read|tensor_write")
        == "ttg.barrier all"
    )
    assert printed('"ttg.barrier"() {addrSpace = 31 : i32} : () -> ()') == "ttg.barrier all"


REFUSED = {
    "%0 = ttg.convert_layout %t : tensor<128xi32, #b> -> tensor<64xi32, #b>": "requires the same shape for all operands and results",
    "%0 = ttg.convert_layout %t : tensor<128xi32, #b> -> tensor<128xi64, #b>": "requires the same element type for all operands and results",
    "%0 = ttg.convert_layout %i : i32 -> i32": "operand #0 must be ranked tensor of floating-point or integer or ptr values, but got 'i32'",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<32x32xbf16, #b2>": "axis 1 dimension must be 2x source dimension (src=32, dst=32)",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<64x32xbf16, #b2>": "dimension 0 mismatch (src=32, dst=64, axis=1)",
    "%0 = ttg.fp4_to_fp %bytes {axis = 2 : i32} : tensor<32x32xi8, #b2> -> tensor<32x64xbf16, #b2>": "axis 2 out of range for rank 2",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<32x64xf32, #b2>": "only bf16 or f16 is supported for now, got 'f32'",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<2048xbf16, #b>": "source rank 2 != result rank 1",
    "%0 = ttg.fp4_to_fp %bytes {axis = 1 : i32} : tensor<32x32xi8, #b2> -> tensor<32x64xbf16>": "source and result must both have an encoding, or neither",
    "%0 = ttg.fp4_to_fp %z {axis = 1 : i32} : tensor<32x32xi32, #b2> -> tensor<32x64xbf16, #b2>": "operand #0 must be ranked tensor of 8-bit signless integer values, but got",
    "ttg.barrier foo": "unknown addrSpace 'foo'",
    '"ttg.barrier"() {addrSpace = 99 : i32} : () -> ()': "attribute 'addrSpace' failed to satisfy constraint:",
    "%0 = ttg.global_scratch_alloc {alignment = 128 : i32} : !tt.ptr<i8>": "requires attribute 'nbytes'",
    "%0 = ttg.global_scratch_alloc {alignment = 128 : i32, nbytes = 128 : i32} : i32": "result #0 must be ptr, but got 'i32'",
    '%0 = "ttg.predicate_stage"(%i, %j, %i) <{maxStage = 2 : i32, stage = 1 : i32}> : (i32, i64, i32) -> i1': "failed to verify that all of {iv, ub, step} have same type",
    '%0 = "ttg.predicate_stage"(%t, %t, %t) <{maxStage = 2 : i32, stage = 1 : i32}> : (tensor<128xi32, #b>, tensor<128xi32, #b>, tensor<128xi32, #b>) -> i1': "operand #0 must be signless integer or index, but got",
    'ttg.inline_asm "x" {constraints = ""} : () -> ()': "requires attribute 'pure'",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str):
    (message,) = objections(module_text(body))
    assert REFUSED[body] in message


def test_the_end_of_a_mask_stands_in_a_mask():
    assert "expects parent op 'ttg.mask'" in objections(module_text("ttg.mask.return %i : i32"))


# Where layouts fit.

MORE = (
    ALIASES
    + "#b8 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>\n"
    + "#b64 = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>\n"
    + "#bc = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0], CGALayout = [[1]]}>\n"
    + "#sc = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = [[1]]}>\n"
)
MISFITS = {
    "#b8": "Result has an invalid layout: #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>. Layout has 8 warps per CTA, but the context requires 4 warps per CTA.",
    "#b64": "Layout has 64 threads per warp, but the module specifies 32 threads per warp.",
    "#bc": "Layout has 2 CTAs per CGA, but the context requires 1 CTAs per CGA.",
    "#b2": "Result has an invalid layout: Layout has rank 2, but the tensor it's attached to has rank 1.",
    "#s": "Result has an invalid layout: Non-distributed layout is not allowed in tensor type.",
}


@pytest.mark.parametrize("layout", MISFITS)
def test_layouts_that_do_not_fit_a_tensor(layout: str):
    body = f"%0 = ttg.convert_layout %t : tensor<128xi32, #b> -> tensor<128xi32, {layout}>"
    (message,) = objections(module_text(body, aliases=MORE))
    assert MISFITS[layout] in message


def test_layouts_that_do_not_fit_a_buffer():
    body = "%0 = ttg.local_alloc : () -> !ttg.memdesc<128xi32, #sc, #smem, mutable>"
    (message,) = objections(module_text(body, aliases=MORE))
    assert message.startswith("Result has an invalid layout: #ttg.swizzled_shared<{")
    assert message.endswith("Layout has 2 CTAs per CGA, but the context requires 1 CTAs per CGA.")
    two = HEADER.replace('"ttg.num-ctas" = 1', '"ttg.num-ctas" = 2')
    assert objections(module_text(body, aliases=MORE, header=two)) == []


def test_nobody_says_how_many_warps():
    body = "%0 = ttg.convert_layout %t : tensor<128xi32, #b> -> tensor<128xi32, #b>"
    (message,) = objections(module_text(body, header="module {"))
    assert message == (
        "Operand 0 has an invalid layout: Could not determine the number of warps per CTA. "
        "Operation is not in a context with `ttg.num-warps`."
    )


def test_a_function_may_say_how_many_warps():
    body = "%0 = ttg.convert_layout %t : tensor<128xi32, #b> -> tensor<128xi32, #b>"
    text = module_text(body, header="module {").replace(
        ") {\n    %0", ') attributes {"ttg.num-warps" = 4 : i32} {\n    %0'
    )
    assert objections(text) == []


def test_extents_that_are_no_powers_of_two():
    body = "%0 = ttg.convert_layout %u : tensor<96xi32, #b> -> tensor<96xi32, #b>"
    text = module_text(body).replace("@f()", "@f(%u: tensor<96xi32, #b>)")
    assert any(
        "Layout has shape 96, but the tensor it's attached to has shape 96 which is not a power of two."
        in message
        for message in objections(text)
    )


# Effects.


@pytest.mark.parametrize("index", [0, 2, 10, 16, 18])
def test_without_effect(index: int):
    body = SAME_TEXT[index]
    assert is_side_effect_free(
        op_named(parse(module_text(body)), body.split(" = ")[1].split(" ")[0])
    )


def test_a_clock_neither_moves_nor_disappears():
    op = op_named(parse(module_text("%0 = ttg.clock64")), "ttg.clock64")
    assert {e.kind for e in get_effects(op) or ()} == {
        MemoryEffectKind.READ,
        MemoryEffectKind.WRITE,
    }


def test_scratch_is_allocated():
    op = op_named(parse(module_text(SAME_TEXT[12])), "ttg.global_scratch_alloc")
    (effect,) = get_effects(op) or ()
    assert (effect.kind, effect.value, effect.resource) == (
        MemoryEffectKind.ALLOC,
        op.results[0],
        GLOBAL,
    )


def test_assembly_may_do_anything_unless_pure():
    op = op_named(parse(module_text(SAME_TEXT[15])), "ttg.inline_asm")
    assert {e.kind for e in get_effects(op) or ()} == {
        MemoryEffectKind.READ,
        MemoryEffectKind.WRITE,
    }


@pytest.mark.parametrize("body", ["ttg.barrier local", "ttg.local_barrier"])
def test_barriers_stay(body: str):
    assert get_effects(op_named(parse(module_text(body)), body.split(" ")[0])) is None


def test_control_flow_of_a_mask():
    op = op_named(parse(module_text(SAME_TEXT[19])), "ttg.mask")
    branch = op.get_trait(RegionBranch)
    inside, around = branch.successors(op, op)
    assert inside.target is op.regions[0]
    assert (around.target, tuple(around.unknown)) == (op, tuple(op.results))
    (back,) = branch.successors(op, op.regions[0])
    assert [value.type for value in back.operands] == [i32]
    assert tuple(back.inputs) == tuple(op.results)


# The dialect as a whole.


def test_every_format_compiles():
    formats = [op for op in ttg.Ttg.operations if issubclass(op, AsmOp) and op.ASM]
    assert len(formats) >= 30
    for op in formats:
        assert op.format().op is op


def test_names_are_unique_and_exported():
    names = [each.name for each in (*ttg.Ttg.operations, *ttg.Ttg.attributes)]
    assert len(names) == len(set(names))
    for each in (*ttg.Ttg.operations, *ttg.Ttg.attributes):
        assert getattr(ttg, each.__name__) is each


def test_built_by_hand():
    op = op_named(parse(module_text(SAME_TEXT[0])), "ttg.convert_layout")
    (value,), (result,) = op.operands, op.results
    scratch = ttg.GlobalScratchAllocOp(64, 16, attribute("!tt.ptr<i8>"))
    asm = ttg.InlineAsmOp("x", "=r,r", [value], [result.type], pure=True)
    marked = ttg.WarpIdOp(omit_uniform_hint=True)
    barrier = ttg.BarrierOp(5)
    verify_in_place_of(
        op,
        ttg.ConvertLayoutOp(value, result.type),
        barrier,
        marked,
        ttg.WarpIdOp(),
        ttg.Clock64Op(),
        ttg.LocalBarrierOp(),
        scratch,
        asm,
    )
    assert barrier.spaces == 5
    assert marked.omit_uniform_hint is not None
    assert (scratch.nbytes.value.data, scratch.alignment.value.data) == (64, 16)
    assert (asm.asm_string.data, asm.constraints.data) == ("x", "=r,r")


def test_pipelining_built_by_hand():
    op = op_named(parse(module_text(SAME_TEXT[18])), "ttg.predicate_stage")
    number = op.operands[0]
    stage = ttg.PredicateStageOp(number, number, number, 3, 1)
    mask = ttg.MaskOp(stage, [i32], Region(Block([ttg.MaskReturnOp([number])])))
    verify_in_place_of(op, stage, mask)
    assert (stage.max_stage.value.data, stage.stage.value.data) == (3, 1)


def test_unpacking_built_by_hand():
    op = op_named(parse(module_text(SAME_TEXT[2])), "ttg.fp4_to_fp")
    again = ttg.Fp4ToFpOp(op.operands[0], 1, op.results[0].type)
    verify_in_place_of(op, again)
    assert again.axis.value.data == 1
