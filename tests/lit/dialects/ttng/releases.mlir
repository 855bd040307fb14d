// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt %s | tilewright-opt | filecheck %s
// RUN: tilewright-opt -flavour=triton-3.8 %s | filecheck %s --check-prefixes=OLD
// RUN: tilewright-opt -flavour=tlx %s | filecheck %s --check-prefixes=TLX
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

// Ops that releases and the TLX fork spell differently: all are read, one is written.

#blocked = #ttg.blocked<{sizePerThread = [1, 128], threadsPerWarp = [32, 1], warpsPerCTA = [4, 1], order = [0, 1]}>
#line = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>
#tile = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#tile_t = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory

// CHECK: #tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>
#acc = #ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>

module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: tt.func @accumulate
  tt.func @accumulate(%a: !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, %b: !ttg.memdesc<64x128xf16, #tile_t, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #line, #smem, mutable>, %both: !ttg.memdesc<2x128x128xf32, #acc, #ttng.tensor_memory, mutable>, %yes: i1, %phase: i32) -> tensor<128x128xf32, #blocked> {
    // CHECK: ttng.init_barrier %[[BAR:.*]], 1 : !ttg.memdesc<1xi64, #shared2, #smem, mutable>
    ttng.init_barrier %bar, 1 : !ttg.memdesc<1xi64, #line, #smem, mutable>
    // CHECK: %[[ACC:.*]], %[[TOKEN:.*]] = ttng.tmem_alloc : () -> (!ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable>, !ttg.async.token)
    %acc, %token = ttng.tmem_alloc : () -> (!ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>, !ttg.async.token)
    // CHECK: %[[MMA:.*]] = ttng.tc_gen5_mma %{{.*}}, %{{.*}}, %[[ACC]][%[[TOKEN]]], %[[YES:.*]], %[[YES]], %[[BAR]][%[[YES]]] {is_async} :
    %mma = ttng.tc_gen5_mma %a, %b, %acc[%token], %yes, %yes, %bar[%yes] {is_async} : !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, !ttg.memdesc<64x128xf16, #tile_t, #smem, mutable>, !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>, !ttg.memdesc<1xi64, #line, #smem, mutable>
    // CHECK: ttng.wait_barrier %[[BAR]], %{{.*}} deps %[[ACC]] :
    ttng.wait_barrier %bar, %phase deps %acc : !ttg.memdesc<1xi64, #line, #smem, mutable>, !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable>
    // CHECK: ttng.tmem_subslice %[[ACC]] {offset = 64 : i32} :
    // OLD: ttng.tmem_subslice %{{.*}} {N = 64 : i32} :
    // TLX: ttng.tmem_subslice %{{.*}} {N = 64 : i32} :
    %half = ttng.tmem_subslice %acc {N = 64 : i32} : !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable> -> !ttg.memdesc<128x64xf32, #acc, #ttng.tensor_memory, mutable, 128x128>
    // Columns of several buffers are their last dimension.
    // CHECK: ttng.tmem_subslice %{{.*}} {dim = 2 : i32, offset = 64 : i32} :
    // OLD: ttng.tmem_subslice %{{.*}} {N = 64 : i32} :
    // TLX: ttng.tmem_subslice %{{.*}} {N = 64 : i32} :
    %halves = ttng.tmem_subslice %both {N = 64 : i32} : !ttg.memdesc<2x128x128xf32, #acc, #ttng.tensor_memory, mutable> -> !ttg.memdesc<2x128x64xf32, #acc, #ttng.tensor_memory, mutable, 2x128x128>
    // CHECK: %{{.*}}, %{{.*}} = ttng.tmem_load %[[ACC]][%[[MMA]]] : !ttg.memdesc<128x128xf32, #tmem, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #blocked>
    %value, %read = ttng.tmem_load %acc[%mma] : !ttg.memdesc<128x128xf32, #acc, #ttng.tensor_memory, mutable> -> tensor<128x128xf32, #blocked>
    // CHECK: ttng.inval_barrier %[[BAR]]
    ttng.inval_barrier %bar : !ttg.memdesc<1xi64, #line, #smem, mutable>
    tt.return %value : tensor<128x128xf32, #blocked>
  }

  // CHECK-LABEL: tt.func @copies
  tt.func @copies(%desc: !tt.tensordesc<tensor<128x64xf16, #tile>>, %a: !ttg.memdesc<128x64xf16, #tile, #smem, mutable>, %bar: !ttg.memdesc<1xi64, #line, #smem, mutable>, %yes: i1, %i: i32) {
    // CHECK: ttng.cluster_arrive{{$}}
    // TLX: ttng.cluster_arrive {relaxed = false}
    ttng.cluster_arrive {relaxed = false}
    // CHECK: ttng.barrier_expect %[[BAR:.*]], 16384, %[[YES:.*]] :
    ttng.barrier_expect %bar, 16384, %yes : !ttg.memdesc<1xi64, #line, #smem, mutable>
    // CHECK: ttng.async_tma_copy_global_to_local %[[DESC:.*]][%[[I:.*]], %[[I]]] %{{.*}}, %[[BAR]], %[[YES]] {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_last>} : !tt.tensordesc<128x64xf16, #shared>
    // OLD: ttng.async_tma_copy_global_to_local %{{.*}} evictionPolicy = evict_last : !tt.tensordesc<128x64xf16, #shared>
    // TLX: ttng.async_tma_copy_global_to_local %{{.*}} evictionPolicy = evict_last : !tt.tensordesc<128x64xf16, #shared>
    ttng.async_tma_copy_global_to_local %desc[%i, %i] %a, %bar, %yes evictionPolicy = evict_last : !tt.tensordesc<tensor<128x64xf16, #tile>>, !ttg.memdesc<1xi64, #line, #smem, mutable> -> !ttg.memdesc<128x64xf16, #tile, #smem, mutable>
    // CHECK: ttng.async_tma_reduce add, %[[DESC]][%[[I]], %[[I]]] %{{.*}} :
    ttng.async_tma_reduce add, %desc[%i, %i] %a : !tt.tensordesc<tensor<128x64xf16, #tile>>, !ttg.memdesc<128x64xf16, #tile, #smem, mutable>
    // CHECK: ttng.async_tma_store_wait {pendings = 0 : i32}
    ttng.async_tma_store_wait {pendings = 0 : i32}
    tt.return
  }
}
