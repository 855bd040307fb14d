"""Text of the tile level comes back as it was written, and so does the generic form."""

from pathlib import Path

import pytest

from tests.dialects.tile.support import ARGUMENTS, module_text, objections, parse, printed
from tilewright.dialects import DIALECTS
from tilewright.dialects.tile import TargetAttr, Tile
from tilewright.ir.text import print_module
from tilewright.ir.text.assembly import AsmOp, has_custom_text

T = ARGUMENTS

SAME_TEXT = {
    "alloc": f"%0 = tile.alloc : {T['As']}",
    "alloc named": f'%A_s = tile.alloc "A_s" : {T["As"]}',
    "alloc safe value": f"%0 = tile.alloc safe_value 1.000000e+00 : f32 : {T['Cf']}",
    "alloc dtype": '%0 = tile.alloc {dtype = "uint8"} : memref<4xi8, #local>',
    "alloc barriers": f"%0 = tile.alloc init [1, 128] : {T['bars']}",
    "alloc alias": f"%0 = tile.alloc alias %spec offset 1024 : {T['As']}",
    "alloc workspace": "%0 = tile.alloc sizes(%n) : memref<?x64xf32, #global>",
    "alloc layout": (
        f"%0 = tile.alloc layout #tile.layout<(i : 64, j : 32) -> (i, j xor (i mod 8))> : {T['As']}"
    ),
    "alloc fragment": (
        "%0 = tile.alloc layout #tile.fragment<(i : 64) -> thread (i floordiv 2) index (i mod 2)> "
        f": {T['rows']}"
    ),
    "spec": "%0 = tile.storage_alias_spec shared size 4096 : !tile.storage_alias_spec<shared>",
    "view": f"%0 = tile.view %As : {T['As']} to memref<2048xf16, #shared>",
    "view pointer": (
        "%0 = tile.view %ptr sizes(%n) strides(%i) : !tile.ptr<f16> to "
        "memref<?x64xf16, strided<[?, 1]>, #global>"
    ),
    "region": f"%0 = tile.region %A[%i, 0] [64, 32] : {T['A']} to {T['RA']}",
    "region outside": f"%0 = tile.region %A[-1, 200] [64, 32] : {T['A']} to {T['RA']}",
    "region of run-time extent": (
        f"%0 = tile.region %A[%i, 0] [%n, 32] : {T['A']} to !tile.region<?x32xf16, #global>"
    ),
    "slot": f"%0 = tile.slot %Vs[%i] : {T['Vs']} to {T['As']}",
    "ptr_at": "%0 = tile.ptr_at %address : !tile.ptr<f16>",
    "ptr_at of a multiple": (
        "%0 = tile.ptr_at %address {tile.divisibility = 16 : i64} : !tile.ptr<f16>"
    ),
    "ptr_of": f"%0 = tile.ptr_of r %A[%i, %j] : {T['A']}",
    "ptr_of extent": f"%0 = tile.ptr_of rw %As[%i, %j] extent %n : {T['As']}",
    "copy": f"tile.copy %RA -> %As : {T['RA']} -> {T['As']}",
    "copy with wishes": (
        'tile.copy %RA -> %As {coalesced_width = 8 : i64, disable_tma, eviction_policy = "evict_first"} : '
        f"{T['RA']} -> {T['As']}"
    ),
    "copy of a slice": f"tile.copy %RQ -> %As : {T['RQ']} -> {T['As']}",
    "copy converts": f"tile.copy %Cf -> %Ch : {T['Cf']} -> {T['Ch']}",
    "async copy": f"tile.async_copy %RA -> %As : {T['RA']} -> {T['As']}",
    "async copy with barrier": (
        f"tile.async_copy %RA -> %As barrier %bars[%i] : {T['RA']} -> {T['As']}, {T['bars']}"
    ),
    "async store": f"tile.async_copy %As -> %RA : {T['As']} -> {T['RA']}",
    "fill": f"tile.fill %Cf, %x : {T['Cf']}, f32",
    "transpose": f"tile.transpose %As -> %Bs : {T['As']} -> {T['Bs']}",
    "im2col": (
        "tile.im2col %img -> %As at(%i, %j) kernel 3 stride 1 dilation 1 pad 1 : "
        f"{T['img']} -> {T['As']}"
    ),
    "gemm": f"tile.gemm %As, %Bs -> %Cf : {T['As']}, {T['Bs']} -> {T['Cf']}",
    "gemm transposed": (
        f"tile.gemm %As, %Bt -> %Cf policy full_row {{transpose_b}} : "
        f"{T['As']}, {T['Bt']} -> {T['Cf']}"
    ),
    "gemm that clears": (
        f"tile.gemm %As, %Bs -> %Cf clear_if %p k_pack 2 {{async}} : "
        f"{T['As']}, {T['Bs']} -> {T['Cf']}"
    ),
    "reduce": f"tile.reduce sum %Cf -> %rows dim 1 : {T['Cf']} -> {T['rows']}",
    "reduce into": (
        f"tile.reduce max %Cf -> %col dim 1 accumulate {{nan_propagate}} : {T['Cf']} -> {T['col']}"
    ),
    "reduce over threads": (
        f'tile.reduce sum %loc -> %loc dim 0 {{scope = "threads"}} : {T["loc"]} -> {T["loc"]}'
    ),
    "scan": f"tile.scan sum %Cf -> %Cf dim 0 reverse : {T['Cf']} -> {T['Cf']}",
    "atomic element": f"tile.atomic add %Cg[%i, %j], %x order relaxed : {T['Cg']}, f32",
    "atomic with result": f"%0 = tile.atomic max %Cg[%i, %j], %x : {T['Cg']}, f32 -> f32",
    "atomic load": f"%0 = tile.atomic load %Cg[%i, %j] order acquire : {T['Cg']} -> f32",
    "compare and swap": (
        "%0 = tile.atomic cas %Cg[%i, %j], %x compare %x order acq_rel scope sys : "
        f"{T['Cg']}, f32 -> f32"
    ),
    "atomic of a block": f"tile.atomic add %Cg[%i, %j], %x scope cta : {T['Cg']}, f32",
    "atomic region": f"tile.atomic add %Cg, %Cf {{use_tma, width = 4 : i64}} : {T['Cg']}, {T['Cf']}",
    "reducer": f'%acc = tile.reducer.alloc "acc" sum replication(all) : {T["rows"]}',
    "reducer finalize": (
        f"%0 = tile.reducer.alloc max : {T['rows']}\ntile.reducer.finalize %0 : {T['rows']}\n"
        f"tile.reducer.finalize %0 -> %col : {T['rows']} -> {T['col']}"
    ),
    "assume": "tile.assume %p",
    "assume with reason": 'tile.assume %p, "rows come in eights"',
    "assert": 'tile.assert %p, "in range"',
    "sync": "tile.sync",
    "sync grid": "tile.sync grid",
    "sync named": "tile.sync barrier_id 3 arrive_count 128",
    "print": f'tile.print "x", %x, %Cf : f32, {T["Cf"]}',
    "print text": 'tile.print "here"',
    "extern": '%0 = tile.extern "twice"(%x) {pure} : (f32) -> f32',
    "extern without result": f'tile.extern "fill"(%Cg) : ({T["Cg"]}) -> ()',
    "source": 'tile.source "__device__ int f();"',
    "warp reduce": "%0 = tile.warp_reduce max %x : f32",
    "shuffle": "%0 = tile.shuffle xor %x, %w width 16 : f32",
    "vote": "%0 = tile.vote ballot %p : i32",
    "reduce by": (
        f"tile.reduce_by %Cf -> %rows dim 1 : {T['Cf']} -> {T['rows']} {{\n"
        "^bb0(%arg0: f32, %arg1: f32):\n"
        "  %0 = arith.mulf %arg0, %arg1 : f32\n"
        "  tile.return %0 : f32\n"
        "}"
    ),
    "scan by": (
        f"tile.scan_by %Cf -> %Cf dim 0 reverse : {T['Cf']} -> {T['Cf']} {{\n"
        "^bb0(%arg0: f32, %arg1: f32):\n"
        "  tile.return %arg1 : f32\n"
        "}"
    ),
    "gemm of a precision": (
        f"tile.gemm %Cs, %Cs -> %Cf precision tf32x3 {{transpose_b}} : {T['Cs']}, {T['Cs']} -> {T['Cf']}"
    ),
    "scaled gemm": (
        f"tile.scaled_gemm %q8 as e4m3, %q8 as e4m3 -> %Cf {{clear, transpose_b}} : {T['q8']}, {T['q8']} -> {T['Cf']}"
    ),
    "parallel": (
        "tile.parallel (%arg0, %arg1) in (64, %n) {\n"
        f"  %0 = memref.load %Cf[%arg0, %arg1] : {T['Cf']}\n"
        "}"
    ),
    "parallel with wishes": (
        "tile.parallel (%arg0) in (64) attributes {coalesced_width = 4 : i64, prefer_async = true} {\n}"
    ),
    "pipeline": "tile.pipeline %arg0 = 0 to %n num_stages(3) {\n  tile.sync\n}",
    "pipeline by hand": ("tile.pipeline %arg0 = %i to 8 stage(0, 0, 1) order(0, 2, 1) {\n}"),
    "pipeline planned": (
        "tile.pipeline %arg0 = 0 to 8 num_stages(2) plan #tile.pipeline_plan<stage = [0, 1], "
        "order = [1, 0], async = [0, -1], versions = [2]> attributes {mine} {\n}"
    ),
    "persistent": (
        "tile.persistent (%arg0, %arg1) in (%n, 16) wave 132 index %i group 4 {\n  tile.sync\n}"
    ),
    "persistent of any wave": (
        "tile.persistent (%arg0) in (%n) wave %j index %i group 8 attributes {mine} {\n}"
    ),
    "kernel": "tile.kernel (%arg0) in (%n) {\n}",
    "kernel of threads": (
        "tile.kernel (%arg0, %arg1, %arg2) in (8, %n, 2) threads(32, 4) cluster(2, 1, 1) "
        "raster #tile.raster<column, 4> attributes {cooperative, min_blocks_per_sm = 2 : i64} {\n"
        "  tile.sync\n}"
    ),
    "ws": (
        "tile.kernel (%arg0) in (8) threads(384) {\n"
        "  tile.ws\n"
        '  role "producer" threads(0 to 128) registers(24) {\n'
        "    tile.sync\n"
        "  }\n"
        '  role "consumer" threads(128 to 384) {\n'
        "  }\n"
        "}"
    ),
    "ws by hand": (
        'tile.ws custom attributes {mine}\nrole "ws" threads(0 to 128, 256 to 384) {\n}'
    ),
    "nested": (
        "tile.kernel (%arg0) in (8) threads(128) {\n"
        "  tile.pipeline %arg1 = 0 to 4 {\n"
        "    tile.parallel (%arg2) in (64) {\n"
        f"      memref.store %x, %rows[%arg2] : {T['rows']}\n"
        "    }\n"
        "  }\n"
        "}"
    ),
}

