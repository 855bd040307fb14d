// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering="record=false" | filecheck %s
// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering > %t.once
// RUN: tilewright-opt -split-input-file -keep-names %s --tlx-storage-alias-lowering --tlx-storage-alias-lowering > %t.twice
// RUN: diff %t.once %t.twice

// The allocation behind a region: explicit sizes, alignment, layouts with gaps. And: lowering what was
// lowered changes nothing.

// Example 20: a size of 65536 bytes is 128 columns of 128 rows.
#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
!spec = !tlx.storage_alias_spec<tmem, 65536>
module attributes {"ttg.num-warps" = 4 : i32, ttg.target = "cuda:100"} {
  // CHECK-LABEL: tt.func @explicit_size
  // CHECK: ttng.tmem_alloc : () -> !ttg.memdesc<128x128xi32
  tt.func @explicit_size() {
    %spec = tlx.storage_alias_spec storage = tmem, size = 65536 : !spec
    %a = tlx.storage_alias_local_alloc %spec : !spec -> !ttg.memdesc<1x128x64xf16, #tmem, #ttng.tensor_memory, mutable>
    tt.return
  }
}

// -----

// The strongest view decides about the alignment: patterns of 128, 64 and 32 bytes, or none.
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#t32 = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#t128 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
module {
  // CHECK-LABEL: tt.func @alignment
  // CHECK: %plain = ttg.local_alloc : () ->
  // CHECK: %weak = ttg.local_alloc {alignment = 256 : i32} : () ->
  // CHECK: %strong = ttg.local_alloc {alignment = 1024 : i32} : () ->
  tt.func @alignment() {
    %plain = tlx.storage_alias_spec storage = smem : !spec
    %weak = tlx.storage_alias_spec storage = smem : !spec
    %strong = tlx.storage_alias_spec storage = smem : !spec
    %a = tlx.storage_alias_local_alloc %plain : !spec -> !ttg.memdesc<2x64x64xf16, #flat, #smem, mutable>
    %b = tlx.storage_alias_local_alloc %weak : !spec -> !ttg.memdesc<2x64x16xf16, #t32, #smem, mutable>
    %c = tlx.storage_alias_local_alloc %weak : !spec -> !ttg.memdesc<2x64x64xf16, #flat, #smem, mutable>
    %d = tlx.storage_alias_local_alloc %strong : !spec -> !ttg.memdesc<2x64x16xf16, #t32, #smem, mutable>
    %e = tlx.storage_alias_local_alloc %strong : !spec -> !ttg.memdesc<2x64x64xf16, #t128, #smem, mutable>
    tt.return
  }
}

// -----

// Gaps count: rows of 64 with 8 more behind each, and FP4 padded to a byte per element.
#padded = #ttg.padded_shared<[64:+8] {order = [1, 0], shape = [64, 64]}>
#fp4 = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 8, fp4Padded = true}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#smem = #ttg.shared_memory
!spec = !tlx.storage_alias_spec<smem>
!p = !ttg.memdesc<2x64x64xf16, #padded, #smem, mutable>
!f = !ttg.memdesc<2x64x64xi8, #fp4, #smem, mutable>
module {
  // CHECK-LABEL: tt.func @gaps
  // CHECK: %one = ttg.local_alloc : () -> !ttg.memdesc<36864xi8
  // CHECK: %p = tlx.local_alias %one : {{.*}} -> !ttg.memdesc<3x64x64xf16
  // CHECK: %q = tlx.local_alias %one : {{.*}} -> !ttg.memdesc<4x64x64xf16
  // CHECK: %two = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<16384xi8
  tt.func @gaps() {
    %one = tlx.storage_alias_spec storage = smem : !spec
    %p = tlx.storage_alias_local_alloc %one : !spec -> !p
    %q = tlx.storage_alias_local_alloc %one : !spec -> !p
    %g = tlx.reuse_group(%p, %q) group_kind = distinct : (!p, !p) -> !tlx.reuse_group<distinct>
    tlx.set_buffer_overlap(%one, %g) : (!spec, !tlx.reuse_group<distinct>) -> ()
    %two = tlx.storage_alias_spec storage = smem : !spec
    %f = tlx.storage_alias_local_alloc %two : !spec -> !f
    tt.return
  }
}
