// RUN: tilewright-opt -assign-descriptor-layouts %s | filecheck %s

// The copy says how the buffer is swizzled, and so says the descriptor, in partitions as well. One
// that is only stored through has the widest swizzle of its rows.

#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
// CHECK-DAG: [[$NARROW:#.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 32,
// CHECK-DAG: [[$WIDE:#.+]] = #ttg.nvmma_shared<{swizzlingByteWidth = 64,
// CHECK: tt.func @copies(%{{.*}}: !tt.tensordesc<64x64xf16, [[$NARROW]]>, %{{.*}}: !tt.tensordesc<64x32xf16, [[$WIDE]]>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @copies(%d: !tt.tensordesc<64x64xf16>, %e: !tt.tensordesc<64x32xf16>, %v: tensor<64x32xf16>, %to: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    tt.descriptor_store %e[%c0, %c0], %v : !tt.tensordesc<64x32xf16>, tensor<64x32xf16>
    ttg.warp_specialize(%d, %to, %bar)
    default {
      ttg.warp_yield
    }
    // CHECK: partition0(%{{.*}}: !tt.tensordesc<64x64xf16, [[$NARROW]]>
    partition0(%pd: !tt.tensordesc<64x64xf16>, %pto: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %pbar: !ttg.memdesc<1xi64, #bars, #smem, mutable>) num_warps(4) {
      %p0 = arith.constant 0 : i32
      %pt = arith.constant true
      ttng.async_tma_copy_global_to_local %pd[%p0, %p0] %pto, %pbar, %pt : !tt.tensordesc<64x64xf16>, !ttg.memdesc<1xi64, #bars, #smem, mutable> -> !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
      ttg.warp_return
    } : (!tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, !ttg.memdesc<1xi64, #bars, #smem, mutable>) -> ()
    tt.return
  }
}