GROUP = f"""\
%0 = tile.storage_alias_spec shared : !tile.storage_alias_spec<shared>
%1 = tile.alloc alias %0 : {T["As"]}
%2 = tile.alloc alias %0 : {T["Bs"]}
%3 = tile.alloc alias %0 : {T["Cs"]}
%4 = tile.reuse_group distinct(%1, %2) group_size 2 : ({T["As"]}, {T["Bs"]}) -> !tile.reuse_group<distinct>
%5 = tile.reuse_group shared(%4, %3) : (!tile.reuse_group<distinct>, {T["Cs"]}) -> !tile.reuse_group<shared>
tile.set_buffer_overlap %0, %5 : !tile.storage_alias_spec<shared>, !tile.reuse_group<shared>"""

CASES = {**SAME_TEXT, "storage alias": GROUP}


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_text_comes_back(body: str):
    assert printed(body) == body


@pytest.mark.parametrize("body", CASES.values(), ids=CASES)
def test_generic_text_means_the_same(body: str):
    module = parse(module_text(body))
    generic = print_module(module, generic=True)
    assert '"func.func"' in generic
    assert print_module(parse(generic)) == print_module(module)


TENSOR_MEMORY = Path(__file__).parents[2] / "lit/dialects/tile/tensor-memory.mlir"


