"""What verifiers of ``ttng`` ops object to, in Triton's words."""

import pytest

from tests.dialects.gpu_text import Bench
from tests.dialects.ttng_bench import (
    ACC,
    BENCH,
    CLC,
    DESC,
    F8,
    F8T,
    IM2COL,
    MA,
    MB,
    MR,
    MT,
    ROWS,
    SCALE,
    D,
    V,
)

HALF = "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable, 128x128>"
SMALL = "!ttg.memdesc<64x64xf16, #shared1, #smem, mutable>"
COPY = "ttng.async_tma_copy_global_to_local"
MMA = "ttng.tc_gen5_mma"
MAP = "ttng.map_to_remote_buffer"

PLAIN = [
    (
        f"ttng.init_barrier %clc, 1 : {CLC}",
        "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs",
    ),
    (
        f"ttng.inval_barrier %a : {MA}",
        "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs",
    ),
    (f"ttng.init_barrier %bar, 0 : {MB}", "count must be greater than or equal to 1"),
    (f"ttng.arrive_barrier %bar, 0 : {MB}", "count must be greater than or equal to 1"),
    (
        f"ttng.arrive_barrier %bar, 1 {{multicastCTA = 1 : i32}} : {MB}",
        "multicast arrive requires num_ctas > 1",
    ),
    (
        f"ttng.arrive_barrier %bar, 1 {{fromCTA = 1 : i32}} : {MB}",
        "fromCTA must be in the range [0, num_ctas - 1]",
    ),
    (
        f"ttng.barrier_expect %bar, 8 {{fromCTA = -1 : i32}}, %p : {MB}",
        "fromCTA must be in the range [0, num_ctas - 1]",
    ),
    (
        f"%0 = {MAP} %bar, %i : {MB} -> {MB}",
        f"Invalid memory space for remote MemDesc: '{MB}'",
    ),
    (
        f"%0 = {MAP} %a, %i : {MA} -> {MB}",
        f"Local MemDesc not matching Remote MemDesc: '{MA}' vs '{MB}'",
    ),
    (
        f"ttng.clc_try_cancel %bar, %bar : {MB}, {MB}",
        "Expected CLC result buffer to have rank 1 and a single dimension equal to 2, but got 1.",
    ),
    (
        f"%0 = ttng.clc_load_result %a : {MA} -> i128",
        "Expected CLC result buffer to have type int64, but got'f16'",
    ),
    ("%0 = ttng.clc_try_cancel_sync : tensor<4xi64>", "response must have shape [2]"),
    (
        f"%0:2 = ttng.clc_query_cancel %clc : ({CLC}) -> (i32, i32)",
        "expected one or three coordinates",
    ),
    (
        "%0 = ttng.vote_ballot_sync %i, %p : i1 -> tensor<128xi32>",
        "predicate and result must both be scalars or both be tensors, "
        "got pred='i1' and result='tensor<128xi32>'",
    ),
    ("%0 = ttng.vote_ballot_sync %i, %p : i1 -> i64", "scalar result must be i32, got 'i64'"),
    (
        "%0 = ttng.vote_ballot_sync %i, %mask : tensor<128xi1> -> tensor<128xi64>",
        "tensor result must have i32 element type, got 'i64'",
    ),
    (
        "%0 = ttng.vote_ballot_sync %i, %mask : tensor<128xi1> -> tensor<64xi32>",
        "predicate and result tensor shapes must match, got 128 vs 64",
    ),
    # TMA
    (
        f"{COPY} %desc[%i] %a, %bar, %p : {DESC}, {MB} -> {MA}",
        "expected 2 coordinates, but got 1",
    ),
    (
        f"{COPY} %desc[%i, %j] %rbuf, %bar, %p : {DESC}, {MB} -> {MR}",
        "descriptor block and tensor must have the same number of elements, but got descriptor "
        "block with 8192 elements tensor with 2048 elements",
    ),
    (
        f"%0 = ttg.local_alloc : () -> {SMALL.replace('64x64xf16', '128x64xbf16')}\n"
        f"{COPY} %desc[%i, %j] %0, %bar, %p : {DESC}, {MB} -> {SMALL.replace('64x64xf16', '128x64xbf16')}",
        "descriptor block and tensor element types must match, but got descriptor element type "
        "'f16' and tensor element type 'bf16'",
    ),
    (
        f"{COPY} %desc[%i, %j] offsets = [%o] %a, %bar, %p : {DESC}, {MB} -> {MA}",
        "TILED mode does not support offsets",
    ),
    (
        f"{COPY} %im[%i, %j, %i] %a, %bar, %p : {IM2COL}, {MB} -> {MA}",
        "IM2COL mode requires offsets to be provided",
    ),
    (
        f"{COPY} %im[%i, %j, %i, %j] offsets = [%o] %a, %bar, %p : {IM2COL}, {MB} -> {MA}",
        "IM2COL mode with 4D coordinates requires 2 offsets, but got 1",
    ),
    (
        f"{COPY} %im[%i, %j] %a, %bar, %p : {IM2COL}, {MB} -> {MA}",
        "IM2COL mode requires at least 3D coordinates, but got 2D",
    ),
    (
        f"{COPY} %im[%i, %j, %i, %j, %i, %j] %a, %bar, %p : {IM2COL}, {MB} -> {MA}",
        "IM2COL mode supports at most 5D coordinates, but got 6D",
    ),
    (
        f"{COPY} %desc[%i, %j] %a, %bar, %p {{multicast}} : {DESC}, {MB} -> {MA}",
        "multicast requires the shared layout to broadcast across CTAs",
    ),
    (
        f"{COPY} %desc[%i, %j] %a, %a, %p : {DESC}, {MA} -> {MA}",
        "barrier allocation must be a descriptor of Nxi64 type with N <= number of CTAs",
    ),
    (
        f"ttng.async_tma_reduce inc, %desc[%i, %j] %a : {DESC}, {MA}",
        "unsupported reduce kind inc for element type 'f16'",
    ),
    (
        f"ttng.async_tma_prefetch %desc[%i], %p : {DESC}",
        "expected 2 coordinates, but got 1",
    ),
    (
        f"ttng.async_tma_gather %desc[%ix, %i] %rbuf, %bar, %p : {DESC}, tensor<32xi32>, i32, {MB}, {MR}, i1",
        "descriptor block must have exactly 1 row, but got 'tensor<128x64xf16>'",
    ),
    (
        f"ttng.async_tma_scatter %rows[%ix, %i] %a : {ROWS}, tensor<32xi32>, i32, {MA}",
        f"result tensor must have as many rows as indices (32), but got '{MA}'",
    ),
    # Descriptors
    (
        "ttng.tensormap_create %ptr, %ptr, [%i, %j], [%i], [%l], [%i, %j] {elem_type = 2 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32, i64, i32, i32) -> ()",
        "Rank mismatch for global dim. Got 1 but expected 2",
    ),
    (
        "ttng.tensormap_create %ptr, %ptr, [%i, %j], [%i, %j], [], [%i, %j] {elem_type = 2 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32, i32, i32, i32) -> ()",
        "Rank mismatch for global stride. Got 0 but expected 1",
    ),
    (
        "ttng.tensormap_create %ptr, %ptr, [%i], [%i], [], [] {elem_type = 2 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32) -> ()",
        "Rank mismatch for element stride. Got 0 but expected 1",
    ),
    # wgmma
    (
        f"%0 = ttng.warp_group_dot %a, %b, %x : {MA} * {MT} -> {V}",
        "WGMMA result layout must be Hopper NVMMA",
    ),
    (
        f"%0 = ttng.warp_group_dot %a, %a, %acc : {MA} * {MA} -> {ACC}",
        "expected the last dimension of the first operand to be equal to the second-to-last "
        "dimension of the second operand",
    ),
    (
        f"%0 = ttng.warp_group_dot %rbuf, %b, %acc : {MR} * {MT} -> {ACC}",
        "expected the output shape to be the concatenation of the last dimension of the first "
        "operand and the last dimension of the second",
    ),
    (
        f"%0 = ttng.warp_group_dot %fa, %fb, %acc : {F8} * {F8T} -> {ACC}",
        "Cannot use F32 as the accumulator element type when the max_num_imprecise_acc is less "
        "than 32",
    ),
    (
        '"ttng.warp_group_dot_wait"() <{pendings = 0 : i32}> : () -> ()',
        "expected to be waiting on at least one dependency",
    ),
    (
        f'%0 = "ttng.warp_group_dot_wait"(%acc) <{{pendings = 0 : i32}}> : ({ACC}) -> {V}',
        "failed to verify that all of {inputs, outputs} have same type",
    ),
    # tcgen05
    (
        f"{MMA} %a, %b, %d, %p, %p, %bar[%p] : {MA}, {MT}, {D}, {MB}",
        "The op is synchronous but a barrier is present.",
    ),
    (
        f"{MMA} %a, %a, %d, %p, %p : {MA}, {MA}, {D}",
        "expected the last dimension of the first operand to be equal to the second-to-last "
        "dimension of the second operand",
    ),
    (
        f"{MMA} %fa, %fb, %fa, %p, %p : {F8}, {F8T}, {F8}",
        "unsupported accumulator dtype for operand types 'f8E4M3FN' and 'f8E4M3FN', accumulator "
        "dtype is 'f8E4M3FN' but must be one of ['f16', 'f32']",
    ),
    (
        f"{MMA} %fa, %d, %d, %p, %p : {F8}, {D}, {D}",
        "LHS and RHS operand dtypes kinds don't match: LHS kind is f8f6f4 but RHS kind is tf32",
    ),
    (
        f"{MMA} %d, %d, %d, %p, %p : {D}, {D}, {D}",
        "RHS operand must have a NVMMAShared encoding",
    ),
    (
        f"ttng.tc_gen5_commit %bar descs %a, %a, %a, %a, %a : {MB}, {MA}, {MA}, {MA}, {MA}, {MA}",
        "expected 0 to 4 descriptors, got 5",
    ),
    (
        f"ttng.tc_gen5_mma_scaled %fa, %fb, %d, %sa, %sa, %p, %p lhs = e4m3 rhs = e4m3, %bar[%p] : {F8}, {F8T}, {D}, {SCALE}, {SCALE}, {MB}",
        "The op is synchronous but a barrier is present.",
    ),
    (
        f"ttng.tc_gen5_mma_scaled %fa, %fb, %fa, %sa, %sa, %p, %p lhs = e4m3 rhs = e4m3 : {F8}, {F8T}, {F8}, {SCALE}, {SCALE}",
        "unsupported accumulator dtype for operand types 'f8E4M3FN' and 'f8E4M3FN', accumulator "
        "dtype is 'f8E4M3FN' but must be one of ['f16', 'f32']",
    ),
    # Tensor memory
    (
        f"%0 = ttng.tmem_alloc : () -> {D.replace(', mutable', '')}",
        "uninitialized alloc must have a mutable memdesc type",
    ),
    (f"%0 = ttng.tmem_alloc : () -> {MA}", "should use tensor memory encoding"),
    (
        f"%0 = ttng.tmem_alloc %x : ({V}) -> {D.replace('f32', 'i32')}",
        f"source element type '{V}' must match destination element type 'i32'",
    ),
    (
        f"%0 = ttng.tmem_load %a : {MA} -> {V}",
        "source must be a tensor memory buffer.",
    ),
    (
        "%0 = ttng.tmem_load %sa : " + SCALE + " -> tensor<128x4xi8>",
        "should use tensor memory encoding.",
    ),
    (
        f"%0 = ttng.tmem_load %d {{redOp = #ttng.redOp<min>}} : {D} -> {V}",
        "redOp is set but 'red' result is not present",
    ),
    (
        f"%0, %1 = ttng.tmem_load %d : {D} -> {V}, tensor<128xf32>",
        "'red' result is present but redOp is not set",
    ),
    (
        f"%0 = ttng.tmem_load %d {{abs = true}} : {D} -> {V}",
        "'abs' requires 'redOp' to be set",
    ),
    (
        f"%0 = ttng.tmem_load %d {{NaN = true}} : {D} -> {V}",
        "'NaN' requires 'redOp' to be set",
    ),
    (
        f"%0 = ttng.tmem_load %d : {D} -> tensor<128x64xf32>",
        "source shape [128, 128] must match [destination shape 128, 64]",
    ),
    (f"%0 = ttng.tmem_load %d : {D} -> tensor<128xf32>", "result must be a 2D tensor"),
    (
        f"ttng.tmem_store %x, %a, %p : {V} -> {MA}",
        "should use tensor memory encoding.",
    ),
    (
        f"%0 = ttng.tmem_subslice %a {{offset = 0 : i32}} : {MA} -> {MA}",
        "The source must be a tensor memory buffer.",
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{offset = 0 : i32}} : {D} -> {MA}",
        "The destination must be a tensor memory buffer.",
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{offset = 64 : i32, dim = 4 : i32}} : {D} -> {HALF}",
        "The slice dimension must be within the descriptor rank.",
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{offset = 96 : i32}} : {D} -> {HALF}",
        "The split offset may not exceed the source shape",
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{dim = 0 : i32, offset = 0 : i32}} : {D} -> {HALF}",
        "The result must have the same size as the source in the dimensions that are not being "
        "sliced.",
    ),
    (
        f"%0 = ttng.tmem_subslice %d {{offset = 0 : i32}} : {D} -> {HALF.replace('f32', 'i32')}",
        "The source and result must have the same element type.",
    ),
    (
        f"ttng.tmem_copy %d, %d : {D}, {D}",
        "The source must be a shared memory buffer",
    ),
    (
        f"ttng.tmem_copy %b, %d : {MT}, {D}",
        "The source should not be transposed or padded",
    ),
    (
        f"ttng.tmem_copy %a, %d : {MA}, {D}",
        "The source and destination must have the same shape.",
    ),
    # Packed arithmetic
    (
        f"%0 = ttng.packed_arith mul %x : ({V}) -> {V}",
        "mul expects 2 operands but got 1",
    ),
    (
        f"%0 = ttng.packed_arith min %x, %x : ({V}, {V}) -> {V}",
        "unsupported min signature f32x2 <- (f32x2, f32x2)",
    ),
    (
        f"%0 = ttng.packed_arith add %x, %x : ({V}, {V}) -> tensor<128x64xf32, #blocked>",
        "operand 0 must have the result shape 128, 64, but got 128, 128",
    ),
]


