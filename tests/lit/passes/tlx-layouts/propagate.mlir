// RUN: tilewright-opt -split-input-file -tlx-propagate-layout %s | filecheck %s

// The allocation takes the layout that a view of it is required in; through a transposed view in a
// partition the requirement is turned back. The ops go.

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#plain_t = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
// CHECK-DAG: [[$TILE:#shared.*]] = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
// CHECK-DAG: [[$TURNED:#shared.*]] = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
// CHECK-LABEL: tt.func @turned
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @turned() {
    // CHECK: ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, [[$TILE]], #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<2x64x64xf16, #plain, #smem, mutable>
    ttg.warp_specialize(%b)
    default {
      ttg.warp_yield
    }
    // CHECK: partition0(%{{.*}}: !ttg.memdesc<2x64x64xf16, [[$TILE]], #smem, mutable>)
    partition0(%p: !ttg.memdesc<2x64x64xf16, #plain, #smem, mutable>) num_warps(4) {
      %c0 = arith.constant 0 : i32
      %v = ttg.memdesc_index %p[%c0] : !ttg.memdesc<2x64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
      // CHECK: %[[T:.*]] = ttg.memdesc_trans {{.*}} -> !ttg.memdesc<64x64xf16, [[$TURNED]], #smem, mutable>
      %t = ttg.memdesc_trans %v {order = array<i32: 1, 0>} : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #plain_t, #smem, mutable>
      // CHECK-NOT: tlx.require_layout
      %r = tlx.require_layout %t : !ttg.memdesc<64x64xf16, #plain_t, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile_t, #smem, mutable>
      // CHECK: ttg.local_dealloc %[[T]]
      ttg.local_dealloc %r : !ttg.memdesc<64x64xf16, #tile_t, #smem, mutable>
      ttg.warp_return
    } : (!ttg.memdesc<2x64x64xf16, #plain, #smem, mutable>) -> ()
    tt.return
  }
}
