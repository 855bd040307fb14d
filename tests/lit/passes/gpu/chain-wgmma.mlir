// RUN: tilewright-opt -chain-wgmma -split-input-file %s | filecheck %s

// MMAs of one GEMM go on with its accumulators: all but the last are issued with the next one. The
// first forgets what the accumulators held.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @one_gemm
// CHECK:         nv.wgmma {{.*}} scale_d {{.*}} {nv.chained}
// CHECK:         nv.wgmma {{.*}} {nv.chained}
// CHECK:         nv.wgmma {{.*}} types(f16, f16) : i64
// CHECK-NEXT:    nv.wgmma.commit
func.func @one_gemm(%A: memref<8192xf16, #s>, %acc: memref<64xf32, #l>, %i: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %false = arith.constant false
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) scale_d %false : i64 -> memref<64xf32, #l>
  %j = arith.addi %i, %c16 : index
  %e = nv.matrix %A[%j] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %e, %e -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma %d, %e -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma.commit
  func.return
}

// -----

// Not chained: with a run-time scale, other accumulators, few accumulators, another kind of operand,
// or a barrier in between.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @apart
// CHECK-NOT:     nv.chained
func.func @apart(%A: memref<8192xf16, #s>, %a: memref<64xf16, #l>, %acc: memref<64xf32, #l>, %other: memref<64xf32, #l>, %small: memref<16xf32, #l>, %t: i1) {
  %c0 = arith.constant 0 : index
  %d = nv.matrix %A[%c0] swizzle(128) leading(16) stride(1024) : memref<8192xf16, #s>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) scale_d %t : i64 -> memref<64xf32, #l>
  nv.wgmma %d, %d -> %acc[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma %d, %d -> %other[%c0] shape [64, 128, 16] types(f16, f16) : i64 -> memref<64xf32, #l>
  nv.wgmma %a[%c0], %d -> %other[%c0] shape [64, 128, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
  nv.wgmma.commit
  nv.wgmma %a[%c0], %d -> %other[%c0] shape [64, 128, 16] types(f16, f16) : memref<64xf16, #l> -> memref<64xf32, #l>
  nv.wgmma %d, %d -> %small[%c0] shape [64, 32, 16] types(f16, f16) : i64 -> memref<16xf32, #l>
  nv.wgmma %d, %d -> %small[%c0] shape [64, 32, 16] types(f16, f16) : i64 -> memref<16xf32, #l>
  func.return
}