def test_every_op_has_a_sample():
    shown = {
        op.name
        for body in CASES.values()
        for op in parse(module_text(body)).walk()
        if op.name.startswith("tile.")
    }
    text = TENSOR_MEMORY.read_text(encoding="utf-8")
    shown |= {op.name for op in Tile.operations if f"  {op.name} " in text}
    assert shown == {op.name for op in Tile.operations}


@pytest.mark.parametrize("dialect", ["tile", "nv", "func"])
def test_no_op_prints_in_generic_form(dialect: str):
    assert [op.name for op in DIALECTS[dialect]().operations if not has_custom_text(op)] == []


@pytest.mark.parametrize("dialect", ["tile", "nv", "memref", "func"])
def test_every_format_compiles(dialect: str):
    formats = [
        op.format().elements
        for op in DIALECTS[dialect]().operations
        if issubclass(op, AsmOp) and op.ASM
    ]
    assert formats
    assert all(formats)


def test_targets():
    for text in ("#tile.target<cuda, sm_90a>", "#tile.target<numpy>"):
        assert f"{{tile.target = {text}}}" in printed(f"tile.sync {{tile.target = {text}}}")
    assert str(TargetAttr.of("cuda", "sm_90a")) == "#tile.target<cuda, sm_90a>"


def test_terminator_may_be_written():
    assert printed("tile.pipeline %k = 0 to 8 {\n  tile.yield\n}") == (
        "tile.pipeline %k = 0 to 8 {\n}"
    )


