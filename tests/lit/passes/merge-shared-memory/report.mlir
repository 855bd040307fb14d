// RUN: tilewright-opt --merge-shared-memory="report=true" --verify-diagnostics --split-input-file %s

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // expected-remark @below {{shared memory: 8192 bytes saved, 2 buffers share 8192 bytes}}
  tt.func public @k(%d: !tt.tensordesc<64x64xf16, #s>) {
    %c0 = arith.constant 0 : i32
    %true = arith.constant true
    %x = arith.constant dense<1.0> : tensor<64x64xf16, #blocked>
    // expected-note @below {{buffer0: 8192 bytes at 0}}
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    // expected-remark @below {{buffer0 and buffer1 cannot share: buffer0 is written by ttng.async_tma_copy_global_to_local (line 21), read by ttg.local_load (line 26); buffer1 is used by ttg.local_store (line 25)}}
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    // The barrier stays beside the data.
    %m = ttg.local_alloc : () -> !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.init_barrier %m, 1 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.barrier_expect %m, 8192, %true : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.async_tma_copy_global_to_local %d[%c0, %c0] %a, %m, %true : !tt.tensordesc<64x64xf16, #s>, !ttg.memdesc<1xi64, #bar, #smem, mutable> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    ttng.wait_barrier %m, %c0 : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    ttng.inval_barrier %m : !ttg.memdesc<1xi64, #bar, #smem, mutable>
    // expected-note @below {{both are live here}}
    ttg.local_store %x, %b : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %y = ttg.local_load %a : !ttg.memdesc<64x64xf16, #s, #smem, mutable> -> tensor<64x64xf16, #blocked>
    // expected-note @below {{buffer3: 8192 bytes at 0}}
    // expected-remark @below {{buffer1 and buffer3 cannot share}}
    // expected-note @below {{both are live here}}
    %c = ttg.local_alloc %y : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #s, #smem>
    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %c : !tt.tensordesc<64x64xf16, #s>, !ttg.memdesc<64x64xf16, #s, #smem>
    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %b : !tt.tensordesc<64x64xf16, #s>, !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}

// -----

#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:86", "ttg.threads-per-warp" = 32 : i32} {
  // expected-error @below {{shared memory: 131072 bytes needed, 101376 available}}
  tt.func public @too_large(%p: tensor<64x64x!tt.ptr<f16>, #blocked>, %i: i32) {
    // expected-note @below {{buffer0: 131072 bytes at 0}}
    %a = ttg.local_alloc : () -> !ttg.memdesc<16x64x64xf16, #s, #smem, mutable>
    %ai = ttg.memdesc_index %a[%i] : !ttg.memdesc<16x64x64xf16, #s, #smem, mutable> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %y = ttg.local_load %ai : !ttg.memdesc<64x64xf16, #s, #smem, mutable> -> tensor<64x64xf16, #blocked>
    tt.store %p, %y : tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.return
  }
}
