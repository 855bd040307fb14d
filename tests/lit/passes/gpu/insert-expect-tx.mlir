// RUN: tilewright-opt -insert-expect-tx %s | filecheck %s

#g = #tile.space<global>
#s = #tile.space<shared>
#b = #tile.space<barrier>

// The first barrier is told of 64 x 32 half floats. At the second the kernel announces bytes itself.
// CHECK-LABEL: func.func @kernel
// CHECK:         nv.mbarrier.expect_tx %one[%{{.*}}], 4096
// CHECK-NEXT:    tile.async_copy
// CHECK-NEXT:    nv.mbarrier.arrive_expect_tx %two[%{{.*}}], 4096
// CHECK-NEXT:    tile.async_copy
// CHECK-NOT:     nv.mbarrier.expect_tx
func.func @kernel(%A: memref<64x32xf16, #g>) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    %one = tile.alloc "one" init [128] : memref<1x!nv.mbarrier, #b>
    %two = tile.alloc "two" init [1] : memref<1x!nv.mbarrier, #b>
    %x = tile.alloc "x" : memref<64x32xf16, #s>
    %y = tile.alloc "y" : memref<64x32xf16, #s>
    tile.async_copy %A -> %x barrier %one[%c0] {instruction = "tma"} : memref<64x32xf16, #g> -> memref<64x32xf16, #s>, memref<1x!nv.mbarrier, #b>
    nv.mbarrier.arrive_expect_tx %two[%c0], 4096 : memref<1x!nv.mbarrier, #b>
    tile.async_copy %A -> %y barrier %two[%c0] {instruction = "tma"} : memref<64x32xf16, #g> -> memref<64x32xf16, #s>, memref<1x!nv.mbarrier, #b>
  }
  func.return
}