@pytest.mark.parametrize(("text", "message"), PLAIN)
def test_message(text: str, message: str) -> None:
    errors = BENCH.errors(text)
    op = next(word for word in text.replace('"', " ").split() if word.startswith("ttng."))
    assert len(errors) == 1
    assert errors[0].startswith(f"'{op.split('(')[0]}' op ")
    assert _without_aliases(message) in errors[0]


def _without_aliases(message: str) -> str:
    """Messages show types in full."""
    definitions = dict(line.split(" = ", 1) for line in BENCH.aliases.split("\n"))
    for alias in sorted(definitions, key=len, reverse=True):
        message = message.replace(alias, definitions[alias])
    return message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '"ttng.arrive_barrier"(%i) <{count = 1 : i32}> : (i32) -> ()',
            "operand #0 must be memory descriptor type (`::mlir::triton::gpu::MemDescType`) in "
            "Triton IR type system, but got 'i32'",
        ),
        (
            f'"ttng.wait_barrier"(%bar, %p) <{{operandSegmentSizes = array<i32: 1, 1, 0, 0>}}> : ({MB}, i1) -> ()',
            "operand #1 must be 32-bit signless integer, but got 'i1'",
        ),
        (
            "ttng.tensormap_create %ptr, %ptr, [%i], [%i], [], [%i] {elem_type = 20 : i32, fill_mode = 0 : i32, interleave_layout = 0 : i32, swizzle_mode = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()",
            "attribute 'elem_type' failed to satisfy constraint: 32-bit signless integer "
            "attribute whose value is non-negative whose maximum value is 15",
        ),
        ("ttng.fence_async_shared", "requires attribute 'bCluster'"),
    ],
)
def test_definitions_speak_as_mlir_does(text: str, message: str) -> None:
    assert any(message in error for error in BENCH.errors(text))


