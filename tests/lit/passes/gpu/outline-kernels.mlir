// RUN: tilewright-opt -outline-kernels %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK: [[G:%.*]] = arith.ceildivui
// CHECK: [[N:%.*]] = memref.dim %arg1
// CHECK-NOT: memref.dim
// CHECK: simt.launch @f_kernel grid([[G]], %{{.*}}, %{{.*}}) args([[N]], %arg0, %arg1)
// CHECK-LABEL: func.func @f_kernel
// CHECK-SAME: {simt.const, simt.restrict}
// CHECK-SAME: {simt.restrict}
// CHECK-SAME: simt.kernel
// CHECK-SAME: simt.threads = 128
// CHECK: arith.constant 128
// CHECK: gpu.block_id x
// CHECK-NOT: memref.dim
func.func @f(%A: memref<?xf16, #global>, %B: memref<?xf16, #global>) {
  %c128 = arith.constant 128 : index
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?xf16, #global>
  %g = arith.ceildivui %n, %c128 : index
  tile.kernel (%bx) in (%g) threads(128) {
    %z = arith.constant 0 : index
    %extent = memref.dim %B, %z : memref<?xf16, #global>
    %again = memref.dim %B, %z : memref<?xf16, #global>
    %i = arith.addi %bx, %c128 : index
    %t = arith.addi %extent, %again : index
    %x = memref.load %A[%i] : memref<?xf16, #global>
    memref.store %x, %B[%t] : memref<?xf16, #global>
  }
  func.return
}
