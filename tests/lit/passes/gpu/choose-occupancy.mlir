// RUN: tilewright-opt -choose-occupancy -split-input-file %s | filecheck %s
// RUN: tilewright-opt "-choose-occupancy=max-blocks=1" -split-input-file %s | filecheck %s --check-prefix=ONE

// ONE-NOT: simt.min_blocks = {{[2-9]}}

// Shared memory suffices for two blocks; 232 registers of a consumer for 64 + 32.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @two_blocks()
// CHECK-SAME:    simt.min_blocks = 2 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @two_blocks grid(%g, %c1, %c1)
  func.return
}
func.func @two_blocks() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// A grid of 132 blocks has one for each multiprocessor.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @small_grid()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  %c132 = arith.constant 132 : index
  simt.launch @small_grid grid(%c132, %c1, %c1)
  func.return
}
func.func @small_grid() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// One more, and two blocks share one.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @larger_grid()
// CHECK-SAME:    simt.min_blocks = 2 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  %c133 = arith.constant 133 : index
  simt.launch @larger_grid grid(%c133, %c1, %c1)
  func.return
}
func.func @larger_grid() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// Shared memory suffices for one block.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @much_memory()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @much_memory grid(%g, %c1, %c1)
  func.return
}
func.func @much_memory() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 131072 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// 208 + 32 registers are more than the 232 of a consumer if there are two blocks.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @large_fragment()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @large_fragment grid(%g, %c1, %c1)
  func.return
}
func.func @large_fragment() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<208xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<208xf32, #l>
  }
  func.return
}

// -----

// Without roles: 5 blocks of 128 threads have 96 registers each, which is 64 + 32.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @no_roles()
// CHECK-SAME:    simt.min_blocks = 5 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @no_roles grid(%g, %c1, %c1)
  func.return
}
func.func @no_roles() attributes {simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  func.return
}

// -----

// 8 blocks of 128 threads are enough, whatever registers allow.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @small_fragment()
// CHECK-SAME:    simt.min_blocks = 8 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @small_fragment grid(%g, %c1, %c1)
  func.return
}
func.func @small_fragment() attributes {simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<8xf32, #l>
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 16, 16] types(f16, f16) : i64 -> memref<8xf32, #l>
  func.return
}

// -----

// No MMA: registers are for loads in flight.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @no_mmas()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @no_mmas grid(%g, %c1, %c1)
  func.return
}
func.func @no_mmas() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    nv.fence_proxy_async
  }
  func.return
}

// -----

// The user's number stays.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @given()
// CHECK-SAME:    simt.min_blocks = 1 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @given grid(%g, %c1, %c1)
  func.return
}
func.func @given() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64, simt.min_blocks = 1 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// Registers that the user gives roles are for one block.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @given_registers()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @given_registers grid(%g, %c1, %c1)
  func.return
}
func.func @given_registers() attributes {simt.kernel, simt.threads = 256 : i64, simt.shared_bytes = 81984 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %acc = tile.alloc "acc" : memref<64xf32, #l>
  tile.ws
  role "producer" threads(0 to 128) {
    nv.setmaxnreg dec 24
    nv.fence_proxy_async
  }
  role "consumer" threads(128 to 256) {
    %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
    nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  }
  func.return
}

// -----

// Tensor memory: two blocks of 256 columns, whatever shared memory and registers allow.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @columns()
// CHECK-SAME:    simt.min_blocks = 2 
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @columns grid(%g, %c1, %c1)
  func.return
}
func.func @columns() attributes {tile.target = #tile.target<cuda, sm_100a>, simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %slot = tile.alloc "slot" : memref<1xi32, #s>
  nv.tcgen05.alloc %slot[%c0] columns(256) : memref<1xi32, #s>
  %t = memref.load %slot[%c0] : memref<1xi32, #s>
  %d = nv.tcgen05.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [128, 256, 16] types(f16, f16, f32) : i64
  func.return
}

// -----

// All columns are for one block.

#s = #tile.space<shared>

// CHECK-LABEL: func.func @all_columns()
// CHECK-NOT:     simt.min_blocks
func.func @host(%g: index) {
  %c1 = arith.constant 1 : index
  simt.launch @all_columns grid(%g, %c1, %c1)
  func.return
}
func.func @all_columns() attributes {tile.target = #tile.target<cuda, sm_100a>, simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 16384 : i64} {
  %c0 = arith.constant 0 : index
  %A = tile.alloc "A" : memref<8192xf16, #s>
  %slot = tile.alloc "slot" : memref<1xi32, #s>
  nv.tcgen05.alloc %slot[%c0] columns(512) : memref<1xi32, #s>
  %t = memref.load %slot[%c0] : memref<1xi32, #s>
  %d = nv.tcgen05.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.tcgen05.mma %d, %d -> %t kind(f16) shape [128, 256, 16] types(f16, f16, f32) : i64
  func.return
}