PAIR = {
    "ttg.num-ctas": "2 : i32",
    "ttg.num-warps": "8 : i32",
    "ttg.threads-per-warp": "32 : i32",
}


def cluster(body: str, *, barrier: str, elements: int, **attributes: str) -> list[str]:
    """Errors of ops on a barrier of `elements` words that CTAs share as `barrier` says."""
    bench = Bench(
        aliases=f"#bar = #ttg.swizzled_shared<{{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = {barrier}}}>\n#smem = #ttg.shared_memory",
        arguments={"%bar": f"!ttg.memdesc<{elements}xi64, #bar, #smem, mutable>", "%p": "i1"},
        attributes=PAIR,
    )
    type = f"!ttg.memdesc<{elements}xi64, #bar, #smem, mutable>"
    return bench.errors(body.replace("MB", type), **attributes)


def test_multicast_needs_a_barrier_for_each_cta() -> None:
    text = "ttng.arrive_barrier %bar, 1 {multicastCTA = 1 : i32} : MB"
    assert cluster(text, barrier="[[1]]", elements=2) == []
    (error,) = cluster(text, barrier="[[0]]", elements=1)
    assert "multicast barrier cga_layout must be [[1]], got [[0]]" in error


def test_multicast_stays_in_the_cluster() -> None:
    text = "ttng.arrive_barrier %bar, 1 {multicastCTA = 7 : i32} : MB"
    (error,) = cluster(text, barrier="[[1]]", elements=2)
    assert "multicastCTA exceeds numCTAs - 1" in error


