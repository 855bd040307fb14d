// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt -flavour=triton-3.6 %s | filecheck %s --check-prefixes=OLD

#row = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [64], warpsPerCTA = [4], order = [0]}>
#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#smem = #ttg.shared_memory

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "hip:gfx942", "ttg.threads-per-warp" = 64 : i32} {
  // CHECK-LABEL: tt.func @buffers
  tt.func @buffers(%p: !tt.ptr<f32>, %o: tensor<256xi32, #row>, %m: tensor<256xi1, #row>, %buffer: !ttg.memdesc<256xf32, #line, #smem, mutable>) {
    // CHECK: %[[X:.*]] = amdg.buffer_load %[[P:.*]][%[[O:.*]]], %[[M:.*]] {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_normal>} : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    // OLD: amdg.buffer_load %{{.*}}[%{{.*}}], %{{.*}} cacheModifier = cg : tensor<256xf32, #blocked>
    %x = amdg.buffer_load %p[%o], %m cacheModifier = cg : tensor<256xf32, #row>
    // CHECK: amdg.buffer_store %[[X]], %[[P]][%[[O]]] : !tt.ptr<f32> -> tensor<256xf32, #blocked>
    // OLD: amdg.buffer_store %{{.*}}, %{{.*}}[%{{.*}}] : tensor<256xf32, #blocked>
    amdg.buffer_store %x, %p[%o] : tensor<256xf32, #row>
    // CHECK: amdg.buffer_load_to_local %[[P]][%[[O]]] into %{{.*}} : !tt.ptr<f32>[tensor<256xi32, #blocked>]  -> <256xf32, #shared, #smem, mutable>
    %copy = amdg.buffer_load_to_local %p[%o] into %buffer : <f32>[tensor<256xi32, #row>]  -> <256xf32, #line, #smem, mutable>
    // CHECK: amdg.async_wait %{{.*}} {num_inst = 0 : i32}
    %done = amdg.async_wait %copy {num_inst = 0 : i32}
    // CHECK: rocdl.sched.barrier
    rocdl.sched.barrier 0
    tt.return
  }
}
