"""Every rule of the tile level has its message, and what obeys it is accepted."""

import pytest

from tests.dialects.tile.support import ARGUMENTS, objections

T = ARGUMENTS
BODY = "{\n}"


def region(extents: str, space: str = "global", element: str = "f16") -> str:
    return f"!tile.region<{extents}x{element}, #{space}>"


ALLOCS = {
    "%0 = tile.alloc : memref<4xf32>": "result #0 must be buffer (memref with a #tile.space), but got 'memref<4xf32>'",
    "%0 = tile.alloc : memref<f32, #shared>": "a buffer must have at least one dimension",
    "%0 = tile.alloc : memref<4x0xf32, #shared>": "extents of a buffer must be positive, got 4x0",
    "%0 = tile.alloc sizes(%n) : memref<?x4xf32, #shared>": "shared buffers require compile-time extents, got ?x4",
    "%0 = tile.alloc : memref<?x4xf32, #global>": "expects 1 sizes for the dynamic extents of ?x4, got 0",
    "%0 = tile.alloc : memref<2xf32, #var>": "a var holds one element, got 2",
    "%0 = tile.alloc : memref<2xf32, #tmem>": "tensor-memory buffers must have 2 dimensions, or 3 with stages, got 1",
    "%0 = tile.alloc : memref<4x4xf32, strided<[8, 1]>, #shared>": "strides are supported in global memory only; use a layout instead",
    "%0 = tile.alloc init [1] : memref<1xi64, #barrier>": "barrier memory cannot hold elements of type 'i64'",
    "%0 = tile.alloc : memref<1x!nv.mbarrier, #shared>": "shared memory cannot hold elements of type '!nv.mbarrier'",
    "%0 = tile.alloc : memref<4x!tile.ptr<f16>, #local>": "local memory cannot hold elements of type '!tile.ptr<f16>'",
    "%0 = tile.alloc : memref<2x!nv.mbarrier, #barrier>": "barriers require arrive counts: init [...]",
    "%0 = tile.alloc init [1] : memref<2x!nv.mbarrier, #barrier>": "2 barriers but 1 arrive counts",
    "%0 = tile.alloc init [1, 0] : memref<2x!nv.mbarrier, #barrier>": "arrive count must be 1 to 1048575, got 0",
    "%0 = tile.alloc init [1, 1] : memref<1x2x!nv.mbarrier, #barrier>": "barrier buffers must have 1 dimension, got 2",
    "%0 = tile.alloc init [1] : memref<1xf32, #shared>": "init is for arrive counts of barriers, but the buffer is in shared memory",
    "%0 = tile.alloc safe_value 0 : i32 : memref<4xf32, #shared>": "safe_value has type 'i32' but the elements are 'f32'",
    "%0 = tile.alloc alias %spec : memref<4xf32, #fragment>": "only shared memory and tensor memory can be aliased, not fragment",
    "%0 = tile.alloc offset -1 : memref<4xf32, #shared>": "offset must not be negative, got -1",
    "%0 = tile.alloc layout #tile.layout<(i : 4) -> (i)> : memref<4xf32, #fragment>": "the layout of fragment memory must be a #tile.fragment",
    "%0 = tile.alloc layout #tile.fragment<(i : 4) -> thread (i) index (0)> : memref<4xf32, #shared>": "the layout of shared memory must be a #tile.layout",
    "%0 = tile.alloc layout #tile.layout<(i : 8) -> (i)> : memref<4xf32, #shared>": "the layout is for a buffer of 8, but this one is 4",
    "%0 = tile.alloc alias %spec : memref<4x4xf32, #tmem>": "use of value '%spec' expects different type than prior uses: '!tile.storage_alias_spec<tmem>' vs '!tile.storage_alias_spec<shared>'",
    "%0 = tile.storage_alias_spec shared size 0 : !tile.storage_alias_spec<shared>": "size must be positive, got 0",
    "%0 = tile.storage_alias_spec tmem : !tile.storage_alias_spec<shared>": "storage is tmem but the type has shared",
    "%0 = tile.reuse_group shared() : () -> !tile.reuse_group<shared>": "reuse_group requires at least one element",
    f"%0 = tile.reuse_group shared(%As) group_size 0 : ({T['As']}) -> !tile.reuse_group<shared>": "group_size must be a positive integer, got 0",
    f"%0 = tile.reuse_group shared(%As) : ({T['As']}) -> !tile.reuse_group<distinct>": "kind is shared but the type has distinct",
    f"%0 = tile.reducer.alloc sum : {T['As']}": "a reducer must be a fragment, but it is in shared memory",
    f"tile.reducer.finalize %rows : {T['rows']}": "expects a buffer allocated by tile.reducer.alloc",
}

