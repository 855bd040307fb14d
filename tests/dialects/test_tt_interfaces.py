"""What ``tt`` ops tell passes: effects, speculation, control flow; and building ops in Python."""

import pytest
from xdsl.dialects.builtin import TensorType, f16, f32, i1, i8, i32, i64
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.traits import MemoryEffectKind, NoMemoryEffect, Pure, get_effects, is_speculatable

from tests.dialects.text_support import parse
from tests.dialects.tt_support import kernel
from tilewright.dialects import tt
from tilewright.dialects.arith import AddfOp
from tilewright.dialects.tt import CachePolicyAttr, GlobalMemory, PtrType, TensorDescType
from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import RegionBranch
from tilewright.ir.op_verifier import verify_by_definition
from tilewright.ir.traversal import walk


def value(type: Attribute) -> SSAValue:
    return Block(arg_types=[type]).args[0]


P, PS = value(PtrType.get(f32)), value(TensorType(PtrType.get(f32), [8]))
N, L, B, F = value(i32), value(i64), value(i1), value(f32)
V, VI, M = value(TensorType(f32, [8])), value(TensorType(i32, [8])), value(TensorType(i1, [8]))
A = value(TensorType(f32, [4, 8]))
DESC = value(TensorDescType.get((8, 8), f32))
BLOCK = value(TensorType(f32, [8, 8]))

READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


def effects(op) -> set[tuple[MemoryEffectKind, str, object]]:
    found = get_effects(op)
    assert found is not None
    return {(effect.kind, effect.resource.name(), effect.value) for effect in found}


GLOBAL = GlobalMemory().name()


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (tt.LoadOp(P), {(READ, GLOBAL, P)}),
        (tt.LoadOp(P, is_volatile=True), {(READ, GLOBAL, P), (WRITE, "<Default>", None)}),
        (tt.StoreOp(P, F), {(WRITE, GLOBAL, P)}),
        (tt.AtomicRMWOp("fadd", P, F), {(READ, GLOBAL, P), (WRITE, GLOBAL, P)}),
        (tt.AtomicCASOp(P, F, F), {(READ, GLOBAL, P), (WRITE, GLOBAL, P)}),
        (tt.AtomicLoadOp(P), {(READ, GLOBAL, P), (WRITE, GLOBAL, P)}),
        (tt.AtomicStoreOp(P, F), {(READ, GLOBAL, P), (WRITE, GLOBAL, P)}),
        (tt.DescriptorLoadOp(DESC, [N, N]), {(READ, GLOBAL, DESC)}),
        (tt.DescriptorStoreOp(DESC, [N, N], BLOCK), {(READ, GLOBAL, DESC), (WRITE, GLOBAL, DESC)}),
        (tt.PrintOp("", [], []), {(WRITE, GLOBAL, None)}),
        (tt.AssertOp(B, ""), {(WRITE, GLOBAL, None)}),
        (tt.GridDependencyWaitOp(), {(READ, GLOBAL, None), (WRITE, GLOBAL, None)}),
        (tt.ExternElementwiseOp([V], V.type, "f"), set()),
        (
            tt.ExternElementwiseOp([V], V.type, "f", pure=False),
            {(READ, "<Default>", None), (WRITE, "<Default>", None)},
        ),
        (tt.ElementwiseInlineAsmOp("", "", [V], [V.type]), set()),
        (tt.MakeTensorDescOp(P, [N], [L], TensorDescType.get((64,), f32)), set()),
        (
            tt.MakeTensorDescOp(P, [N], [L], TensorDescType.get((64,), f32), desc_ptr=P),
            {(WRITE, "<Default>", P)},
        ),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_effects(op, expected):
    assert effects(op) == expected