def test_threads_do_not_multicast_one_by_one() -> None:
    text = "ttng.arrive_barrier %bar, 1 {multicastCTA = 1 : i32, perThread} : MB"
    (error,) = cluster(text, barrier="[[1]]", elements=2)
    assert "multicast arrive does not support perThread" in error


def test_an_arrival_has_one_origin() -> None:
    text = "ttng.arrive_barrier %bar, 1 {fromCTA = 0 : i32, multicastCTA = 1 : i32} : MB"
    (error,) = cluster(text, barrier="[[1]]", elements=2)
    assert "fromCTA cannot be combined with multicast arrive" in error


def test_an_origin_needs_a_barrier_for_each_cta() -> None:
    text = "ttng.barrier_expect %bar, 8 {fromCTA = 1 : i32}, %p : MB"
    (error,) = cluster(text, barrier="[[0]]", elements=1)
    assert (
        "fromCTA requires a 1D barrier with one element per CTA and canonical CGA layout" in error
    )


def test_completion_is_signalled_to_each_cta() -> None:
    text = "ttng.tc_gen5_commit %bar, %p : MB"
    pairs = {"ttng.two-ctas": "false"}
    assert cluster(text, barrier="[[1]]", elements=2, **pairs) == []
    (error,) = cluster(text, barrier="[[0]]", elements=1, **pairs)
    assert "completion barrier cga_layout must be [[1]], got [[0]]" in error