_GROUP = "!tile.reuse_group<shared>"
_SPEC = "!tile.storage_alias_spec<shared>"
OVERLAPS = {
    f"tile.set_buffer_overlap %spec, %group : {_SPEC}, {_GROUP}": "the group must be defined by a tile.reuse_group op",
    f"%0 = tile.reuse_group shared(%As) : ({T['As']}) -> {_GROUP}\ntile.set_buffer_overlap %spec, %0 : {_SPEC}, {_GROUP}": (
        "all elements in the reuse_group tree must be allocated from a storage_alias_spec, but found an element that is not"
    ),
    f"%0 = tile.alloc alias %spec : {T['As']}\n%1 = tile.reuse_group shared(%0, %0) : ({T['As']}, {T['As']}) -> {_GROUP}\ntile.set_buffer_overlap %spec, %1 : {_SPEC}, {_GROUP}": (
        "reuse_group tree contains duplicate elements; each allocation can only appear once in the tree"
    ),
    f'%0 = tile.storage_alias_spec shared : {_SPEC}\n%1 = tile.alloc "mine" alias %0 : {T["As"]}\n%2 = tile.reuse_group shared(%1) : ({T["As"]}) -> {_GROUP}\ntile.set_buffer_overlap %spec, %2 : {_SPEC}, {_GROUP}': (
        "all allocations in the reuse_group must reference the same storage_alias_spec, but 'mine' uses a different one"
    ),
}

REGIONS = {
    f"%0 = tile.region %A[%i] [64, 32] : {T['A']} to {region('64x32')}": "the buffer is 2-dimensional (shape=256x128), but 1 offsets were given",
    f"%0 = tile.region %A[%i, 0] [64] : {T['A']} to {region('64')}": "the buffer is 2-dimensional (shape=256x128), but 1 extents were given",
    f"%0 = tile.region %A[%i, 0] [64, 0] : {T['A']} to {region('64x0')}": "the extent along dimension 1 must be positive: 0",
    f"%0 = tile.region %A[%i, 0] [64, 16] : {T['A']} to {region('64x32')}": "the extents are 64x16 but the type has 64x32",
    f"%0 = tile.region %A[%i, 0] [%n, 16] : {T['A']} to {region('64x16')}": "the extents are ?x16 but the type has 64x16",
    f"%0 = tile.region %A[%i, 0] [64, 32] : {T['A']} to {region('64x32', element='f32')}": "the elements of the region are 'f32' but those of the buffer are 'f16'",
    f"%0 = tile.region %A[%i, 0] [64, 32] : {T['A']} to {region('64x32', 'shared')}": "a region must be in the memory space of its buffer",
    f"%0 = tile.region %As[32, 0] [64, 32] : {T['As']} to {region('64x32', 'shared')}": "elements 32 to 95 along dimension 0 are out of bounds: the buffer has 64",
    f"%0 = tile.region %As[0, -1] [64, 8] : {T['As']} to {region('64x8', 'shared')}": "elements -1 to 6 along dimension 1 are out of bounds: the buffer has 32",
    f"%0 = tile.region %As[64, 0] [%n, 8] : {T['As']} to {region('?x8', 'shared')}": "elements 64 to 64 along dimension 0 are out of bounds: the buffer has 64",
    f"%0 = tile.view %As : {T['As']} to memref<1024xf16, #shared>": "cannot reshape 64x32 (2048 elements) to 1024 (1024 elements)",
    f"%0 = tile.view %As : {T['As']} to memref<1024xf32, #fragment>": "a view cannot change the memory space: shared memory viewed as fragment memory",
    f"%0 = tile.view %As : {T['As']} to memref<2048xf32, #shared>": "a view must have the size of its buffer: 64x32 of 'f16' has 4096 bytes, 2048 of 'f32' has 8192",
    "%0 = tile.view %ptr : !tile.ptr<f16> to memref<?xf16, #global>": "1 dynamic entries of the shape but 0 values",
    "%0 = tile.view %ptr : !tile.ptr<f16> to memref<8x8xf16, strided<[?, 1]>, #global>": "1 dynamic entries of the strides but 0 values",
    f"%0 = tile.slot %rows[%i] : {T['rows']} to memref<64xf32, #fragment>": "a one-dimensional buffer has no versions",
    f"%0 = tile.slot %Vs[%i] : {T['Vs']} to {T['Bs']}": "a version of 'memref<3x64x32xf16, #tile.space<shared>>' has type 'memref<64x32xf16, #tile.space<shared>>', got 'memref<32x64xf16, #tile.space<shared>>'",
    f"%0 = arith.constant 3 : index\n%1 = tile.slot %Vs[%0] : {T['Vs']} to {T['As']}": "version 3 is out of bounds: the buffer has 3 versions",
    f"%0 = tile.slot %St[%i] : {T['St']} to memref<8xf16, #global>": "the versions of a buffer must be contiguous",
    f"%0 = tile.ptr_of r %A[%i] : {T['A']}": "Buffer A is 2-dimensional (shape=256x128), but 1 index(es) were provided",
}

