"""What generic passes make of tile ops: nothing with effects is merged, moved or dropped."""

import pytest
from xdsl.traits import MemoryEffectKind

from tests.dialects.tile.support import ARGUMENTS, module_text, op_named, parse
from tilewright.dialects.tile import Space
from tilewright.dialects.tile.access import Assumptions, SpaceMemory
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable, iter_effects
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text import print_module
from tilewright.ir.verify import verify
from tilewright.passes.cleanup.canonicalize import canonicalize
from tilewright.passes.cleanup.cse import eliminate_common_subexpressions
from tilewright.passes.cleanup.dce import Dce

T = ARGUMENTS
READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE


def names_after(body: str, change) -> list[str]:
    """The ops of the tile level that are left after `change`."""
    module = parse(module_text(body))
    change(module)
    engine = DiagnosticEngine()
    verify(module, engine)
    engine.raise_if_errors()
    return [
        op.name for op in module.walk() if op.name.partition(".")[0] in ("tile", "nv", "memref")
    ]


def cse(module):
    eliminate_common_subexpressions(module, Rewriter())


def dce(module):
    Dce().run(module, DiagnosticEngine())


EFFECTS = {
    f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}": [(READ, "RA"), (WRITE, "As")],
    f"tile.gemm %As, %Bs -> %Cf : {T['As']}, {T['Bs']} -> {T['Cf']}": [
        (READ, "As"),
        (READ, "Bs"),
        (READ, "Cf"),
        (WRITE, "Cf"),
    ],
    f"tile.gemm %As, %Bs -> %Cf {{clear}} : {T['As']}, {T['Bs']} -> {T['Cf']}": [
        (READ, "As"),
        (READ, "Bs"),
        (WRITE, "Cf"),
    ],
    f"tile.reduce sum %Cf -> %rows dim 1 : {T['Cf']} -> {T['rows']}": [
        (READ, "Cf"),
        (WRITE, "rows"),
    ],
    f"tile.reduce sum %Cf -> %rows dim 1 accumulate : {T['Cf']} -> {T['rows']}": [
        (READ, "Cf"),
        (READ, "rows"),
        (WRITE, "rows"),
    ],
    f"tile.fill %Cf, %x : {T['Cf']}, f32": [(WRITE, "Cf")],
    f"tile.atomic add %Cg[%i, %j], %x : {T['Cg']}, f32": [(READ, "Cg"), (WRITE, "Cg")],
    f"tile.atomic store %Cg[%i, %j], %x : {T['Cg']}, f32": [(WRITE, "Cg")],
    f"tile.atomic add %Cg, %Cf : {T['Cg']}, {T['Cf']}": [(READ, "Cf"), (READ, "Cg"), (WRITE, "Cg")],
    f"memref.store %h, %As[%i, %j] : {T['As']}": [(WRITE, "As")],
    f"%0 = memref.load %As[%i, %j] : {T['As']}": [(READ, "As")],
}


@pytest.mark.parametrize("body", EFFECTS)
def test_effects_name_the_buffers(body: str):
    op = op_named(body, body.removeprefix("%0 = ").split(" ")[0])
    found = [(effect.kind, effect.value.name_hint) for effect in iter_effects(op) if effect]
    order = [READ, WRITE]
    assert sorted(found, key=lambda each: (order.index(each[0]), each[1])) == EFFECTS[body]


def test_effects_say_which_memory():
    op = op_named(f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}", "tile.copy")
    resources = {effect.kind: effect.resource for effect in iter_effects(op) if effect}
    assert resources == {READ: SpaceMemory(Space.GLOBAL), WRITE: SpaceMemory(Space.SHARED)}
    assert resources[READ].name() == "<global>"


def test_promises_touch_no_memory():
    (effect,) = iter_effects(op_named("tile.assume %p", "tile.assume"))
    assert effect is not None
    assert effect.resource == Assumptions()
    assert not is_removable(op_named("tile.assume %p", "tile.assume"))