def test_pairs_may_share_a_completion_barrier() -> None:
    text = "ttng.tc_gen5_commit %bar, %p : MB"
    assert cluster(text, barrier="[[0]]", elements=1, **{"ttng.two-ctas": "true"}) == []


def test_layouts_fit_the_cluster() -> None:
    body = f"%0 = ttng.tmem_alloc : () -> {D}"
    (error,) = BENCH.errors(body, **{"ttg.num-ctas": "2 : i32"})
    assert "Layout has 1 CTAs per CGA, but the context requires 2 CTAs per CGA." in error


SWIZZLED = "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
NARROW = "#ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = 16}>"
PADDED = "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>"
TMEM = "#ttng.tensor_memory_encoding"


def smem(shape: str, layout: str) -> str:
    return f"!ttg.memdesc<{shape}, {layout}, #smem, mutable>"


def tmem(shape: str, keys: str) -> str:
    return f"!ttg.memdesc<{shape}, {TMEM}<{keys}>, #ttng.tensor_memory, mutable>"


def made(*types: str) -> str:
    """Buffers ``%m0``, ``%m1``, ... of these types."""
    lines: list[str] = []
    for number, type in enumerate(types):
        op = "ttng.tmem_alloc" if "tensor_memory" in type else "ttg.local_alloc"
        lines.append(f"%m{number} = {op} : () -> {type}")
    return "\n".join(lines)


def tma_error(layout: str) -> str:
    """What a copy from ``%desc``, whose layout is ``#shared1``, to `layout` ends in."""
    type = smem("128x64xf16", layout)
    (error,) = BENCH.errors(
        f"{made(type)}\n{COPY} %desc[%i, %j] %m0, %bar, %p : {DESC}, {MB} -> {type}"
    )
    return error


def test_tma_writes_tiles() -> None:
    assert "TMA descriptor must have NVMMA shared layout" in tma_error(SWIZZLED)


def test_tma_does_not_rearrange() -> None:
    assert (
        "TMA descriptor layout must match shared layout, but got descriptor layout "
        in tma_error(NARROW)
    )


