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

// An update whose result is used: the safe value outside of the tensor.
// CHECK-LABEL: func.func @update(
// CHECK: [[OK:%.*]] = arith.cmpi slt, %{{.*}}, %c10
// CHECK-NEXT: [[OLD:%.*]] = scf.if [[OK]] -> (i32) {
// CHECK-NEXT: [[V:%.*]] = tile.atomic cas %{{.*}}[%{{.*}}], %arg2 compare %arg1 order acquire scope cta : memref<10xi32, #global>, i32 -> i32
// CHECK-NEXT: scf.yield [[V]] : i32
// CHECK-NEXT: } else {
// CHECK-NEXT: [[Z:%.*]] = arith.constant 0 : i32
// CHECK-NEXT: scf.yield [[Z]] : i32
// CHECK: memref.store [[OLD]]
func.func @update(%T: memref<10xi32, #global>, %a: i32, %b: i32, %O: memref<16xi32, #global>) {
  tile.kernel (%bx) in (16) threads(1) {
    %old = tile.atomic cas %T[%bx], %b compare %a order acquire scope cta : memref<10xi32, #global>, i32 -> i32
    memref.store %old, %O[%bx] : memref<16xi32, #global>
  }
  func.return
}