def test_clauses_in_any_order():
    text = f"%0 = tile.alloc alias %spec offset 16 safe_value 0.0 : f16 : {T['As']}"
    assert printed(text) == (
        f"%0 = tile.alloc alias %spec safe_value 0.000000e+00 : f16 offset 16 : {T['As']}"
    )


BROKEN = {
    "%0 = tile.alloc layout #tile.layout<(i : 4) -> ()> : memref<4xf32, #shared>": (
        "a layout requires at least one physical coordinate"
    ),
    "%0 = tile.alloc layout #tile.fragment<(i : 4) -> thread (i) index ()> : memref<4xf32, #fragment>": (
        "a fragment requires at least one index"
    ),
    "%0 = tile.alloc layout #tile.fragment<(i : 4) -> thread (i, i) index (0)> : memref<4xf32, #fragment>": (
        "expected one expression for the thread"
    ),
    "%0 = tile.alloc layout #tile.fragment<(i : 4) replicate (i : 2) -> thread (i) index (0)> : memref<4xf32, #fragment>": (
        "replicate requires one coordinate with a unique name"
    ),
    "%0 = tile.alloc layout #tile.fragment<(i : 4) replicate (r : 0) -> thread (i) index (0)> : memref<4xf32, #fragment>": (
        "replicate must be positive, got 0"
    ),
    "tile.pipeline %k = 0 to 8 plan #tile.pipeline_plan<step = [0]> {\n}": (
        "expected one of stage, order, async, versions, found 'step'"
    ),
    "tile.kernel (%a) on (8) {\n}": "in",
    "tile.parallel (%a) in (8.0) {\n}": "expected integer",
    "tile.reduce product %Cf -> %rows dim 1 : memref<64x64xf32, #fragment> -> memref<64xf32, #fragment>": (
        "expected one of: sum, prod, max, min, absmax, abssum, bitand, bitor, bitxor, any, all; "
        "found 'product'"
    ),
    "%0 = tile.alloc : memref<4xf32, #tile.space<nowhere>>": "`cluster_barrier`",
    "%0 = tile.alloc layout #tile.layout<(i : 4, i : 4) -> (i)> : memref<4xf32, #local>": (
        "duplicate coordinate 'i'"
    ),
    "%0 = tile.alloc layout #tile.layout<(i : 4) -> (i floordiv 0)> : memref<4xf32, #local>": (
        "the right operand of floordiv must be a positive integer"
    ),
    "%0 = tile.alloc layout #tile.layout<(i : 4) -> (k)> : memref<4xf32, #local>": (
        "expected an integer or one of the coordinates i"
    ),
    "%0 = tile.alloc layout #tile.layout<(i : 0) -> (i)> : memref<4xf32, #local>": (
        "extents of a layout must be positive, got 0"
    ),
}


@pytest.mark.parametrize(("body", "message"), BROKEN.items(), ids=range(len(BROKEN)))
def test_broken_text_is_refused_where_it_breaks(body: str, message: str):
    (found,) = objections(body)
    assert message in found
