// RUN: tilewright-opt -split-input-file -verify-diagnostics %s

// expected-error @+1 {{swizzlingByteWidth must be 0, 32, 64, or 128}}
module attributes {tt.layout = #ttg.nvmma_shared<{swizzlingByteWidth = 16, transposed = false, elementBitWidth = 16}>} {
}

// -----

#rows = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [8], order = [0]}>
#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @warps(%buffer: !ttg.memdesc<256xi32, #flat, #ttg.shared_memory>) {
    // expected-error @+1 {{Layout has 8 warps per CTA, but the context requires 4 warps per CTA}}
    %0 = ttg.local_load %buffer : !ttg.memdesc<256xi32, #flat, #ttg.shared_memory> -> tensor<256xi32, #rows>
    tt.return
  }
}

// -----

#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
module {
  tt.func @immutable() {
    // expected-error @+1 {{'ttg.local_alloc' op uninitialized alloc must have a mutable memdesc type}}
    %0 = ttg.local_alloc : () -> !ttg.memdesc<256xi32, #flat, #ttg.shared_memory>
    tt.return
  }
}

// -----

module {
  tt.func @nested() {
    ttg.warp_specialize()
    default {
      // expected-error @+1 {{'ttg.warp_specialize' op cannot be nested inside another `ttg.warp_specialize` op}}
      ttg.warp_specialize()
      default {
        ttg.warp_yield
      } : () -> ()
      ttg.warp_yield
    } : () -> ()
    tt.return
  }
}

// -----

module {
  tt.func @yield(%x: i64) {
    %0 = ttg.warp_specialize()
    default {
      // expected-error @+1 {{'ttg.warp_yield' op operand #0 has type 'i64' but parent op expected 'i32'}}
      ttg.warp_yield %x : i64
    } : () -> i32
    tt.return
  }
}