KEPT = [
    f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}",
    f"tile.async_copy %RA -> %As : {T['RA']} -> {T['As']}",
    f"tile.fill %Cf, %x : {T['Cf']}, f32",
    f"tile.gemm %As, %Bs -> %Cf : {T['As']}, {T['Bs']} -> {T['Cf']}",
    f"tile.atomic add %Cg, %Cf : {T['Cg']}, {T['Cf']}",
    f"%0 = tile.atomic add %Cg[%i, %j], %x : {T['Cg']}, f32 -> f32",
    "tile.sync",
    "tile.assume %p",
    'tile.assert %p, "x"',
    'tile.print "x"',
    'tile.extern "f"() : () -> ()',
    '%0 = tile.extern "f"(%x) : (f32) -> f32',
    'tile.source "x"',
    "%0 = tile.vote any %p : i1",
    "%0 = tile.shuffle xor %x, %w : f32",
    f"nv.mbarrier.arrive %bars[%i] : {T['bars']}",
    "nv.cp_async.commit",
    "nv.cp_async.wait 0",
    "nv.setmaxnreg dec 24",
]


@pytest.mark.parametrize("line", KEPT)
def test_kept_by_all_passes(line: str):
    body = f"{line}\n{line.replace('%0', '%1')}"
    name = line.removeprefix("%0 = ").split(" ")[0]
    for change in (cse, dce, canonicalize):
        assert names_after(body, change) == [name, name], change


DROPPED = [
    f"%0 = tile.alloc : {T['As']}",
    f"%0 = tile.region %A[%i, 0] [64, 32] : {T['A']} to {T['RA']}",
    f"%0 = tile.view %As : {T['As']} to memref<2048xf16, #shared>",
    "%0 = tile.ptr_at %address : !tile.ptr<f16>",
    f"%0 = tile.ptr_of r %A[%i, %j] : {T['A']}",
    f"%0 = tile.reducer.alloc sum : {T['rows']}",
    "%0 = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>",
    '%0 = tile.extern "f"(%x) {pure} : (f32) -> f32',
    f"%0 = memref.load %As[%i, %j] : {T['As']}",
    f"%0 = tile.atomic load %Cg[%i, %j] : {T['Cg']} -> f32",
    "tile.parallel (%k) in (8) {\n}",
    f"tile.pipeline %k = 0 to 8 {{\n  %0 = memref.load %As[%k, %i] : {T['As']}\n}}",
    "nv.elect",
]


@pytest.mark.parametrize("body", DROPPED)
def test_dropped_when_unused(body: str):
    text = body if body != "nv.elect" else "%0 = nv.elect"
    assert names_after(text, dce) == []


def test_allocations_stay_apart():
    buffers = f"%0 = tile.alloc : {T['As']}\n%1 = tile.alloc : {T['As']}"
    copy = f"tile.copy %0 -> %1 : {T['As']} -> {T['As']}"
    assert names_after(f"{buffers}\n{copy}", cse) == ["tile.alloc", "tile.alloc", "tile.copy"]


def test_equal_regions_are_one():
    one = f"tile.region %A[%i, 0] [64, 32] : {T['A']} to {T['RA']}"
    copies = "\n".join(f"tile.copy %{k} -> %As : {T['RA']} -> {T['As']}" for k in (0, 1))
    assert names_after(f"%0 = {one}\n%1 = {one}\n{copies}", cse) == [
        "tile.region",
        "tile.copy",
        "tile.copy",
    ]


def test_loads_around_a_copy_stay_two():
    load = f"memref.load %As[%i, %j] : {T['As']}"
    body = (
        f"%0 = {load}\ntile.copy %RA -> %As : {T['RA']} -> {T['As']}\n%1 = {load}\n"
        f"memref.store %0, %A[%i, %j] : {T['A']}\nmemref.store %1, %A[%j, %i] : {T['A']}"
    )
    assert names_after(body, cse).count("memref.load") == 2


def test_dim_of_a_known_extent_is_a_constant():
    body = (
        "%c = arith.constant 1 : index\n"
        f"%0 = memref.dim %A, %c : {T['A']}\n%1 = memref.dim %B, %c : {T['B']}\n"
        f"memref.store %h, %B[%0, %1] : {T['B']}"
    )
    module = parse(module_text(body))
    canonicalize(module)
    text = print_module(module)
    assert "%c128 = arith.constant 128 : index" in text
    assert text.count("memref.dim") == 1
