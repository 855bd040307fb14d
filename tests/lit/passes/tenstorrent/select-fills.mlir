// RUN: tilewright-opt %s --split-input-file --bind-target=target=tenstorrent:sim --select-fills | filecheck %s

// What is outside of the tensor is selected after the copy, along the dimension that may leave it.

#global = #tile.space<global>
#fragment = #tile.space<fragment>
func.func @right_edge(%A: memref<64x70xf32, #global>) attributes {tile.entry} {
  %low = arith.constant -1.000000e+00 : f32
  tile.kernel (%bx, %by) in (3, 2) threads(128) {
    %t = tile.alloc "t" : memref<32x32xf32, #fragment>
    %c32 = arith.constant 32 : index
    %row = arith.muli %by, %c32 : index
    %column = arith.muli %bx, %c32 : index
    %r = tile.region %A[%row, %column] [32, 32] : memref<64x70xf32, #global> to !tile.region<32x32xf32, #global>
    tile.copy %r -> %t fill(%low) : !tile.region<32x32xf32, #global> -> memref<32x32xf32, #fragment>
  }
  func.return
}
// CHECK-LABEL: func.func @right_edge
// CHECK: [[ZERO:%.*]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: tile.copy {{%.*}} -> {{%.*}} fill([[ZERO]])
// CHECK-NEXT: tile.parallel ([[I:%.*]], [[J:%.*]]) in (32, 32) {
// CHECK: [[AT:%.*]] = arith.addi {{%.*}}, [[J]] : index
// CHECK: [[N:%.*]] = arith.constant 70 : index
// CHECK: [[IN:%.*]] = arith.cmpi slt, [[AT]], [[N]] : index
// CHECK-NOT: arith.cmpi
// CHECK: [[OLD:%.*]] = memref.load {{%.*}}{{\[}}[[I]], [[J]]]
// CHECK: [[FILL:%.*]] = arith.constant -1.000000e+00 : f32
// CHECK: [[NEW:%.*]] = arith.select [[IN]], [[OLD]], [[FILL]] : f32
// CHECK: memref.store [[NEW]], {{%.*}}{{\[}}[[I]], [[J]]]

// -----

// A row of a matrix, in a vector; the fill is an element of the buffer then.

#global = #tile.space<global>
#fragment = #tile.space<fragment>
func.func @row(%A: memref<5x70xf32, #global>) attributes {tile.entry} {
  %low = arith.constant 0xFF800000 : f32
  tile.kernel (%bx) in (5) threads(128) {
    %t = tile.alloc "t" : memref<96xf16, #fragment>
    %r = tile.region %A[%bx, 0] [1, 96] : memref<5x70xf32, #global> to !tile.region<1x96xf32, #global>
    tile.copy %r -> %t fill(%low) : !tile.region<1x96xf32, #global> -> memref<96xf16, #fragment>
  }
  func.return
}
// CHECK-LABEL: func.func @row
// CHECK: tile.parallel ([[I:%.*]]) in (96) {
// CHECK: arith.cmpi slt
// CHECK-NOT: arith.cmpi
// CHECK: arith.constant 0xFC00 : f16
// CHECK: arith.select

// -----

// Copies that fill with zero, or stay inside, are left alone.

#global = #tile.space<global>
#fragment = #tile.space<fragment>
func.func @unchanged(%A: memref<64x70xf32, #global>) attributes {tile.entry} {
  %low = arith.constant -1.000000e+00 : f32
  %zero = arith.constant 0.000000e+00 : f32
  tile.kernel (%bx) in (3) threads(128) {
    %t = tile.alloc "t" : memref<64x32xf32, #fragment>
    %c32 = arith.constant 32 : index
    %column = arith.muli %bx, %c32 : index
    %r = tile.region %A[0, %column] [64, 32] : memref<64x70xf32, #global> to !tile.region<64x32xf32, #global>
    tile.copy %r -> %t fill(%zero) : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #fragment>
    %s = tile.region %A[0, 32] [64, 32] : memref<64x70xf32, #global> to !tile.region<64x32xf32, #global>
    tile.copy %s -> %t fill(%low) : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #fragment>
  }
  func.return
}
// CHECK-LABEL: func.func @unchanged
// CHECK-NOT: tile.parallel
