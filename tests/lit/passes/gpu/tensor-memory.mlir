// RUN: tilewright-opt -allocate-tensor-memory -sync-tensor-memory %s | filecheck %s

#t = #tile.space<tmem>
#s = #tile.space<shared>
#f = #tile.space<fragment>
#b = #tile.space<barrier>

// Buffers that are used one after the other share columns; those of 16 bits take half as many.
// CHECK-LABEL: func.func @columns
// CHECK: tile.kernel {{.*}}nv.tmem_columns = 128
// CHECK: %first = tile.alloc "first" {nv.accumulator, nv.column = 0 : i64}
// CHECK: %packed = tile.alloc "packed" {nv.column = 64 : i64}
// CHECK: %second = tile.alloc "second" {nv.accumulator, nv.column = 0 : i64}
func.func @columns() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  %c0 = arith.constant 0 : index
  %parity = arith.constant 0 : i32
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc : memref<128x64xbf16, #s>
    %b = tile.alloc : memref<64x64xbf16, #s>
    %first = tile.alloc "first" : memref<128x64xf32, #t>
    %packed = tile.alloc "packed" : memref<128x64xbf16, #t>
    %second = tile.alloc "second" : memref<128x64xf32, #t>
    %r = tile.alloc : memref<128x64xf32, #f>
    %p = tile.alloc : memref<128x64xbf16, #f>
    %done = tile.alloc init [1] : memref<1x!nv.mbarrier, #b>
    tile.tcgen05_gemm %a, %b -> %first barrier %done[%c0] : memref<1x!nv.mbarrier, #b> {clear} : memref<128x64xbf16, #s>, memref<64x64xbf16, #s> -> memref<128x64xf32, #t>
    nv.mbarrier.wait %done[%c0], %parity : memref<1x!nv.mbarrier, #b>, i32
    tile.copy %first -> %r : memref<128x64xf32, #t> -> memref<128x64xf32, #f>
    // What one thread issues waits for the stores of all.
    // CHECK: tile.copy %{{.*}} -> %packed
    tile.copy %p -> %packed : memref<128x64xbf16, #f> -> memref<128x64xbf16, #t>
    // CHECK-NEXT: gpu.barrier {nv.role_barrier}
    // CHECK-NEXT: tile.tcgen05_gemm %packed
    tile.tcgen05_gemm %packed, %b -> %second barrier %done[%c0] : memref<1x!nv.mbarrier, #b> {clear} : memref<128x64xbf16, #t>, memref<64x64xbf16, #s> -> memref<128x64xf32, #t>
  }
  func.return
}

// Two accumulators at the same time have columns of their own.
// CHECK-LABEL: func.func @together
// CHECK: nv.tmem_columns = 512
func.func @together() attributes {tile.target = #tile.target<cuda, sm_100a>} {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc : memref<128x64xbf16, #s>
    %b = tile.alloc : memref<64x256xbf16, #s>
    // CHECK: nv.column = 0
    %one = tile.alloc "one" : memref<128x256xf32, #t>
    // CHECK: nv.column = 256
    %two = tile.alloc "two" : memref<128x256xf32, #t>
    tile.tcgen05_gemm %a, %b -> %one {clear} : memref<128x64xbf16, #s>, memref<64x256xbf16, #s> -> memref<128x256xf32, #t>
    tile.tcgen05_gemm %a, %b -> %two {clear} : memref<128x64xbf16, #s>, memref<64x256xbf16, #s> -> memref<128x256xf32, #t>
  }
  func.return
}