MOVEMENT = {
    f"tile.copy %A -> %As : {T['A']} -> {T['As']}": "extents differ: the source has 256x128, the destination 64x32",
    f"tile.copy %Vs -> %As : {T['Vs']} -> {T['As']}": "extents differ: the source has 3x64x32, the destination 64x32",
    f"tile.copy %bars -> %bars : {T['bars']} -> {T['bars']}": "the source has elements of type '!nv.mbarrier', which cannot be copied",
    f"tile.copy %As -> %As {{coalesced_width = 0 : i64}} : {T['As']} -> {T['As']}": "coalesced_width must be positive, got 0",
    f'tile.copy %As -> %As {{eviction_policy = "never"}} : {T["As"]} -> {T["As"]}': "attribute 'eviction_policy' failed to satisfy constraint: one of evict_normal, evict_first, evict_last",
    f"tile.copy %x -> %As : f32 -> {T['As']}": "operand #0 must be buffer (memref with a #tile.space) or region, but got 'f32'",
    f"tile.async_copy %RA -> %q8 : {T['RA']} -> {T['q8']}": "asynchronous copies cannot convert 'f16' to 'f8E4M3FN'; copy through a fragment instead",
    f"tile.async_copy %Cf -> %Cs : {T['Cf']} -> {T['Cs']}": "asynchronous copies must be between global and shared memory, not from fragment to shared",
    f'tile.async_copy %As -> %RA {{instruction = "cp_async"}} : {T["As"]} -> {T["RA"]}': "cp.async copies must be from global to shared memory",
    f'tile.async_copy %RA -> %As barrier %bars[%i] {{instruction = "cp_async"}} : {T["RA"]} -> {T["As"]}, {T["bars"]}': "cp.async does not complete bytes on a barrier; use nv.cp_async.mbarrier_arrive",
    f"tile.async_copy %As -> %RA barrier %bars[%i] : {T['As']} -> {T['RA']}, {T['bars']}": "TMA stores do not signal a barrier; wait with nv.tma_store.wait",
    f"tile.async_copy %RA -> %As barrier %Cs[%i] : {T['RA']} -> {T['As']}, {T['Cs']}": "expects a buffer of barriers, but got 'memref<64x64xf32, #tile.space<shared>>'",
    f"tile.fill %Cf, %h : {T['Cf']}, f16": "the value is 'f16' but the elements are 'f32'",
    f"tile.transpose %As -> %Bt : {T['As']} -> {T['Bt']}": "the transpose of 64x32 is 32x64, but the destination has 64x32",
    f"tile.transpose %Vs -> %Bs : {T['Vs']} -> {T['Bs']}": "the source must have 2 dimensions, got 3x64x32",
    f"tile.im2col %A -> %As at(%i, %j) kernel 3 stride 1 dilation 1 pad 1 : {T['A']} -> {T['As']}": "the image must be a global tensor of N x H x W x C, got 256x128",
    f"tile.im2col %img -> %As at(%i, %j) kernel 0 stride 1 dilation 1 pad 1 : {T['img']} -> {T['As']}": "kernel must be at least 1, got 0",
    f"tile.im2col %img -> %Cs at(%i, %j) kernel 3 stride 1 dilation 1 pad 1 : {T['img']} -> {T['Cs']}": "im2col cannot convert 'f16' to 'f32'",
    f"tile.im2col %img -> %As at(%i, %j) kernel 3 stride 1 dilation 1 pad -1 : {T['img']} -> {T['As']}": "pad must be at least 0, got -1",
}


