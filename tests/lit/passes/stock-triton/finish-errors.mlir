// RUN: tilewright-opt -split-input-file -verify-diagnostics -finish-for-stock-triton="addresses=false" %s

#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @remote(%b: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %rank: i32) {
    // expected-error @+2 {{access to another CTA of the cluster requires Triton 3.9 or later}}
    // expected-note @+1 {{earlier releases cannot pass a buffer address to inline assembly}}
    %m = ttng.map_to_remote_buffer %b, %rank : !ttg.memdesc<1xi64, #bars, #smem, mutable> -> !ttg.memdesc<1xi64, #bars, #ttng.shared_cluster_memory, mutable>
    ttng.arrive_barrier %m, 1 : !ttg.memdesc<1xi64, #bars, #ttng.shared_cluster_memory, mutable>
    tt.return
  }
}

// -----

// What only hints is left out, with a remark; what matters is an error.

#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bars = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-warps" = 4 : i32} {
  tt.func @copies(%d: !tt.tensordesc<64x64xf16, #tile>, %to: !ttg.memdesc<64x64xf16, #tile, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #bars, #smem, mutable>, %mask: i32, %p: !tt.ptr<f16>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    // expected-remark @+1 {{prefetch not applied: stock Triton has no 'ttng.prefetch_tensormap'}}
    ttng.prefetch_tensormap %d : !tt.tensordesc<64x64xf16, #tile>
    // expected-error @+2 {{'ttng.async_tma_copy_global_to_local' has no equivalent in stock Triton}}
    // expected-note @+1 {{a multicast copy is not supported where each CTA is a program of its own}}
    ttng.async_tma_copy_global_to_local %d[%c0, %c0] %to, %bar, %true, %mask : !tt.tensordesc<64x64xf16, #tile>, !ttg.memdesc<1xi64, #bars, #smem, mutable> -> !ttg.memdesc<64x64xf16, #tile, #smem, mutable>
    tt.return
  }
}
