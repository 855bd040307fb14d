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

// Extents with one name in the signature are equal, and the grid has as many blocks.
// CHECK-LABEL: func.func @named(
// CHECK: tile.kernel
// CHECK-NOT: scf.if
// CHECK: memref.load %arg1[%arg3, %{{.*}}]
// CHECK-NOT: scf.if
// C has a size of its own.
// CHECK: [[M:%.*]] = memref.dim %arg2
// CHECK: [[INSIDE:%.*]] = arith.cmpi slt, %arg3, [[M]]
// CHECK-NEXT: scf.if [[INSIDE]]
func.func @named(
    %A: memref<?x4xf32, #global> {tile.shape = ["n", 4]},
    %B: memref<?x4xf32, #global> {tile.shape = ["n", 4]},
    %C: memref<?x4xf32, #global> {tile.shape = ["m", 4]}) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?x4xf32, #global>
  tile.kernel (%bx) in (%n) threads(4) {
    %tid = gpu.thread_id x
    %x = memref.load %B[%bx, %tid] : memref<?x4xf32, #global>
    memref.store %x, %C[%bx, %tid] : memref<?x4xf32, #global>
  }
  func.return
}

// That an extent is positive is assumed, and no launch checks it.
// CHECK-LABEL: func.func @first(
// CHECK: tile.assume
// CHECK: arith.cmpi slt, %c0
// CHECK-NEXT: scf.if
func.func @first(%A: memref<?xf32, #global>, %B: memref<1xf32, #global>) {
  %c0 = arith.constant 0 : index
  %n = memref.dim %A, %c0 : memref<?xf32, #global>
  %some = arith.cmpi sgt, %n, %c0 : index
  tile.assume %some, "dimension 0 of A is greater than 0" {tile.injected}
  tile.kernel (%bx) in (1) threads(1) {
    %x = memref.load %A[%c0] : memref<?xf32, #global>
    memref.store %x, %B[%c0] : memref<1xf32, #global>
  }
  func.return
}
