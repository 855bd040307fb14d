"""Buffers in shared memory: text, checks and effects."""

import pytest
from xdsl.traits import MemoryEffectKind, get_effects

from tests.dialects.ttg_support import (
    module_text,
    objections,
    op_named,
    parse,
    printed,
    verify_in_place_of,
)
from tilewright.dialects import ttg
from tilewright.dialects.ttg.effects import SHARED
from tilewright.ir.effects import is_removable
from tilewright.ir.text import print_module

M = "!ttg.memdesc<128xi32, #s, #smem, mutable>"
N = "!ttg.memdesc<32x32xf32, #s2, #smem, mutable>"
T = "tensor<128xi32, #b>"
X = "tensor<32x32xf32, #b2>"
Z = "tensor<32x32xi32, #b2>"

SAME_TEXT = [
    f"%0 = ttg.local_alloc : () -> {M}",
    "%0 = ttg.local_alloc : () -> !ttg.memdesc<3x32x32xf32, #s2, #smem, mutable>",
    f"%0 = ttg.local_alloc %t : ({T}) -> !ttg.memdesc<128xi32, #s, #smem>",
    f"%0 = ttg.local_alloc %t {{alignment = 64 : i32}} : ({T}) -> {M}",
    f"%0 = ttg.local_alloc {{allocation.offset = 64 : i32}} : () -> {M}",
    f"ttg.local_dealloc %m : {M}",
    f"%0 = ttg.local_load %n : {N} -> {X}",
    f"%0 = ttg.local_load %n token %token : {N} -> {X}",
    f"%0 = ttg.local_load %n {{tlx.relaxed}} : {N} -> {X}",
    f"ttg.local_store %x, %n : {X} -> {N}",
    f"%0 = ttg.local_gather %n[%z] {{axis = 1 : i32}} : {N}, {Z} -> {X}",
    f"%0 = ttg.local_gather %n[%z] token %token {{axis = 0 : i32}} : {N}, {Z} -> {X}",
    f"ttg.local_scatter %n[%z], %x {{axis = 1 : i32}} : {N}, {Z}, {X}",
    f"ttg.local_scatter %m[%t], %t token %token {{axis = 0 : i32}} : {M}, {T}, {T}",
    f"%0 = ttg.local_atomic_scatter_rmw add, %m[%t], %t {{axis = 0 : i32}} : ({M}, {T}, {T}) -> {T}",
    f"%0 = ttg.local_atomic_scatter_rmw umax, %m[%t], %t, %tp {{axis = 0 : i32}} : ({M}, {T}, {T}, tensor<128xi1, #b>) -> {T}",
]


@pytest.mark.parametrize("body", SAME_TEXT)
def test_text_comes_back(body: str):
    assert printed(body) == body


@pytest.mark.parametrize("body", SAME_TEXT)
def test_generic_text_means_the_same(body: str):
    custom = parse(module_text(body))
    assert print_module(parse(print_module(custom, generic=True))) == print_module(custom)


