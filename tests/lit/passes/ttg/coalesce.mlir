// RUN: tilewright-opt -split-input-file -convert-triton-to-tritongpu="num-warps=4" %s | filecheck %s

// Consecutive and aligned: 16 bytes a thread, eight halves.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-LABEL: tt.func @wide
module {
  tt.func @wide(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %b = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
    %a = tt.addptr %b, %r : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
    // CHECK: tt.load %{{.*}} : tensor<1024x!tt.ptr<f16>, #blocked>
    %v = tt.load %a : tensor<1024x!tt.ptr<f16>>
    // CHECK-NOT: convert_layout
    tt.store %a, %v : tensor<1024x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// Not known to be aligned: one element a thread, neighbours next to each other.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-LABEL: tt.func @narrow
module {
  tt.func @narrow(%p: !tt.ptr<f16>) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %b = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
    %a = tt.addptr %b, %r : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
    // CHECK: tt.load
    %v = tt.load %a : tensor<1024x!tt.ptr<f16>>
    tt.store %a, %v : tensor<1024x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// Columns are consecutive in memory: the first dimension is the fast one. Only one element is
// there for each thread.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [16, 2], warpsPerCTA = [1, 4], order = [0, 1]}>
// CHECK-LABEL: tt.func @columns
module {
  tt.func @columns(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}) {
    %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
    %j = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %ie = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
    %je = tt.expand_dims %j {axis = 0 : i32} : tensor<8xi32> -> tensor<1x8xi32>
    %s = tt.splat %stride : i32 -> tensor<1x8xi32>
    %js = arith.muli %je, %s : tensor<1x8xi32>
    %ib = tt.broadcast %ie : tensor<16x1xi32> -> tensor<16x8xi32>
    %jb = tt.broadcast %js : tensor<1x8xi32> -> tensor<16x8xi32>
    %o = arith.addi %ib, %jb : tensor<16x8xi32>
    %b = tt.splat %p : !tt.ptr<f32> -> tensor<16x8x!tt.ptr<f32>>
    %a = tt.addptr %b, %o : tensor<16x8x!tt.ptr<f32>>, tensor<16x8xi32>
    // CHECK: tt.load %{{.*}} : tensor<16x8x!tt.ptr<f32>, #blocked>
    %v = tt.load %a : tensor<16x8x!tt.ptr<f32>>
    tt.store %a, %v : tensor<16x8x!tt.ptr<f32>>
    tt.return
  }
}

// -----

// Elements under one mask go together: groups of four share theirs here.

// CHECK: #blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>
// CHECK-LABEL: tt.func @masked
module {
  tt.func @masked(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 4 : i32}) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %limit = tt.splat %n : i32 -> tensor<1024xi32>
    %m = arith.cmpi slt, %r, %limit : tensor<1024xi32>
    %b = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
    %a = tt.addptr %b, %r : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
    // CHECK: tt.load
    %v = tt.load %a, %m : tensor<1024x!tt.ptr<f16>>
    tt.store %a, %v, %m : tensor<1024x!tt.ptr<f16>>
    tt.return
  }
}

// -----

// From shared memory, where columns are consecutive here: 16 bytes at once along them.

#turned = #ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>
#smem = #ttg.shared_memory
// CHECK-DAG: [[$DOWN:#.+]] = #ttg.blocked<{sizePerThread = [8, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, 4], order = [0, 1]}>
// CHECK-DAG: [[$ACROSS:#.+]] = #ttg.blocked<{sizePerThread = [1, 8], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], order = [1, 0]}>
// CHECK-LABEL: tt.func @from_shared
module {
  tt.func @from_shared(%b: !ttg.memdesc<64x64xf16, #turned, #smem, mutable>, %d: !tt.tensordesc<64x64xf16>) {
    %c0 = arith.constant 0 : i32
    // CHECK: ttg.local_load {{.*}} -> tensor<64x64xf16, [[$DOWN]]>
    %0 = ttg.local_load %b : !ttg.memdesc<64x64xf16, #turned, #smem, mutable> -> tensor<64x64xf16>
    ttg.local_store %0, %b : tensor<64x64xf16> -> !ttg.memdesc<64x64xf16, #turned, #smem, mutable>
    // CHECK: tt.descriptor_load {{.*}} -> tensor<64x64xf16, [[$ACROSS]]>
    %1 = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<64x64xf16> -> tensor<64x64xf16>
    tt.descriptor_store %d[%c0, %c0], %1 : !tt.tensordesc<64x64xf16>, tensor<64x64xf16>
    tt.return
  }
}
