// RUN: tilewright-opt -split-input-file -verify-diagnostics -tlx-propagate-layout %s

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#narrow = #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module {
  tt.func @two_users() {
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #plain, #smem, mutable>
    // expected-note @+1 {{this use requires #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>; use two buffers}}
    %0 = tlx.require_layout %b : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    // expected-error @+1 {{layout conflict: this use requires #ttg.nvmma_shared<{swizzlingByteWidth = 32, transposed = false, elementBitWidth = 16}>}}
    %1 = tlx.require_layout %b : !ttg.memdesc<64x64xf16, #plain, #smem, mutable> -> !ttg.memdesc<64x64xf16, #narrow, #smem, mutable>
    tt.return
  }
}

// -----

#plain = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>
#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module {
  tt.func @author() {
    // expected-note @+1 {{user-specified layout}}
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #tlx.user_layout<#plain>, #smem, mutable>
    // expected-error @+1 {{layout conflict: #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}> is required here}}
    %0 = tlx.require_layout %b : !ttg.memdesc<64x64xf16, #tlx.user_layout<#plain>, #smem, mutable> -> !ttg.memdesc<64x64xf16, #wide, #smem, mutable>
    tt.return
  }
}