REFUSED = {
    "%0 = ttg.local_alloc : () -> !ttg.memdesc<128xi32, #s, #smem>": "uninitialized alloc must have a mutable memdesc type",
    "%0 = ttg.local_alloc : () -> !ttg.memdesc<64xi32, #s, #smem, mutable, 128>": "result shape and its alloc shape must match",
    f"%0 = ttg.local_alloc %t : ({T}) -> !ttg.memdesc<64xi32, #s, #smem>": "source shape [128] must match [destination shape 64]",
    f"%0 = ttg.local_alloc %t : ({T}) -> !ttg.memdesc<128xi64, #s, #smem>": "source element type 'tensor<128xi32, #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>>' must match destination element type 'i64'",
    f"%0 = ttg.local_alloc %t : ({T}) -> !ttg.memdesc<1x128xi32, #s2, #smem>": "source has rank 1 but memdesc encoding has rank 2",
    f"%0 = ttg.local_alloc %i : (i32) -> {M}": "operand #0 must be ranked tensor of floating-point or integer or ptr values, but got 'i32'",
    f"ttg.local_store %t, %fixed : {T} -> !ttg.memdesc<128xi32, #s, #smem>": "Cannot store into immutable memory",
    f"ttg.local_store %x, %m : {X} -> {M}": "source has rank 2 but memdesc encoding has rank 1",
    f"ttg.local_store %h, %n : tensor<32x32xf16, #b2> -> {N}": "must match destination element type 'f32'",
    f"ttg.local_store %x, %k : {X} -> !ttg.memdesc<3x32x32xf32, #s2, #smem, mutable>": "source shape [32, 32] must match [destination shape 3, 32, 32]",
    f"%0 = ttg.local_load %n : {N} -> tensor<32x32xf16, #b2>": "must match destination element type 'f16'",
    f"%0 = ttg.local_load %k : !ttg.memdesc<3x32x32xf32, #s2, #smem, mutable> -> {X}": "source shape [3, 32, 32] must match [destination shape 32, 32]",
    f"%0 = ttg.local_load %m : {M} -> {X}": "result has rank 2 but memdesc encoding has rank 1",
    f"ttg.local_dealloc %t : {T}": "operand #0 must be memory descriptor type (`::mlir::triton::gpu::MemDescType`) in Triton IR type system, but got 'tensor<128xi32",
    f"%0 = ttg.local_gather %m[%t] {{axis = 1 : i32}} : {M}, {T} -> {T}": "axis 1 is out of bounds for source rank 1",
    f"%0 = ttg.local_gather %n[%t] {{axis = 1 : i32}} : {N}, {T} -> tensor<128xf32, #b>": "source and indices must have the same rank",
    f"%0 = ttg.local_gather %n[%z] {{axis = 1 : i32}} : {N}, {Z} -> tensor<32x16xf32, #b2>": "result shape must match indices shape",
    f"%0 = ttg.local_gather %n[%z] {{axis = 1 : i32}} : {N}, {Z} -> tensor<32x32xf16, #b2>": "result element type must match source element type",
    f"%0 = ttg.local_gather %n[%z] {{axis = 1 : i32}} : {N}, {Z} -> tensor<32x32xf32, #b2t>": "indices and result must have the same layout",
    f"%0 = ttg.local_gather %n[%x] {{axis = 1 : i32}} : {N}, {X} -> {X}": "operand #1 must be ranked tensor of integer values, but got",
    f"%0 = ttg.local_gather %n[%z] : {N}, {Z} -> {X}": "requires attribute 'axis'",
    f"ttg.local_scatter %n[%z], %h {{axis = 1 : i32}} : {N}, {Z}, tensor<32x32xf16, #b2>": "values element type must match destination element type",
    f"ttg.local_scatter %n[%z], %x {{axis = 2 : i32}} : {N}, {Z}, {X}": "axis 2 is out of bounds for destination rank 2",
    f"ttg.local_scatter %n[%zt], %x {{axis = 1 : i32}} : {N}, tensor<32x32xi32, #b2t>, {X}": "values must have the same layout as indices",
    f"ttg.local_scatter %n[%t], %x {{axis = 1 : i32}} : {N}, {T}, {X}": "values shape must match indices shape",
    f"ttg.local_scatter %m[%z], %z {{axis = 0 : i32}} : {M}, {Z}, {Z}": "destination and indices must have the same rank",
    f"%0 = ttg.local_atomic_scatter_rmw add, %fixed[%t], %t {{axis = 0 : i32}} : (!ttg.memdesc<128xi32, #s, #smem>, {T}, {T}) -> {T}": "Cannot store into immutable memory",
    f"%0 = ttg.local_atomic_scatter_rmw add, %m[%t], %t {{axis = 1 : i32}} : ({M}, {T}, {T}) -> {T}": "axis 1 is out of bounds for destination rank 1",
    f"%0 = ttg.local_atomic_scatter_rmw add, %m[%t], %t {{axis = 0 : i32}} : ({M}, {T}, {T}) -> tensor<128xi64, #b>": "failed to verify that result type matches values type",
    f"%0 = ttg.local_atomic_scatter_rmw add, %n[%zt], %x {{axis = 0 : i32}} : ({N}, {X}, tensor<32x32xi32, #b2t>) -> {X}": "values must have the same layout as indices",
    f"%0 = ttg.local_atomic_scatter_rmw add, %n[%z], %h {{axis = 0 : i32}} : ({N}, tensor<32x32xf16, #b2>, {Z}) -> tensor<32x32xf16, #b2>": "values element type must match destination element type",
    f"%0 = ttg.local_atomic_scatter_rmw add, %m[%z], %z {{axis = 0 : i32}} : ({M}, {Z}, {Z}) -> {Z}": "values has rank 2 but memdesc encoding has rank 1",
    "%0 = ttg.local_atomic_scatter_rmw add, %pm[%t], %ptrs {axis = 0 : i32} : (!ttg.memdesc<128x!tt.ptr<i32>, #s, #smem, mutable>, "
    "tensor<128x!tt.ptr<i32>, #b>, tensor<128xi32, #b>) -> tensor<128x!tt.ptr<i32>, #b>": "values must have integer or floating element type",
    f"%0 = ttg.local_atomic_scatter_rmw add, %m[%t], %t, %t {{axis = 0 : i32}} : ({M}, {T}, {T}, {T}) -> {T}": "operand #3 must be tensor of 1-bit signless integer values, but got",
}