def gemm(a: str, b: str, c: str, more: str = "") -> str:
    return f"tile.gemm %{a}, %{b} -> %{c}{more} : {T[a]}, {T[b]} -> {T[c]}"


COMPUTE = {
    gemm("As", "Bt", "Cf"): "T.gemm K shape check failed: K_A = 32, K_B = 64",
    gemm("Bs", "Bt", "Cf"): "T.gemm M shape check failed: M_A = 32, M_C = 64",
    gemm("Bt", "As", "Cf", " {transpose_a}"): "T.gemm M shape check failed: M_A = 32, M_C = 64",
    gemm("Cs", "Ch", "Cf"): "A and B must have the same element type, got 'f32' and 'f16'",
    gemm(
        "A", "Bs", "Cf"
    ): "A must be in shared memory or a fragment, but it is in global memory; copy it to a T.alloc_shared buffer first",
    gemm("As", "Bs", "Cs"): "C must be a fragment, but it is in shared memory",
    gemm("As", "Bs", "Cf", " k_pack 0"): "k_pack must be positive, got 0",
    gemm("As", "Bs", "Cf", " clear_if %p {clear}"): "clear and clear_if are mutually exclusive",
    f"%0 = tile.alloc : memref<64x64xindex, #shared>\ntile.gemm %0, %0 -> %Cf : memref<64x64xindex, #shared>, memref<64x64xindex, #shared> -> {T['Cf']}": "element type 'index' of A is not supported in a GEMM",
    gemm("Vs", "Bs", "Cf"): "the operand A must have 2 dimensions, got 3x64x32",
    f"tile.gemm %Cs, %Cs -> %Ch : {T['Cs']}, {T['Cs']} -> {T['Ch']}": "accumulator type 'f16' is too narrow for operands of type 'f32'",
    f"%0 = tile.alloc : memref<64x64xi32, #fragment>\ntile.gemm %Cs, %Cs -> %0 : {T['Cs']}, {T['Cs']} -> memref<64x64xi32, #fragment>": "accumulator type 'i32' is not supported for operands of type 'f32'",
    f"tile.reduce sum %Cf -> %rows dim 2 : {T['Cf']} -> {T['rows']}": "dim 2 is out of bounds for a source with 2 dimensions",
    f"tile.reduce sum %Cf -> %Cf dim 1 : {T['Cf']} -> {T['Cf']}": "reducing dim 1 of 64x64 gives 64 or 64x1, but the destination has 64x64",
    f"tile.reduce sum %Cg -> %rows dim 1 : {T['Cg']} -> {T['rows']}": "the source of a reduction cannot be in global memory",
    f"tile.reduce bitor %Cf -> %rows dim 1 : {T['Cf']} -> {T['rows']}": "bitor requires integers, got 'f32'",
    f"tile.reduce sum %Cf -> %ints dim 1 : {T['Cf']} -> {T['ints']}": "'f32' cannot be combined into 'i32'",
    f'tile.reduce sum %rows -> %rows dim 0 {{scope = "threads"}} : {T["rows"]} -> {T["rows"]}': "a reduction over threads requires local buffers, but the operand is in fragment memory",
    f'tile.reduce sum %loc -> %loc dim 3 {{scope = "threads"}} : {T["loc"]} -> {T["loc"]}': "thread axis must be 0 to 2, got 3",
    f"tile.scan sum %Cf -> %Cf dim 2 : {T['Cf']} -> {T['Cf']}": "dim 2 is out of bounds for a source with 2 dimensions",
    f"tile.scan sum %Cf -> %Ch dim 0 : {T['Cf']} -> {T['Ch']}": "a scan cannot convert 'f32' to 'f16'",
    f"tile.scan max %Cf -> %rows dim 0 : {T['Cf']} -> {T['rows']}": "extents differ: the source has 64x64, the destination 64",
}

