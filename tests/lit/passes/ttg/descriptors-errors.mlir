// RUN: tilewright-opt -verify-diagnostics -assign-descriptor-layouts %s

// A descriptor swizzles in one way.

#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module {
  tt.func @disagree(%d: !tt.tensordesc<64x64xf16>, %a: !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>, %b: !ttg.memdesc<64x64xf16, #wide, #smem, mutable>) {
    %c0 = arith.constant 0 : i32
    // expected-note @+1 {{the descriptor is for this copy; use a second descriptor}}
    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %a : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
    // expected-error @+1 {{layout mismatch: copy requires #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>, descriptor has #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>}}
    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %b : !tt.tensordesc<64x64xf16>, !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    tt.return
  }
}