@pytest.mark.parametrize("body", REFUSED)
def test_refused(body: str):
    (message,) = objections(module_text(body))
    assert REFUSED[body] in message


def kinds(body: str, name: str) -> set[MemoryEffectKind]:
    effects = get_effects(op_named(parse(module_text(body)), name))
    assert effects is not None
    assert all(effect.resource == SHARED and effect.value is not None for effect in effects)
    return {effect.kind for effect in effects}


READ, WRITE = MemoryEffectKind.READ, MemoryEffectKind.WRITE
ALLOC, FREE = MemoryEffectKind.ALLOC, MemoryEffectKind.FREE

EFFECTS = {
    SAME_TEXT[0]: {ALLOC},
    SAME_TEXT[2]: set(),
    SAME_TEXT[3]: {ALLOC, WRITE},
    SAME_TEXT[2].replace(" : (", " {allocation.offset = 0 : i32} : ("): {ALLOC, WRITE},
    SAME_TEXT[5]: {FREE},
    SAME_TEXT[6]: {READ},
    SAME_TEXT[9]: {WRITE},
    SAME_TEXT[10]: {READ},
    SAME_TEXT[12]: {WRITE},
    SAME_TEXT[14]: {READ, WRITE},
}


@pytest.mark.parametrize("body", EFFECTS)
def test_effects(body: str):
    name = body.removeprefix("%0 = ").split(" ")[0]
    assert kinds(body, name) == EFFECTS[body]


def test_what_can_be_dropped_when_unused():
    def removable(body: str) -> bool:
        name = body.removeprefix("%0 = ").split(" ")[0]
        return is_removable(op_named(parse(module_text(body)), name))

    assert removable(SAME_TEXT[0])
    assert removable(SAME_TEXT[2])
    assert removable(SAME_TEXT[6])
    assert not removable(SAME_TEXT[5])
    assert not removable(SAME_TEXT[9])
    assert not removable(SAME_TEXT[14])


@pytest.mark.parametrize(
    ("body", "alignment"),
    [
        (SAME_TEXT[0], 16),
        (SAME_TEXT[3], 64),
        (
            "%0 = ttg.local_alloc : () -> !ttg.memdesc<8x64xf16, #ttg.nvmma_shared<{swizzlingByteWidth = 128, "
            "transposed = false, elementBitWidth = 16}>, #smem, mutable>",
            1024,
        ),
    ],
)
def test_alignment(body: str, alignment: int):
    op = op_named(parse(module_text(body)), "ttg.local_alloc")
    assert isinstance(op, ttg.LocalAllocOp)
    assert op.alignment_bytes == alignment


def test_built_by_hand():
    module = parse(
        module_text(
            f"%0 = ttg.local_load %n : {N} -> {X}\n%1 = ttg.local_gather %n[%z] {{axis = 1 : i32}} : {N}, {Z} -> {X}"
        )
    )
    load, gather = (op_named(module, name) for name in ("ttg.local_load", "ttg.local_gather"))
    buffer, indices = gather.operands
    loaded = ttg.LocalLoadOp(buffer, load.results[0].type)
    gathered = ttg.LocalGatherOp(buffer, indices, 1, loaded.result.type)
    verify_in_place_of(
        gather,
        loaded,
        gathered,
        ttg.LocalAllocOp(buffer.type),
        ttg.LocalAllocOp(buffer.type, loaded),
        ttg.LocalStoreOp(loaded, buffer),
        ttg.LocalScatterOp(buffer, loaded, indices, 0),
        ttg.LocalDeallocOp(buffer),
    )
    assert gathered.axis.value.data == 1