ATOMICS = {
    f"tile.atomic add %Cf, %Cf : {T['Cf']}, {T['Cf']}": "atomics update global or shared memory, not fragment memory",
    f"tile.atomic add %Cg[%i], %x : {T['Cg']}, f32": "Buffer Cg is 2-dimensional (shape=64x64), but 1 index(es) were provided",
    f"tile.atomic add %Cg[%i, %j] : {T['Cg']}": "add needs a value",
    f"tile.atomic add %Cg[%i, %j], %h : {T['Cg']}, f16": "the value is 'f16' but the elements are 'f32'",
    f"tile.atomic add %Cg[%i, %j], %Cf : {T['Cg']}, {T['Cf']}": "one element is updated with one value, not with a buffer",
    f"tile.atomic add %Cg, %rows : {T['Cg']}, {T['rows']}": "extents differ: the source has 64, the destination 64x64",
    f"%0 = tile.atomic load %Cg[%i, %j], %x : {T['Cg']}, f32 -> f32": "load takes no value",
    f"tile.atomic load %Cg[%i, %j] : {T['Cg']}": "load requires a result",
    f"%0 = tile.atomic store %Cg[%i, %j], %x : {T['Cg']}, f32 -> f32": "store has no result",
    f"%0 = tile.atomic add %Cg[%i, %j], %x : {T['Cg']}, f32 -> i32": "the result is 'i32' but the elements are 'f32'",
    f"%0 = tile.atomic add %Cg, %Cf : {T['Cg']}, {T['Cf']} -> f32": "only the update of one element has a result",
    f"%0 = tile.atomic cas %Cg[%i, %j], %x : {T['Cg']}, f32 -> f32": "cas needs a value to compare with",
    f"tile.atomic add %Cg[%i, %j], %x compare %x : {T['Cg']}, f32": "add compares with nothing; cas does",
    f"tile.atomic cas %Cg[%i, %j], %x compare %x : {T['Cg']}, f32": "cas requires a result",
    f"%0 = tile.atomic cas %Cg, %Cf compare %x : {T['Cg']}, {T['Cf']} -> f32": "cas updates one element, not a whole region",
    f"%0 = tile.atomic cas %Cg[%i, %j], %x compare %h : {T['Cg']}, f32 -> f32": "use of value '%h' expects different type than prior uses: 'f32' vs 'f16'",
    f"tile.atomic add %Cg, %Cf {{width = 3 : i64}} : {T['Cg']}, {T['Cf']}": "width must be 1, 2 or 4, got 3",
    f"tile.atomic add %Cg[%i, %j], %x {{use_tma}} : {T['Cg']}, f32": "use_tma updates whole regions, not one element",
}