@pytest.mark.parametrize(
    ("op", "removable", "speculatable"),
    [
        (tt.LoadOp(P), True, False),
        (tt.LoadOp(P, is_volatile=True), False, False),
        (tt.StoreOp(P, F), False, False),
        (tt.AtomicLoadOp(P), False, False),
        (tt.SplatOp(F, V.type), True, True),
        (tt.CatOp(V, V, TensorType(f32, [16])), True, False),
        (tt.ExternElementwiseOp([V], V.type, "f"), True, True),
        (tt.ExternElementwiseOp([V], V.type, "f", pure=False), False, False),
        (tt.MakeTensorDescOp(P, [N], [L], TensorDescType.get((64,), f32)), True, True),
        (
            tt.MakeTensorDescOp(P, [N], [L], TensorDescType.get((64,), f32), desc_ptr=P),
            False,
            False,
        ),
        (tt.GridDependencyLaunchDependentsOp(), False, False),
        (tt.PrintOp("", [], []), False, False),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_removal_and_speculation(op, removable: bool, speculatable: bool):
    assert is_removable(op) is removable
    assert is_speculatable(op) is speculatable


IMPURE = {
    *("tt.load", "tt.store", "tt.call", "tt.func", "tt.print", "tt.assert", "tt.cat"),
    *("tt.atomic_cas", "tt.atomic_load", "tt.atomic_poll", "tt.atomic_rmw", "tt.atomic_store"),
    *("tt.descriptor_gather", "tt.descriptor_load", "tt.descriptor_reduce"),
    *("tt.descriptor_scatter", "tt.descriptor_store", "tt.make_tensor_descriptor"),
    *("tt.elementwise_inline_asm", "tt.extern_elementwise", "tt.map_elementwise"),
    *("tt.grid_dependency_launch_dependents", "tt.grid_dependency_wait"),
}


def test_all_other_ops_are_pure():
    assert {op.name for op in tt.Tt.operations if op.get_trait(Pure) is None} == IMPURE
    assert tt.CatOp.get_trait(NoMemoryEffect) is not None


# Control flow.


def combine() -> Region:
    block = Block(arg_types=[f32, f32])
    total = AddfOp(*block.args)
    block.add_ops([total, tt.ReduceReturnOp(total)])
    return Region(block)


def test_control_flow_of_a_reduction():
    reduce = tt.ReduceOp([A], 1, combine())
    flow = reduce.get_trait(RegionBranch)
    region, block, end = reduce.combine_op, reduce.combiner, reduce.combiner.last_op
    for point, source in ((reduce, reduce), (region, end)):
        inside, behind = flow.successors(reduce, point)
        assert (inside.source, inside.target, list(inside.unknown)) == (
            source,
            region,
            list(block.args),
        )
        assert (behind.source, behind.target, list(behind.unknown)) == (
            source,
            reduce,
            list(reduce.results),
        )
        assert not inside.operands and not behind.operands


@pytest.mark.parametrize(
    ("returned", "found"),
    [
        ("%1 = arith.addf %u, %w : f32\n  tt.reduce.return %1 : f32", "arith.addf"),
        ("%1 = arith.addf %w, %u : f32\n  tt.reduce.return %1 : f32", None),
        ("tt.reduce.return %u : f32", None),
        ("%1 = arith.negf %u : f32\n  tt.reduce.return %1 : f32", None),
    ],
)
def test_single_combiner(returned: str, found: str | None):
    module = parse(
        kernel(
            '%0 = "tt.reduce"(%v) <{axis = 0 : i32}> ({\n^bb0(%u: f32, %w: f32):\n  '
            f"{returned}\n}}) : (tensor<8xf32>) -> f32"
        )
    )
    (reduce,) = [op for op in walk(module) if isinstance(op, tt.ReduceOp)]
    combiner = reduce.single_combiner
    assert (None if combiner is None else combiner.name) == found


# Building.

FP4 = value(TensorType(i8, [128, 64]))
FP4T = value(TensorType(i8, [64, 128]))
SCALE = value(TensorType(i8, [128, 4]))
ACC = value(TensorType(f32, [128, 128]))
ROW = value(TensorDescType.get((1, 64), f16))
X = value(TensorType(i32, [32]))
ROWS = TensorType(f16, [32, 64])
BLOCK_POINTER = value(PtrType.get(TensorType(f32, [4, 8])))

BUILT = [
    (tt.GetProgramIdOp(1), [i32]),
    (tt.GetNumProgramsOp(0), [i32]),
    (tt.MakeRangeOp(8, 24), [TensorType(i32, [16])]),
    (tt.PrintOp("x", [N, V], [True, False], hex=True), []),
    (tt.AssertOp(M, "no"), []),
    (tt.AddPtrOp(PS, VI), [PS.type]),
    (tt.IntToPtrOp(L, P.type), [P.type]),
    (tt.PtrToIntOp(PS), [TensorType(i64, [8])]),
    (tt.MakeTensorPtrOp(P, [L, L], [L, L], [N, N], (4, 8), (1, 0)), [BLOCK_POINTER.type]),
    (tt.AdvanceOp(BLOCK_POINTER, [N, N]), [BLOCK_POINTER.type]),
    (tt.LoadOp(PS, M, V, policy=CachePolicyAttr.get("ca")), [V.type]),
    (tt.LoadOp(BLOCK_POINTER, boundary_check=(0,), padding="nan"), [A.type]),
    (tt.StoreOp(PS, V, M), []),
    (tt.AtomicRMWOp("fadd", PS, V, M, sem="relaxed", scope="sys"), [V.type]),
    (tt.AtomicCASOp(P, F, F), [f32]),
    (tt.AtomicLoadOp(PS, M), [V.type]),
    (tt.AtomicStoreOp(PS, V, M), []),
    (tt.AtomicPollOp(value(PtrType.get(i32)), N, L), [i1]),
    (tt.SplatOp(F, V.type), [V.type]),
    (tt.UnsplatOp(value(TensorType(f32, [1, 1]))), [f32]),
    (tt.ExpandDimsOp(V, 1), [TensorType(f32, [8, 1])]),
    (tt.BroadcastOp(value(TensorType(f32, [4, 1])), A.type), [A.type]),
    (tt.ReshapeOp(A, TensorType(f32, [32]), allow_reorder=True), [TensorType(f32, [32])]),
    (tt.CatOp(V, V, TensorType(f32, [16])), [TensorType(f32, [16])]),
    (tt.JoinOp(V, V), [TensorType(f32, [8, 2])]),
    (tt.SplitOp(value(TensorType(f32, [8, 2]))), [V.type, V.type]),
    (tt.TransOp(A, (1, 0)), [TensorType(f32, [8, 4])]),
    (tt.GatherOp(A, value(TensorType(i32, [4, 8])), 0), [A.type]),
    (tt.HistogramOp(VI, TensorType(i32, [16]), M), [TensorType(i32, [16])]),
    (tt.BitcastOp(F, i32), [i32]),
    (tt.FpToFpOp(F, f16, "rtne"), [f16]),
    (tt.FpToFpOp(V, TensorType(f16, [8]), "rs", VI), [TensorType(f16, [8])]),
    (tt.ClampFOp(F, F, F, "all"), [f32]),
    (tt.PreciseSqrtOp(V), [V.type]),
    (tt.PreciseDivFOp(V, V), [V.type]),
    (tt.ApproxDivFOp(F, F), [f32]),
    (tt.MulhiUIOp(N, N), [i32]),
    (tt.ExternElementwiseOp([V, VI], V.type, "ldexp", libname="l"), [V.type]),
    (tt.ElementwiseInlineAsmOp("a", "=r,r", [V], [V.type], packed_element=2), [V.type]),
    (tt.ReduceOp([A], 1, combine()), [TensorType(f32, [4])]),
    (tt.ReduceOp([V], 0, combine()), [f32]),
    (
        tt.DotOp(A, value(TensorType(f32, [8, 16])), value(TensorType(f32, [4, 16]))),
        [TensorType(f32, [4, 16])],
    ),
    (tt.DotScaledOp(FP4, FP4T, ACC, SCALE, SCALE, "e2m1", "e2m1"), [ACC.type]),
    (
        tt.MakeTensorDescOp(P, [N], [L], TensorDescType.get((64,), f32)),
        [TensorDescType.get((64,), f32)],
    ),
    (tt.DescriptorLoadOp(DESC, [N, N]), [BLOCK.type]),
    (tt.DescriptorStoreOp(DESC, [N, N], BLOCK), []),
    (tt.DescriptorReduceOp("add", DESC, [N, N], BLOCK), []),
    (tt.DescriptorGatherOp(ROW, X, N, ROWS), [ROWS]),
    (tt.DescriptorScatterOp(ROW, X, N, value(ROWS)), []),
    (tt.GridDependencyWaitOp(), []),
    (tt.GridDependencyLaunchDependentsOp(), []),
]


@pytest.mark.parametrize(("op", "types"), BUILT, ids=lambda case: getattr(case, "name", ""))
def test_build(op, types):
    verify_by_definition(op)
    assert list(op.result_types) == types


def test_build_scan_and_map():
    block = Block(arg_types=[f32, f32])
    block.add_op(tt.ScanReturnOp(block.args[0]))
    scan = tt.ScanOp([A], 0, Region(block), reverse=True)
    verify_by_definition(scan)
    assert list(scan.result_types) == [A.type]
    assert scan.reverse.value.data

    block = Block(arg_types=[f32, f32])
    block.add_op(tt.MapElementwiseReturnOp(*block.args))
    mapped = tt.MapElementwiseOp([V], [V.type], Region(block), pack=2)
    verify_by_definition(mapped)
    assert mapped.pack.value.data == 2


def test_typed_questions():
    assert tt.GetProgramIdOp(2).dimension == 2
    assert tt.MakeRangeOp(8, 24).bounds == (8, 24)
    assert tt.AtomicRMWOp("umax", P, F).kind == "umax"
    assert tt.AtomicLoadOp(P, sem="relaxed").semantic == "relaxed"
    load = tt.LoadOp(P, policy=CachePolicyAttr.get("cg", "evict_first"))
    assert (load.cache_modifier, load.eviction_policy) == ("cg", "evict_first")
    assert tt.MakeTensorPtrOp(P, [L], [L], [N], (64,), (0,)).block_type == TensorType(f32, [64])
    assert tt.SplitOp(value(TensorType(f32, [8, 2]))).asm_result_names() == ["outLHS", "outRHS"]
    scaled = tt.DotScaledOp(FP4, FP4T, ACC, SCALE, None, "e2m1", "e2m1", lhs_k_pack=True)
    assert (scaled.k, scaled.scale_factor()) == (128, 32)


# Layouts.


def test_layouts_that_cannot_say_are_not_objected_to():
    """What is not known is taken from the result, so only shapes and elements count."""
    rules = LayoutRules()
    assert rules.after_reduce(0) is None
    assert rules.after_expand_dims(0) is None
    assert rules.after_trans((4, 8), (1, 0)) is None
    assert rules.after_split((8, 2)) is None
    assert rules.after_reshape((8,), (4, 2), False) is None
    assert rules.fits_broadcast(A.type, A.type) is None
    assert not rules.is_equivalent(i32, (8,))


BLOCKED = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>"


def argument_types(*types: str) -> list[Attribute]:
    (function,) = parse(f"#b = {BLOCKED}\ntt.func private @f({', '.join(types)})").body.block.ops
    return list(function.function_type.inputs.data)


def test_result_type_needs_a_layout_that_is_known():
    (source,) = argument_types("tensor<16x16xf32, #b>")
    with pytest.raises(ValueError, match="has to be given"):
        tt.JoinOp(value(source), value(source))


def test_layouts_that_can_say():
    """A blocked layout becomes a slice of itself, and the other way round."""
    source, reduced, expanded = argument_types(
        "tensor<16x16xf32, #b>",
        "tensor<16xf32, #ttg.slice<{dim = 1, parent = #b}>>",
        "tensor<16x1xf32, #b>",
    )
    assert list(tt.ReduceOp([value(source)], 1, combine()).result_types) == [reduced]
    assert list(tt.ExpandDimsOp(value(reduced), 1).result_types) == [expanded]
