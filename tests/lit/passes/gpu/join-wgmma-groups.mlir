// RUN: tilewright-opt -join-wgmma-groups -split-input-file %s | filecheck %s

// A GEMM adds to the result of another; only data is waited for in between.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @same_accumulator
// CHECK:         nv.wgmma %
// CHECK-NOT:     nv.wgmma.commit
// CHECK-NOT:     nv.wgmma.wait
// CHECK-NOT:     nv.wgmma.fence_operand
// CHECK:         nv.mbarrier.wait
// CHECK:         nv.wgmma %
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand
// CHECK-NEXT:    func.return
func.func @same_accumulator(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %full: memref<2x!nv.mbarrier, #b>, %i: index) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  nv.mbarrier.wait %full[%i], %c0 : memref<2x!nv.mbarrier, #b>, index
  nv.wgmma.fence
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  func.return
}

// -----

// Two results: both are complete after the one wait.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @two_accumulators
// CHECK:         nv.wgmma %
// CHECK-NOT:     nv.wgmma.wait
// CHECK:         nv.wgmma %
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-DAG:     nv.wgmma.fence_operand %arg1
// CHECK-DAG:     nv.wgmma.fence_operand %arg2
func.func @two_accumulators(%A: memref<8192xf16, #s>, %p: memref<64xf32, #l>, %q: memref<64xf32, #l>) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %p[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %p : memref<64xf32, #l>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %q[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %q : memref<64xf32, #l>
  func.return
}

// -----

// The release of the first operands needs the wait before it.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @released_in_between
// CHECK:         nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK:         nv.mbarrier.arrive
// CHECK:         nv.wgmma.wait 0
func.func @released_in_between(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<2x!nv.mbarrier, #b>, %i: index) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  nv.mbarrier.arrive %empty[%i] : memref<2x!nv.mbarrier, #b>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  func.return
}

// -----

// With three slots, the release of the first operands follows both.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @released_after_both
// CHECK:         nv.wgmma %
// CHECK-NOT:     nv.wgmma.wait
// CHECK-NOT:     nv.mbarrier.arrive
// CHECK:         nv.wgmma %
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK:         nv.mbarrier.arrive
// CHECK-NOT:     nv.wgmma
func.func @released_after_both(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<3x!nv.mbarrier, #b>, %i: index) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  nv.mbarrier.arrive %empty[%i] : memref<3x!nv.mbarrier, #b>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  func.return
}

// -----

// A thread reads the first result.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @read_in_between
// CHECK:         nv.wgmma.wait 0
// CHECK:         memref.load
// CHECK:         nv.wgmma.wait 0
func.func @read_in_between(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %other: memref<1xf32, #l>) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  %x = memref.load %acc[%c0] : memref<64xf32, #l>
  memref.store %x, %other[%c0] : memref<1xf32, #l>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  func.return
}

// -----

// The second GEMM waits for a copy, which the producer may start after the release only.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @copied_after_the_release
// CHECK:         nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK:         nv.mbarrier.arrive
// CHECK-NEXT:    nv.mbarrier.wait
// CHECK:         nv.wgmma.wait 0
func.func @copied_after_the_release(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %empty: memref<3x!nv.mbarrier, #b>, %full: memref<3x!nv.mbarrier, #b>, %i: index) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  nv.mbarrier.arrive %empty[%i] : memref<3x!nv.mbarrier, #b>
  nv.mbarrier.wait %full[%i], %c0 : memref<3x!nv.mbarrier, #b>, index
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %acc : memref<64xf32, #l>
  func.return
}