STRUCTURE = {
    f"tile.kernel (%a, %b, %c, %d) in (1, 1, 1, 1) {BODY}": "the grid must have 1 to 3 dimensions, got 4",
    f"tile.kernel (%a) in (1, 2) {BODY}": "has 2 dimensions but its body has 1 index arguments",
    f"tile.kernel (%a) in (-1) {BODY}": "grid extents must not be negative, got -1",
    f"tile.kernel (%a) in (8) threads(0) {BODY}": "thread extents must be positive, got 0",
    f"tile.kernel (%a) in (8) threads(64, 32) {BODY}": "a block has at most 1024 threads, got 64 * 32 = 2048",
    f"tile.kernel (%a) in (8) threads(1, 1, 1, 1) {BODY}": "threads must have 1 to 3 extents, got 4",
    f"tile.kernel (%a) in (9) threads(128) cluster(2) {BODY}": "grid extent 9 is not a multiple of the cluster extent 2",
    f"tile.kernel (%a) in (8) threads(128) cluster(0) {BODY}": "cluster dimensions must be 1 to 3 positive integers, got [0]",
    f"tile.kernel (%a) in (8) threads(128) cluster(1, 2) {BODY}": "the cluster [1, 2] has more dimensions than the grid",
    f"tile.kernel (%a) in (8) {{\n  tile.kernel (%b) in (8) {BODY}\n}}": "kernels cannot be nested",
    f"tile.kernel (%a) in (8) raster #tile.raster<diagonal, 4> {BODY}": "raster order must be row or column, got 'diagonal'",
    f"tile.kernel (%a) in (8) raster #tile.raster<row, 0> {BODY}": "raster panel must have at least one row, got 0",
    f"tile.parallel () in () {BODY}": "needs at least one extent",
    f"tile.parallel (%a) in (-4) {BODY}": "an extent must not be negative, got -4",
    f"tile.parallel (%a, %b) in (4) {BODY}": "has 1 extents but its body has 2 index arguments",
    f"tile.parallel (%a) in (4) attributes {{coalesced_width = 0 : i64}} {BODY}": "coalesced_width must be positive, got 0",
    f"tile.parallel (%a) in (4) attributes {{layout = #tile.layout<(i : 8) -> (i)>}} {BODY}": "the layout is for a loop over [8], but this one is over [4]",
    f"tile.pipeline %k = 0 to 8 num_stages(-1) {BODY}": "num_stages must not be negative, got -1",
    f"tile.pipeline %k = 0 to 8 stage(0, 1) {BODY}": "stage and order must be given together, but only stage is given",
    f"tile.pipeline %k = 0 to 8 order(0, 1) {BODY}": "stage and order must be given together, but only order is given",
    f"tile.pipeline %k = 0 to 8 stage(0, 1) order(0) {BODY}": "stage has 2 entries but order has 1",
    f"tile.pipeline %k = 0 to 8 stage(0, -2) order(0, 1) {BODY}": "stage must be at least 0, or -1 for a statement scheduled elsewhere, got -2",
    f"tile.pipeline %k = 0 to 8 stage(0, 1) order(0, 0) {BODY}": "Two statements in the software pipeline cannot have the same order: order must be a permutation of 0 to 1, got [0, 0]",
    f"tile.pipeline %k = 0 to 8 stage(0, 1) order(0, 2) {BODY}": "order must be a permutation of 0 to 1, got [0, 2]",
    f"tile.pipeline %k = 0 to 8 plan #tile.pipeline_plan<stage = [0], order = [0], async = [0, 1]> {BODY}": "1 stages but 2 asynchronous groups",
    f"tile.pipeline %k = 0 to 8 plan #tile.pipeline_plan<stage = [0], order = [0], versions = [0]> {BODY}": "number of buffer versions must be at least 1, got 0",
    f"tile.persistent () in () wave 8 index %i group 8 {BODY}": "needs a domain of at least one dimension",
    f"tile.persistent (%a) in (8) wave 0 index %i group 8 {BODY}": "wave size must be at least 1, got 0",
    f"tile.persistent (%a) in (8) wave 8 index %i group 0 {BODY}": "group size must be at least 1, got 0",
    f"tile.persistent (%a) in (-1) wave 8 index %i group 1 {BODY}": "the extent of a domain must not be negative, got -1",
}


def ws(*roles: str, threads: int = 256) -> str:
    lines = "\n".join(f"  role {role} {{\n  }}" for role in roles)
    return f"tile.kernel (%a) in (8) threads({threads}) {{\n  tile.ws\n{lines}\n}}"


ROLES = {
    "tile.ws": "requires at least one role",
    ws('"a" threads(0 to 512)'): 'role "a" has threads up to 512, but the block has 256',
    ws('"a" threads(128 to 128)'): 'role "a" has the empty thread range 128 to 128',
    ws('"a" threads(-1 to 128)'): 'role "a" has the empty thread range -1 to 128',
    ws('"a" threads()'): 'role "a" has no threads',
    ws(
        '"a" threads(0 to 128)', '"b" threads(96 to 256)'
    ): 'thread 96 is in role "a" and in role "b"',
    ws(
        '"a" threads(0 to 128) registers(20)'
    ): 'role "a": register budget must be a multiple of 8 from 24 to 240, got 20',
    ws(
        '"a" threads(0 to 128) registers(100)'
    ): 'role "a": register budget must be a multiple of 8 from 24 to 240, got 100',
    'tile.ws\nrole "a" threads(0 to 1) {\n  tile.ws\n  role "b" threads(0 to 1) {\n  }\n}': "warp-specialised regions cannot be nested",
}

