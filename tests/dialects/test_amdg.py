"""``amdg``, ``rocdl`` and ``nvg``: text for every release, and verifiers."""

import pytest

from tests.dialects.gpu_text import Bench
from tilewright.dialects.amdg import Amdg
from tilewright.dialects.nvg import Nvg
from tilewright.dialects.rocdl import Rocdl, mask_keywords
from tilewright.ir.text.flavour import TLX, TRITON_3_6, TRITON_3_7, TRITON_3_8, TRITON_3_9, Flavour

OFF = "tensor<256xi32, #blocked>"
F = "tensor<256xf32, #blocked>"
X = "tensor<64x64xf32, #blocked1>"
DESC = "!tt.tensordesc<64x64xf32, #shared1>"
M = "!ttg.memdesc<64x64xf32, #shared1, #smem, mutable>"
MB = "!ttg.memdesc<1xi64, #shared, #smem, mutable>"
DEST = "<256xf32, #shared, #smem, mutable>"
BYTES = "tensor<64x32xi8, #blocked1>"
ACC = "tensor<64x64xf32, #mma>"

BENCH = Bench(
    aliases="""\
#blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#blocked1 = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [8, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#mma = #ttg.amd_mfma<{version = 3, warpsPerCTA = [4, 1], instrShape = [16, 16, 16], isTransposed = true}>
#shared = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#shared1 = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory""",
    arguments={
        "%p": "!tt.ptr<f32>",
        "%o": OFF,
        "%m": "tensor<256xi1, #blocked>",
        "%v": F,
        "%i": "i32",
        "%c": "i1",
        "%dest": "!ttg.memdesc<256xf32, #shared, #smem, mutable>",
        "%bar": MB,
        "%buf": M,
        "%desc": DESC,
        "%x": X,
        "%tok": "!ttg.async.token",
        "%q": BYTES,
        "%sc": "tensor<64x64xbf16, #blocked1>",
        "%f8": X.replace("f32", "f8E5M2"),
        "%acc": ACC,
        "%pk": "!ttg.memdesc<64x32xi8, #shared1, #smem, mutable>",
    },
    attributes={
        "ttg.num-ctas": "1 : i32",
        "ttg.num-warps": "4 : i32",
        "ttg.target": '"hip:gfx942"',
        "ttg.threads-per-warp": "64 : i32",
    },
)

DOT = "tensor<32x64xi8, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 16}>>"

