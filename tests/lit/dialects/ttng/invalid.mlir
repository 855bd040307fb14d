// RUN: tilewright-opt -split-input-file -verify-diagnostics %s

#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module {
  tt.func @count(%bar: !ttg.memdesc<1xi64, #line, #smem, mutable>) {
    // expected-error @+1 {{count must be greater than or equal to 1}}
    ttng.arrive_barrier %bar, 0 : !ttg.memdesc<1xi64, #line, #smem, mutable>
    tt.return
  }
}

// -----

#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
module {
  tt.func @uninitialized() {
    // expected-error @+1 {{uninitialized alloc must have a mutable memdesc type}}
    %0 = ttng.tmem_alloc : () -> !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory>
    tt.return
  }
}

// -----

#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module {
  tt.func @local_stays_local(%bar: !ttg.memdesc<1xi64, #line, #smem, mutable>, %rank: i32) {
    // expected-error @+1 {{Invalid memory space for remote MemDesc}}
    %0 = ttng.map_to_remote_buffer %bar, %rank : !ttg.memdesc<1xi64, #line, #smem, mutable> -> !ttg.memdesc<1xi64, #line, #smem, mutable>
    tt.return
  }
}