def test_tma_does_not_transpose() -> None:
    desc = "!tt.tensordesc<64x128xf16>"
    (error,) = BENCH.errors(
        f"%m0 = ttng.reinterpret_tensor_descriptor %ptr : !tt.ptr<i8> to {desc}\n"
        f"{COPY} %m0[%i, %j] %b, %bar, %p : {desc}, {MB} -> {MT}"
    )
    assert "TMA descriptor layout must not be transposed" in error


def test_a_descriptor_without_layout_takes_that_of_the_buffer() -> None:
    desc = "!tt.tensordesc<128x64xf16>"
    assert not BENCH.errors(
        f"%m0 = ttng.reinterpret_tensor_descriptor %ptr : !tt.ptr<i8> to {desc}\n"
        f"{COPY} %m0[%i, %j] %a, %bar, %p : {desc}, {MB} -> {MA}"
    )


def test_stores_do_not_unpad() -> None:
    desc, type = f"!tt.tensordesc<128x64xi8, {PADDED}>", smem("128x64xi8", PADDED)
    (error,) = BENCH.errors(
        f"{made(type)}\n%m1 = ttng.reinterpret_tensor_descriptor %ptr : !tt.ptr<i8> to {desc}\n"
        f"ttng.async_tma_copy_local_to_global %m1[%i, %j] %m0 : {desc}, {type}"
    )
    assert "does not support fp4_padded operands" in error


def test_immutable_memory_is_not_written() -> None:
    constant = MA.replace(", mutable", "")
    desc = f"%m0 = ttg.local_alloc %v : (tensor<128x64xf16>) -> {constant}"
    value = "%v = ttg.local_load %a : " + MA + " -> tensor<128x64xf16>"
    (error,) = BENCH.errors(
        f"{value}\n{desc}\n{COPY} %desc[%i, %j] %m0, %bar, %p : {DESC}, {MB} -> {constant}"
    )
    assert "cannot store into immutable memory" in error
    constant = D.replace(", mutable", "")
    (error,) = BENCH.errors(
        f"%m0 = ttng.tmem_alloc %x : ({V}) -> {constant}\n"
        f"ttng.tmem_store %x, %m0, %p : {V} -> {constant}"
    )
    assert "Cannot store into an immutable alloc" in error
    (error,) = BENCH.errors(f"ttng.tmem_copy %a, %sa : {MA}, {SCALE}")
    assert "Cannot copy into an immutable alloc" in error


@pytest.mark.parametrize(
    ("accumulator", "message"),
    [
        (
            tmem("128x128xf32", "blockM = 128, blockN = 128, colStride = 1, fp4Padded = true"),
            "Accumulator must not be fp4_padded",
        ),
        (
            tmem("128x128xf16", "blockM = 128, blockN = 128, colStride = 1"),
            "The col stride of the return operand must be 32 / 16 but got 1",
        ),
        (
            tmem(
                "128x128xf32",
                "blockM = 128, blockN = 128, colStride = 1, twoCTAs = true",
            ),
            "The returned value's encoding must have twoCTA=0 to be used in a non-twoCTA kernel",
        ),
    ],
)
def test_accumulators_that_no_instruction_has(accumulator: str, message: str) -> None:
    (error,) = BENCH.errors(
        f"{made(accumulator)}\n{MMA} %a, %b, %m0, %p, %p : {MA}, {MT}, {accumulator}"
    )
    assert message in error


def test_accumulators_are_not_in_shared_memory() -> None:
    type = smem("128x128xf32", SWIZZLED)
    (error,) = BENCH.errors(f"{made(type)}\n{MMA} %a, %b, %m0, %p, %p : {MA}, {MT}, {type}")
    assert "Return operand must have a TensorMemory encoding" in error


@pytest.mark.parametrize(
    ("left", "message"),
    [
        (
            tmem("128x64xf16", "blockM = 128, blockN = 64, colStride = 2"),
            "The col stride of the LHS operand must be 1",
        ),
        (
            tmem("128x64xf16", "blockM = 128, blockN = 64, colStride = 1, fp4Padded = true"),
            "fp4_padded tensor memory LHS is only supported by scaled MMA",
        ),
        (
            smem("128x64xf16", SWIZZLED),
            "LHS operand must have a NVMMAShared or TensorMemory encoding",
        ),
    ],
)
def test_left_operands_that_no_instruction_reads(left: str, message: str) -> None:
    (error,) = BENCH.errors(f"{made(left)}\n{MMA} %m0, %b, %d, %p, %p : {left}, {MT}, {D}")
    assert message in error


