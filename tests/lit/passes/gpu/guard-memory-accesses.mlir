// RUN: tilewright-opt -guard-memory-accesses %s | filecheck %s

#global = #tile.space<global>

// CHECK-LABEL: func.func @f(
// CHECK: [[T:%.*]] = gpu.thread_id x
// CHECK: [[C:%.*]] = arith.cmpi slt, [[T]], %c100
// CHECK-NEXT: [[X:%.*]] = scf.if [[C]] -> (f32) {
// CHECK-NEXT: memref.load %arg0[[[T]]]
// CHECK: } else {
// CHECK: arith.constant 0.000000e+00
// All threads are inside of B.
// CHECK: }
// CHECK-NEXT: memref.store [[X]], %arg1[[[T]]]
func.func @f(%A: memref<100xf32, #global>, %B: memref<128xf32, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %tid = gpu.thread_id x
    %x = memref.load %A[%tid] : memref<100xf32, #global>
    memref.store %x, %B[%tid] : memref<128xf32, #global>
  }
  func.return
}