OTHERS = {
    "tile.sync grid barrier_id 1": "named barriers synchronise threads of one block only",
    "tile.sync barrier_id 16": "named barrier id must be 0 to 15, got 16",
    "tile.sync arrive_count 128": "arrive_count requires a barrier_id",
    "tile.sync barrier_id 1 arrive_count 100": "arrive_count must be a multiple of 32, got 100",
    'tile.extern ""() : () -> ()': "requires a function name",
    f'tile.extern "f"(%As) {{pure}} : ({T["As"]}) -> ()': "a pure call takes no buffers and no pointers",
    "%0 = tile.warp_reduce bitxor %x : f32": "bitxor requires integers, got 'f32'",
    f"%0 = tile.warp_reduce sum %As : {T['As']}": "shuffles require integers or floats, got 'memref<64x32xf16, #tile.space<shared>>'",
    "%0 = tile.shuffle xor %x, %w width 12 : f32": "width must be a power of two up to 64, got 12",
    "%0 = tile.vote ballot %p : i1": "ballot yields 'i32' or 'i64', but the result is 'i1'",
    "tile.assume %w": "use of value '%w' expects different type than prior uses: 'i1' vs 'i32'",
    "%0 = tile.alloc {a = #tile.target<abacus>} : memref<1xf32, #var>": "unknown target 'abacus', expected one of cuda, hip, tenstorrent, numpy",
}

REFUSED = {
    **ALLOCS,
    **OVERLAPS,
    **REGIONS,
    **MOVEMENT,
    **COMPUTE,
    **ATOMICS,
    **STRUCTURE,
    **ROLES,
    **OTHERS,
}


