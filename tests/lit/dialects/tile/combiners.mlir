// RUN: tilewright-opt %s | filecheck %s
// RUN: tilewright-opt -mlir-print-op-generic %s | tilewright-opt | filecheck %s

#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// CHECK-LABEL: func.func @argmax(
// CHECK: tile.reduce_by %v, %i -> %best, %at dim 1 : memref<64x100xf32, #fragment>, memref<64x100xi32, #fragment> -> memref<64xf32, #fragment>, memref<64x1xi32, #fragment> {
// CHECK-NEXT: ^bb0(%[[V0:.+]]: f32, %[[I0:.+]]: i32, %[[V1:.+]]: f32, %[[I1:.+]]: i32):
// CHECK-NEXT: %[[C:.+]] = arith.cmpf ogt, %[[V0]], %[[V1]] : f32
// CHECK-NEXT: %[[V:.+]] = arith.select %[[C]], %[[V0]], %[[V1]] : f32
// CHECK-NEXT: %[[I:.+]] = arith.select %[[C]], %[[I0]], %[[I1]] : i32
// CHECK-NEXT: tile.return %[[V]], %[[I]] : f32, i32
// CHECK-NEXT: }
func.func @argmax() {
  tile.kernel (%bx) in (1) threads(128) {
    %v = tile.alloc "v" : memref<64x100xf32, #fragment>
    %i = tile.alloc "i" : memref<64x100xi32, #fragment>
    %best = tile.alloc "best" : memref<64xf32, #fragment>
    %at = tile.alloc "at" : memref<64x1xi32, #fragment>
    tile.reduce_by %v, %i -> %best, %at dim 1 : memref<64x100xf32, #fragment>, memref<64x100xi32, #fragment> -> memref<64xf32, #fragment>, memref<64x1xi32, #fragment> {
    ^bb0(%v0: f32, %i0: i32, %v1: f32, %i1: i32):
      %c = arith.cmpf ogt, %v0, %v1 : f32
      %v2 = arith.select %c, %v0, %v1 : f32
      %i2 = arith.select %c, %i0, %i1 : i32
      tile.return %v2, %i2 : f32, i32
    }
  }
  func.return
}

// A scan in place, from the end; a scalar from outside takes part.
// CHECK-LABEL: func.func @scan(
// CHECK-SAME: %[[S:.+]]: f32)
// CHECK: tile.scan_by %x -> %x dim 0 reverse : memref<8x4xf32, #shared> -> memref<8x4xf32, #shared> {
// CHECK-NEXT: ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f32):
// CHECK-NEXT: %[[M:.+]] = arith.mulf %[[A]], %[[S]] : f32
// CHECK-NEXT: %[[R:.+]] = arith.addf %[[M]], %[[B]] : f32
// CHECK-NEXT: tile.return %[[R]] : f32
func.func @scan(%s: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %x = tile.alloc "x" : memref<8x4xf32, #shared>
    tile.scan_by %x -> %x dim 0 reverse : memref<8x4xf32, #shared> -> memref<8x4xf32, #shared> {
    ^bb0(%a: f32, %b: f32):
      %m = arith.mulf %a, %s : f32
      %r = arith.addf %m, %b : f32
      tile.return %r : f32
    }
  }
  func.return
}