def scaled(left: str, lhs: str, rhs: str = "e4m3", accumulator: str = D) -> list[str]:
    return BENCH.errors(
        f"{made(left, accumulator)}\nttng.tc_gen5_mma_scaled %m0, %fb, %m1, %sa, %sa, %p, %p "
        f"lhs = {lhs} rhs = {rhs} : {left}, {F8T}, {accumulator}, {SCALE}, {SCALE}"
    )


BYTES = "blockM = 128, blockN = 64, colStride = 1"


@pytest.mark.parametrize(
    ("left", "lhs", "message"),
    [
        (
            tmem("128x64xi8", BYTES),
            "e2m1",
            "expected e2m1 LHS operand to be fp4_padded when RHS is float8",
        ),
        (
            tmem("128x64xf8E5M2", f"{BYTES}, fp4Padded = true"),
            "e2m1",
            "expected e2m1 LHS operand to have i8 storage",
        ),
        (
            tmem("128x128xf8E5M2", BYTES),
            "bf16",
            "expected float8 LHS operand to have e4m3 or e5m2 format",
        ),
        (
            tmem("128x128xi8", BYTES),
            "e4m3",
            "unsupported LHS operand type for scaled MMA",
        ),
    ],
)
def test_scaled_operands_in_tensor_memory(left: str, lhs: str, message: str) -> None:
    (error,) = scaled(left, lhs)
    assert message in error


def test_padded_four_bit_operands_meet_eight_bit_ones() -> None:
    assert scaled(tmem("128x64xi8", f"{BYTES}, fp4Padded = true"), "e2m1") == []


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            "blockM = 128, blockN = 128, colStride = 1, fp4Padded = true",
            "accumulator layout must not be fp4_padded",
        ),
        (
            "blockM = 64, blockN = 128, colStride = 1",
            "only supports instruction shape blockM=128",
        ),
    ],
)
def test_scaled_accumulators(keys: str, message: str) -> None:
    (error,) = scaled(F8, "e4m3", accumulator=tmem("128x128xf32", keys))
    assert message in error


@pytest.mark.parametrize(
    ("target", "order", "message"),
    [
        (
            '"cuda:100"',
            "kThenMn",
            "A scales in tensor memory must use #ttng.tensor_memory_scales_encoding<blockRepOrder = mnThenK>",
        ),
        (
            '"cuda:107"',
            "mnThenK",
            "A scales in tensor memory must use #ttng.tensor_memory_scales_encoding<blockRepOrder = kThenMn>",
        ),
        (
            '"cuda:107"',
            "kThenMn",
            "B scales in tensor memory must use #ttng.tensor_memory_scales_encoding<blockRepOrder = mnThenK>",
        ),
    ],
)
def test_order_of_scale_blocks(target: str, order: str, message: str) -> None:
    a = smem("256x128xi8", "#shared3")
    b = smem("128x256xi8", "#shared4")
    d = tmem("256x256xf32", "blockM = 128, blockN = 256, colStride = 1")
    scale = f"!ttg.memdesc<256x8xf8E4M3FN, #ttng.tensor_memory_scales_encoding<blockRepOrder = {order}>, #ttng.tensor_memory, mutable>"
    (error,) = BENCH.errors(
        f"{made(a, b, d, scale)}\nttng.tc_gen5_mma_scaled %m0, %m1, %m2, %m3, %m3, %p, %p "
        f"lhs = e2m1 rhs = e2m1 : {a}, {b}, {d}, {scale}, {scale}",
        **{"ttg.target": target},
    )
    assert message in error


def test_registers_hold_pairs_of_halves() -> None:
    operand = "tensor<128x64xf16, #ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 1}>>"
    (error,) = BENCH.errors(
        f"%m0 = ttg.local_load %a : {MA} -> {operand}\n"
        f"%m1 = ttng.warp_group_dot %m0, %b, %acc : {operand} * {MT} -> {ACC}"
    )
    assert "in-register LHS operand must have a kWidth of 2 but got 1" in error