@pytest.mark.parametrize(("body", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_message(body: str, message: str):
    found = objections(body)
    assert len(found) == 1, found
    assert message in found[0]


def test_a_yield_belongs_to_a_tile_op():
    found = objections("scf.if %p {\n  tile.yield\n}")
    assert found[-1] == (
        "'tile.yield' op expects parent op to be one of "
        "'tile.kernel, tile.parallel, tile.persistent, tile.pipeline, tile.ws'"
    )


_EMPTY = "({\n^bb0(%a: index):\n  tile.yield\n})"
_SEGMENTS = "operandSegmentSizes = array<i32: 1, 1, 1, 0>"

# What only the generic form, or a careless pass, can say.
GENERIC = {
    f'"tile.parallel"() <{{static_extents = array<i64: -9223372036854775808>}}> {_EMPTY} : () -> ()': (
        "extents: 1 dynamic entries but 0 values"
    ),
    f'"tile.pipeline"(%n) <{{static_bounds = array<i64: 0, 1>}}> {_EMPTY} : (index) -> ()': (
        "bounds: 0 dynamic entries but 1 values"
    ),
    f'"tile.pipeline"() <{{static_bounds = array<i64: 0>}}> {_EMPTY} : () -> ()': (
        "takes a lower and an upper bound"
    ),
    '"tile.parallel"() <{static_extents = array<i64: 4>}> ({\n^bb0(%a: i32):\n  tile.yield\n}) : () -> ()': (
        "argument #0 of the body must be index, but got 'i32'"
    ),
    '"tile.parallel"() <{static_extents = array<i64: 4>}> ({\n}) : () -> ()': "one block",
    f'"tile.async_copy"(%RA, %As, %bars) <{{{_SEGMENTS}}}> : ({T["RA"]}, {T["As"]}, {T["bars"]}) -> ()': (
        "a barrier requires an index"
    ),
    '"tile.ws"() <{names = ["a"], thread_ranges = [array<i64: 0>]}> ({\n  tile.yield\n}) : () -> ()': (
        "thread ranges must be pairs of first and last, got [0]"
    ),
    '"tile.ws"() <{names = ["a"], thread_ranges = [array<i64: 0, 1>]}> ({\n^bb0(%a: index):\n  tile.yield\n}) : () -> ()': (
        'role "a" requires a body of one block without arguments'
    ),
    '"tile.ws"() <{names = ["a", "b"], thread_ranges = [array<i64: 0, 1>]}> ({\n  tile.yield\n}) : () -> ()': (
        "every role requires a name, threads and a body"
    ),
    f'"tile.reduce"(%Cf, %rows) <{{dim = 1 : i64, kind = "product"}}> : ({T["Cf"]}, {T["rows"]}) -> ()': (
        "attribute 'kind' failed to satisfy constraint: one of sum, prod, max, min, absmax, abssum, "
        "bitand, bitor, bitxor, any, all"
    ),
    f'"tile.reduce"(%Cf, %rows) <{{dim = 1 : i32, kind = "sum"}}> : ({T["Cf"]}, {T["rows"]}) -> ()': (
        "attribute 'dim' failed to satisfy constraint: 64-bit signless integer attribute"
    ),
    f'"tile.alloc"(%spec) <{{operandSegmentSizes = array<i32: 0, 1>}}> : ({_SPEC}) -> memref<4x4xf32, #tmem>': (
        "failed to verify that the storage_alias_spec must be in the memory space of the buffer"
    ),
}


@pytest.mark.parametrize(("body", "message"), GENERIC.items(), ids=range(len(GENERIC)))
def test_message_in_generic_form(body: str, message: str):
    found = objections(body)
    assert len(found) == 1, found
    assert message in found[0]


ACCEPTED = {
    "copy of a slice with extents of 1": f"tile.copy %RQ -> %As : {T['RQ']} -> {T['As']}",
    "copy of a run-time extent": f"tile.copy %RN -> %As : {T['RN']} -> {T['As']}",
    "copy of one element": (
        f"%0 = tile.region %A[%i, %j] [1, 1] : {T['A']} to {region('1x1')}\n"
        f"%1 = tile.alloc : memref<1xf16, #local>\n"
        f"tile.copy %0 -> %1 : {region('1x1')} -> memref<1xf16, #local>"
    ),
    "copy between integers and floats": f"tile.copy %rows -> %ints : {T['rows']} -> {T['ints']}",
    "gemm of one version": (
        f"%0 = tile.region %Vs[%i, 0, 0] [1, 64, 32] : {T['Vs']} to {region('1x64x32', 'shared')}\n"
        f"tile.gemm %0, %Bs -> %Cf : {region('1x64x32', 'shared')}, {T['Bs']} -> {T['Cf']}"
    ),
    "gemm of fragments": (f"tile.gemm %Ch, %Ch -> %Cf : {T['Ch']}, {T['Ch']} -> {T['Cf']}"),
    "gemm of both kinds of fp8": (
        "%0 = tile.alloc : memref<64x32xf8E5M2, #shared>\n"
        f"tile.gemm %q8, %0 -> %Cf {{transpose_b}} : {T['q8']}, memref<64x32xf8E5M2, #shared> -> {T['Cf']}"
    ),
    "gemm of one row": (
        "%0 = tile.alloc : memref<1x32xf16, #shared>\n%1 = tile.alloc : memref<1x64xf32, #fragment>\n"
        f"tile.gemm %0, %Bs -> %1 : memref<1x32xf16, #shared>, {T['Bs']} -> memref<1x64xf32, #fragment>"
    ),
    "reduction to one number": (
        "%0 = tile.alloc : memref<1xf32, #fragment>\n"
        f"tile.reduce sum %rows -> %0 dim 0 : {T['rows']} -> memref<1xf32, #fragment>"
    ),
    "region that reaches out of global memory": (
        f"%0 = tile.region %A[250, -8] [64, 32] : {T['A']} to {region('64x32')}"
    ),
    "view of other bits": f"%0 = tile.view %As : {T['As']} to memref<64x64xi8, #shared>",
    "view of packed numbers": (
        "%0 = tile.alloc : memref<64xi4, #shared>\n"
        "%1 = tile.view %0 : memref<64xi4, #shared> to memref<32xi8, #shared>"
    ),
    "stages left to warp specialisation": (
        f"tile.pipeline %k = 0 to 8 stage(-1, 0, 1) order(-1, 0, 1) {BODY}"
    ),
    "a grid of no blocks": f"tile.kernel (%a) in (0) {BODY}",
    "roles that share no thread": ws('"a" threads(0 to 32, 64 to 96)', '"b" threads(32 to 64)'),
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_accepted(body: str):
    assert objections(body) == []
