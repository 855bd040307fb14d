// RUN: tilewright-opt --merge-shared-memory %s --split-input-file | filecheck %s

#blocked = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
#s = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>
#smem = #ttg.shared_memory
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:90", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: tt.func public @one_after_the_other
  // CHECK: %[[M:.+]] = ttg.local_alloc {alignment = 1024 : i32} : () -> !ttg.memdesc<3x8192xi8, #{{.+}}, #smem, mutable>
  // CHECK: %[[A:.+]] = ttg.memdesc_reinterpret %[[M]] {tilewright.buffer = {{.+}}} : {{.+}} -> !ttg.memdesc<3x64x64xf16, #{{.+}}, #smem, mutable>
  // CHECK: %[[S:.+]] = ttg.memdesc_subslice %[[M]][0, 0] : {{.+}} -> !ttg.memdesc<1x8192xi8, #{{.+}}, #smem, mutable, 3x8192>
  // CHECK-NEXT: %[[B:.+]] = ttg.memdesc_reinterpret %[[S]] {tilewright.buffer = {{.+}}} : {{.+}} -> !ttg.memdesc<64x64xf16, #{{.+}}, #smem, mutable>
  // CHECK-NEXT: ttg.local_store %{{.+}}, %[[B]]
  // CHECK-NEXT: ttg.local_load %[[B]] : !ttg.memdesc<64x64xf16, #{{.+}}, #smem, mutable>
  // CHECK-NOT: ttg.local_alloc
  tt.func public @one_after_the_other(%p: tensor<64x64x!tt.ptr<f16>, #blocked>, %i: i32) {
    %x = arith.constant dense<1.0> : tensor<64x64xf16, #blocked>
    %a = ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #s, #smem, mutable>
    %ai = ttg.memdesc_index %a[%i] : !ttg.memdesc<3x64x64xf16, #s, #smem, mutable> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    ttg.local_store %x, %ai : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %y = ttg.local_load %ai : !ttg.memdesc<64x64xf16, #s, #smem, mutable> -> tensor<64x64xf16, #blocked>
    %b = ttg.local_alloc %y : (tensor<64x64xf16, #blocked>) -> !ttg.memdesc<64x64xf16, #s, #smem>
    %z = ttg.local_load %b : !ttg.memdesc<64x64xf16, #s, #smem> -> tensor<64x64xf16, #blocked>
    tt.store %p, %z : tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.return
  }

  // CHECK-LABEL: tt.func public @at_the_same_time
  // CHECK-COUNT-2: ttg.local_alloc : () -> !ttg.memdesc<64x64xf16
  // CHECK-NOT: memdesc_reinterpret
  tt.func public @at_the_same_time(%p: tensor<64x64x!tt.ptr<f16>, #blocked>) {
    %x = arith.constant dense<1.0> : tensor<64x64xf16, #blocked>
    %a = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %b = ttg.local_alloc : () -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    ttg.local_store %x, %a : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    ttg.local_store %x, %b : tensor<64x64xf16, #blocked> -> !ttg.memdesc<64x64xf16, #s, #smem, mutable>
    %y = ttg.local_load %a : !ttg.memdesc<64x64xf16, #s, #smem, mutable> -> tensor<64x64xf16, #blocked>
    %z = ttg.local_load %b : !ttg.memdesc<64x64xf16, #s, #smem, mutable> -> tensor<64x64xf16, #blocked>
    tt.store %p, %y : tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.store %p, %z : tensor<64x64x!tt.ptr<f16>, #blocked>
    tt.return
  }
}

// -----

#linear = #ttg.linear<{register = [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane = [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp = [[32, 0], [64, 0]], block = []}>
#tm = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>
module attributes {"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.target = "cuda:100", "ttg.threads-per-warp" = 32 : i32} {
  // CHECK-LABEL: tt.func public @columns
  // CHECK: %[[M:.+]] = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xi32, #{{.+}}, #ttng.tensor_memory, mutable>
  // CHECK: ttg.memdesc_reinterpret %[[M]] {tilewright.buffer = {{.+}}} : {{.+}} -> !ttg.memdesc<128x64xf32
  // CHECK: ttg.memdesc_reinterpret %[[M]] {tilewright.buffer = {{.+}}} : {{.+}} -> !ttg.memdesc<128x64xf32
  // CHECK: ttng.tmem_store
  // CHECK-NOT: ttng.tmem_alloc
  tt.func public @columns(%p: tensor<128x64x!tt.ptr<f32>, #linear>) {
    %x = arith.constant dense<1.0> : tensor<128x64xf32, #linear>
    %true = arith.constant true
    %a = ttng.tmem_alloc : () -> !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>
    ttng.tmem_store %x, %a, %true : tensor<128x64xf32, #linear> -> !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>
    %y = ttng.tmem_load %a : !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #linear>
    %b = ttng.tmem_alloc %y : (tensor<128x64xf32, #linear>) -> !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable>
    %z = ttng.tmem_load %b : !ttg.memdesc<128x64xf32, #tm, #ttng.tensor_memory, mutable> -> tensor<128x64xf32, #linear>
    tt.store %p, %z : tensor<128x64x!tt.ptr<f32>, #linear>
    tt.return
  }
}
