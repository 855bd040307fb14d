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

// Only the index that may be outside is replaced: the rest of the address is the same for all.
// CHECK-LABEL: func.func @gathered(
// CHECK: [[LOW:%.*]] = arith.cmpi sge, [[ROW:%.*]], %c0
// CHECK: [[HIGH:%.*]] = arith.cmpi slt, [[ROW]], %c64
// CHECK: [[INSIDE:%.*]] = arith.andi [[LOW]], [[HIGH]]
// CHECK: [[VALID:%.*]] = arith.select [[INSIDE]], %c8{{[_0-9]*}}, %c0
// CHECK: [[SAFE:%.*]] = arith.select [[INSIDE]], [[ROW]], %c0
// CHECK-NEXT: nv.async_move %arg1[[[SAFE]], %{{.*}}] -> %{{.*}}[%{{.*}}] lanes(8) valid [[VALID]]
func.func @gathered(%I: memref<4xindex, #global>, %A: memref<64x8xf16, #global>) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (4) threads(1) {
    %S = tile.alloc "S" : memref<8xf16, #tile.space<shared>>
    %row = memref.load %I[%bx] : memref<4xindex, #global>
    nv.async_move %A[%row, %c0] -> %S[%c0] lanes(8) : memref<64x8xf16, #global>, memref<8xf16, #tile.space<shared>>
  }
  func.return
}

// Each index is replaced where itself is outside: one from outside of a loop stays the same in it.
// CHECK-LABEL: func.func @rows_and_depth(
// CHECK: [[ROW_IN:%.*]] = arith.cmpi slt, [[ROW:%.*]], %{{.*}} : index
// CHECK: [[DEPTH_IN:%.*]] = arith.cmpi slt, [[DEPTH:%.*]], %{{.*}} : index
// CHECK: [[BOTH:%.*]] = arith.andi [[ROW_IN]], [[DEPTH_IN]]
// CHECK: [[VALID:%.*]] = arith.select [[BOTH]], %c8{{[_0-9]*}}, %c0
// CHECK: [[SAFE_ROW:%.*]] = arith.select [[ROW_IN]], [[ROW]], %c0
// CHECK: [[SAFE_DEPTH:%.*]] = arith.select [[DEPTH_IN]], [[DEPTH]], %c0
// CHECK-NEXT: nv.async_move %{{.*}}[[[SAFE_ROW]], [[SAFE_DEPTH]]] -> %{{.*}}[%{{.*}}] lanes(8) valid [[VALID]]
func.func @rows_and_depth(%A: memref<?x?xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.kernel (%bx) in (4) threads(1) {
    %S = tile.alloc "S" : memref<8xf16, #tile.space<shared>>
    scf.for %k = %c0 to %n step %c1 {
      %depth = arith.muli %k, %c8 : index
      nv.async_move %A[%bx, %depth] -> %S[%c0] lanes(8) : memref<?x?xf16, #global>, memref<8xf16, #tile.space<shared>>
    }
  }
  func.return
}