SAME = [
    f"%0 = amdg.buffer_load %p[%o] : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_load %p[%o], %m, %v stride = %i {{contiguity = 2 : i32}} : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_load %p[%o] {{cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>}} : !tt.ptr<f32> -> {F}",
    f"amdg.buffer_store %v, %p[%o] : !tt.ptr<f32> -> {F}",
    f"amdg.buffer_store %v, %p[%o], %m stride = %i {{contiguity = 2 : i32}} : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_atomic_rmw fadd, acq_rel, gpu, %v, %p[%o] : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_atomic_rmw exch, relaxed, sys, %v, %p[%o], %m stride = %i : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_atomic_cas acq_rel, gpu, %v, %v, %p[%o] : !tt.ptr<f32> -> {F}",
    f"%0 = amdg.buffer_load_to_local %p[%o] into %dest : !tt.ptr<f32>[{OFF}]  -> {DEST}",
    f"%0 = amdg.buffer_load_to_local %p[%o] mask = %m other = %v stride = %i cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal> into %dest {{contiguity = 4 : i32}} : !tt.ptr<f32>[{OFF}] {F} -> {DEST}",
    f"%0 = amdg.update_tensor_descriptor %desc add_offsets = [%i, %i] pred = %i {{clamp_bounds}} : {DESC}",
    f"%0 = amdg.update_tensor_descriptor %desc add_offsets = [%i, %i] set_bounds = [%i, %i] : {DESC}",
    f"%0 = amdg.async_tdm_copy_global_to_local %desc into %buf : {DESC} -> {M}",
    f"%0 = amdg.async_tdm_copy_global_to_local %desc into %buf, barrier = %bar {{warp_used_hint = 3 : i32}} : {DESC}, {MB} -> {M}",
    f"%0 = amdg.async_tdm_copy_global_to_local %desc[%i, %i] into %buf, %i, barrier = %bar : {DESC}, {MB} -> {M}",
    f"%0 = amdg.async_tdm_fused_copy_global_to_local %desc, %desc into %buf, %buf {{warp_used_hints = array<i32: 3, 12>}} : {DESC}, {DESC} -> {M}, {M}",
    f"%0 = amdg.async_tdm_copy_local_to_global %desc from %buf : {M} -> {DESC}",
    f"%0 = amdg.async_tdm_copy_local_to_global %desc from %buf, barrier = %bar : {M}, {MB} -> {DESC}",
    f"amdg.async_tdm_copy_local_to_global %desc[%i, %i] from %buf : {M} -> {DESC}",
    "%0 = amdg.async_tdm_wait  {num = 0 : i32}",
    "%0 = amdg.async_tdm_wait %tok, %tok {num = 0 : i32}",
    f"amdg.tdm_prefetch %desc[%i, %i], %c, speculative = false : {DESC}",
    f"amdg.init_barrier %bar, 4 : {MB}",
    f"amdg.wait_barrier %bar, %i : {MB}",
    f"%0 = amdg.arrive_barrier %bar, 1 : {MB} -> i32",
    "amdg.cluster_barrier_arrive",
    "amdg.cluster_barrier_wait",
    "%0 = amdg.async_wait %tok {num_inst = 2 : i32}",
    f"%0 = amdg.extract_slice %x [32, 0] : {X} to tensor<32x64xf32, #blocked1>",
    f"%0 = amdg.concat %x, %x : {X}, {X} -> tensor<128x64xf32, #blocked1>",
    "amdg.cond_barrier %c",
    f"%0 = amdg.in_thread_transpose %x : {X} -> {X}",
    f"%0 = amdg.local_load_packed_transposed %pk : !ttg.memdesc<64x32xi8, #shared1, #smem, mutable> -> {DOT}",
    f"%0 = amdg.local_load_packed_transposed %pk token %tok : !ttg.memdesc<64x32xi8, #shared1, #smem, mutable> -> {DOT}",
    f"%0 = amdg.scaled_upcast_fp4 %q scale %sc {{axis = 1 : i32}} : {BYTES}, tensor<64x64xbf16, #blocked1> -> tensor<64x64xbf16, #blocked1>",
    f"%0 = amdg.scaled_upcast_fp8 %f8 scale %sc : {X.replace('f32', 'f8E5M2')}, tensor<64x64xbf16, #blocked1> -> tensor<64x64xbf16, #blocked1>",
    f"%0 = amdg.upcast_mxfp %q, %q fp_type = e2m1 {{fastMath = false}} : {BYTES}, {BYTES} -> tensor<64x64xbf16, #blocked1>",
    "%0 = amdg.assume_uniform %p : !tt.ptr<f32>",
    "%0 = amdg.assume_uniform %i : i32",
    f"%0 = amdg.rematerialized_range 0 to 256 identity 32 : {OFF}",
    f'%0 = amdg.register_resident %acc class "agpr" groups 4 : {ACC}',
    f'%0 = amdg.register_handoff %acc class "vgpr" : {ACC}',
    f'%0 = amdg.scheduled_mfma %x, %x, %acc resident "rhs" accumulator "transient" initialize true : {X}, {X}, {ACC} -> {ACC}',
    f'%0 = amdg.scheduled_mfma %x, %x, %acc resident "none" accumulator "persistent" register_class "auto" initialize false : {X}, {X}, {ACC} -> {ACC}',
    f"%0:2 = amdg.mfma_commit %acc, %x : {ACC}, {X}",
    "rocdl.sched.barrier none",
    "rocdl.sched.barrier non_mem_non_sideeffect|valu",
    "rocdl.sched.barrier all",
    'rocdl.sched.barrier none {triton.warp_pipeline.border = "x"}',
    "rocdl.sched.group.barrier mfma_wmma, 2, 0",
    "rocdl.s.setprio 1",
    "rocdl.barrier",
    "rocdl.s.barrier",
    "rocdl.s.waitcnt 3952",
    "rocdl.iglp.opt 1",
    "%0 = nvg.cluster_id",
]


@pytest.mark.parametrize("text", SAME)
def test_op_is_written_as_it_was_read(text: str) -> None:
    assert BENCH.printed(text) == text


@pytest.mark.parametrize("text", SAME)
def test_op_survives_generic_form(text: str) -> None:
    assert BENCH.printed(text, generic=True) == text


