// RUN: tilewright-opt -stagger-wgmma-waits -split-input-file %s | filecheck %s

// Two results: the second is waited for where it is accessed, and operands are released after that.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @two_results
// CHECK:         nv.wgmma %
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.fence
// CHECK-NEXT:    nv.wgmma %
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 1
// CHECK-NEXT:    nv.wgmma.fence_operand %arg1
// CHECK-NEXT:    memref.load %arg1
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand %arg2 {late}
// CHECK-NEXT:    nv.mbarrier.arrive
// CHECK-NEXT:    memref.load %arg2
func.func @two_results(%A: memref<8192xf16, #s>, %p: memref<64xf32, #l>, %q: memref<64xf32, #l>, %empty: memref<2x!nv.mbarrier, #b>) -> (f32, f32) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %p[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %q[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %p : memref<64xf32, #l>
  nv.wgmma.fence_operand %q : memref<64xf32, #l>
  nv.mbarrier.arrive %empty[%c0] : memref<2x!nv.mbarrier, #b>
  %x = memref.load %p[%c0] : memref<64xf32, #l>
  %y = memref.load %q[%c0] : memref<64xf32, #l>
  func.return %x, %y : f32, f32
}

// -----

// The operands are overwritten, and a barrier has one slot: nothing moves past either.

#s = #tile.space<shared>
#l = #tile.space<local>
#b = #tile.space<barrier>

// CHECK-LABEL: func.func @overwritten
// CHECK:         nv.wgmma.wait 0
// CHECK:         memref.store {{.*}}, %arg0
// CHECK:         nv.wgmma %{{.*}} -> %arg2
// CHECK-NEXT:    nv.wgmma.commit
// CHECK-NEXT:    nv.wgmma.wait 0
// CHECK-NEXT:    nv.wgmma.fence_operand %arg2 :
// CHECK-NEXT:    nv.mbarrier.arrive
func.func @overwritten(%A: memref<8192xf16, #s>, %p: memref<64xf32, #l>, %q: memref<64xf32, #l>, %empty: memref<1x!nv.mbarrier, #b>) -> f32 {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f16
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %p[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %p : memref<64xf32, #l>
  memref.store %zero, %A[%c0] : memref<8192xf16, #s>
  nv.wgmma.fence
  nv.wgmma %d, %d -> %q[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma.wait 0
  nv.wgmma.fence_operand %q : memref<64xf32, #l>
  nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #b>
  %x = memref.load %q[%c0] : memref<64xf32, #l>
  func.return %x : f32
}