def test_every_op_has_a_case() -> None:
    told = {name for text in SAME for name in text.split() if "." in name}
    known = {op.name for dialect in (Amdg, Rocdl, Nvg) for op in dialect.operations}
    assert known - told == {"amdg.local_load_packed_tranposed"}


PACKED = f"%pk : !ttg.memdesc<64x32xi8, #shared1, #smem, mutable> -> {DOT}"


@pytest.mark.parametrize(
    ("flavour", "text"),
    [
        (TRITON_3_8, f"%0 = amdg.buffer_load %p[%o], %m, %v cacheModifier = ca stride = %i : {F}"),
        (TLX, f"%0 = amdg.buffer_load %p[%o] cacheModifier = cv {{contiguity = 2 : i32}} : {F}"),
        (TRITON_3_6, f"amdg.buffer_store %v, %p[%o], %m cacheModifier = wt stride = %i : {F}"),
        (TRITON_3_7, f"%0 = amdg.buffer_atomic_rmw fadd, acq_rel, gpu, %v, %p[%o], %m : {F}"),
        (TRITON_3_8, f"%0 = amdg.buffer_atomic_cas acq_rel, gpu, %v, %v, %p[%o] : {F}"),
        (
            TRITON_3_8,
            f"%0 = amdg.buffer_load_to_local %p[%o] mask = %m other = %v stride = %i cacheModifier = cg into %dest {{contiguity = 4 : i32}} : <f32>[{OFF}] {F} -> {DEST}",
        ),
        (TRITON_3_9, f"%0 = amdg.local_load_packed_transposed {PACKED}"),
        (TRITON_3_8, f"%0 = amdg.local_load_packed_tranposed {PACKED}"),
        (TRITON_3_8, "rocdl.sched.barrier 3"),
        (TLX, "rocdl.sched.group.barrier 8, 2, 0"),
    ],
)
def test_spelling_depends_on_the_release(flavour: Flavour, text: str) -> None:
    assert BENCH.printed(text, flavour) == text


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            f"%0 = amdg.buffer_load %p[%o] cacheModifier = ca stride = %i : {F}",
            f"%0 = amdg.buffer_load %p[%o] stride = %i {{cachePolicy = #tt.cache_policy<cache_modifier = ca, eviction_policy = evict_normal>}} : !tt.ptr<f32> -> {F}",
        ),
        (
            f"%0 = amdg.buffer_load_to_local %p[%o] cacheModifier = cg into %dest : <f32>[{OFF}]  -> {DEST}",
            f"%0 = amdg.buffer_load_to_local %p[%o] cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal> into %dest : !tt.ptr<f32>[{OFF}]  -> {DEST}",
        ),
        (
            f"%0 = amdg.local_load_packed_tranposed {PACKED}",
            f"%0 = amdg.local_load_packed_transposed {PACKED}",
        ),
        ("rocdl.sched.barrier 3", "rocdl.sched.barrier non_mem_non_sideeffect|valu"),
    ],
)
def test_older_text_becomes_that_of_today(old: str, new: str) -> None:
    assert BENCH.printed(old) == new


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            f"%0 = amdg.buffer_load %p[%o] : !tt.ptr<f32> -> {OFF}",
            "failed to verify that result element type matches the pointed type of ptr",
        ),
        (
            f"amdg.buffer_store %o, %p[%o] : !tt.ptr<f32> -> {OFF}",
            "failed to verify that value element type matches the pointed type of ptr",
        ),
        (
            f'%0 = "amdg.buffer_load"(%p, %o, %m) <{{operandSegmentSizes = array<i32: 1, 1, 0, 0, 1>}}> : (!tt.ptr<f32>, {OFF}, tensor<256xi1, #blocked>) -> {F}',
            "failed to verify that result and other have the same type",
        ),
        (
            f"amdg.init_barrier %buf, 1 : {M}",
            "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs",
        ),
        (f"amdg.init_barrier %bar, 0 : {MB}", "count must be greater than or equal to 1"),
        (
            f"%0 = amdg.extract_slice %x [48, 0] : {X} to tensor<32x64xf32, #blocked1>",
            "invalid offset at dimension 0",
        ),
        (
            f"%0 = amdg.extract_slice %x [0, 0] : {X} to tensor<128x64xf32, #blocked1>",
            "result shape cannot exceed source shape at dimension 0",
        ),
        (
            f"%0 = amdg.extract_slice %x [0] : {X} to tensor<32x64xf32, #blocked1>",
            "result rank must be equal to source rank",
        ),
        (
            f"%0 = amdg.extract_slice %x [0, 0] : {X} to tensor<32x64xf16, #blocked1>",
            "result element type must match source element type",
        ),
        (
            f"%0 = amdg.in_thread_transpose %x : {X} -> tensor<64x32xf32, #blocked1>",
            "Expect equal input and output shapes",
        ),
        (
            f"%0 = amdg.in_thread_transpose %x : {X} -> tensor<64x64xf16, #blocked1>",
            "Expect input and output tensor to have same dtype",
        ),
        (
            f"%0 = amdg.local_load_packed_transposed %buf : {M} -> {X}",
            "only works with DotOperandEncodingAttr dst encoding",
        ),
        (
            f"%0 = amdg.scaled_upcast_fp8 %x scale %sc : {X}, tensor<64x64xbf16, #blocked1> -> {X}",
            "operand #0 must be ranked tensor of f8E4M3FN type or f8E5M2 type values, but got ",
        ),
        (
            f"%0 = amdg.scaled_upcast_fp4 %x scale %sc {{axis = 1 : i32}} : {X}, tensor<64x64xbf16, #blocked1> -> {X}",
            "operand #0 must be ranked tensor of 8-bit signless integer values, but got ",
        ),
        (
            f"%0 = amdg.scaled_upcast_fp4 %q scale %sc {{axis = 0 : i32}} : {BYTES}, tensor<64x64xbf16, #blocked1> -> tensor<64x64xbf16, #blocked1>",
            "output shape must be the input shape with axis doubled",
        ),
        (
            f"%0 = amdg.scaled_upcast_fp4 %q scale %sc {{axis = 2 : i32}} : {BYTES}, tensor<64x64xbf16, #blocked1> -> tensor<64x64xbf16, #blocked1>",
            "axis 2 is out of range for rank 2",
        ),
        (
            "%0 = amdg.assume_uniform %c : i1",
            "operand #0 must be 16/32/64-bit scalar or pointer, but got 'i1'",
        ),
        (
            f"%0 = amdg.rematerialized_range 0 to 64 identity 1 : {OFF}",
            "number of elements in returned tensor must match the range",
        ),
        (
            f'%0 = amdg.register_resident %acc class "sgpr" groups 4 : {ACC}',
            "register class must be one of vgpr, agpr",
        ),
        (
            '%0 = ttg.local_load %dest : !ttg.memdesc<256xf32, #shared, #smem, mutable> -> tensor<256xf32>\n%1 = amdg.register_handoff %0 class "vgpr" : tensor<256xf32>',
            "requires a distributed tensor encoding",
        ),
        (
            f'%0 = amdg.scheduled_mfma %x, %x, %acc resident "rhs" accumulator "forever" initialize true : {X}, {X}, {ACC} -> {ACC}',
            "accumulator must be one of transient, persistent",
        ),
        (
            f'%0 = amdg.scheduled_mfma %x, %x, %acc resident "all" accumulator "transient" initialize true : {X}, {X}, {ACC} -> {ACC}',
            "resident must be one of none, lhs, rhs, both",
        ),
        (
            f'%0 = amdg.scheduled_mfma %x, %x, %acc resident "rhs" accumulator "transient" initialize true : {X}, {X}, {ACC} -> {X}',
            "result type must match accumulator type",
        ),
        ('"amdg.mfma_commit"() : () -> ()', "expected at least one input"),
        (
            f'%0 = "amdg.mfma_commit"(%acc) : ({ACC}) -> {X}',
            "failed to verify that all of {inputs, outputs} have same type",
        ),
    ],
)
def test_message(text: str, message: str) -> None:
    errors = BENCH.errors(text)
    assert len(errors) == 1
    assert message in errors[0]


@pytest.mark.parametrize(
    ("mask", "words"),
    [(0, "none"), (1, "non_mem_non_sideeffect"), (0x28, "mfma_wmma|vmem_read"), (0xFFF, "all")],
)
def test_masks_in_words(mask: int, words: str) -> None:
    assert mask_keywords(mask) == words
