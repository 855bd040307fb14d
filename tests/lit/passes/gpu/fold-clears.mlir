// RUN: tilewright-opt -fold-clears %s | filecheck %s

#f = #tile.space<fragment>
#s = #tile.space<shared>

// CHECK-LABEL: func.func @cleared
// CHECK-NOT:     tile.fill
// CHECK:         tile.gemm {{.*}} {clear}
func.func @cleared(%a: memref<64x32xf16, #s>, %b: memref<32x64xf16, #s>) {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<64x64xf32, #f>
    %zero = arith.constant 0.0 : f32
    tile.fill %c, %zero : memref<64x64xf32, #f>, f32
    tile.gemm %a, %b -> %c : memref<64x32xf16, #s>, memref<32x64xf16, #s> -> memref<64x64xf32, #f>
  }
  func.return
}

// A value that is not zero, and a product in a loop, which adds up over its turns.

// CHECK-LABEL: func.func @kept
// CHECK-COUNT-2: tile.fill
func.func @kept(%a: memref<64x32xf16, #s>, %b: memref<32x64xf16, #s>, %n: index) {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<64x64xf32, #f>
    %d = tile.alloc "d" : memref<64x64xf32, #f>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.fill %c, %one : memref<64x64xf32, #f>, f32
    tile.gemm %a, %b -> %c : memref<64x32xf16, #s>, memref<32x64xf16, #s> -> memref<64x64xf32, #f>
    tile.fill %d, %zero : memref<64x64xf32, #f>, f32
    scf.for %k = %c0 to %n step %c1 {
      tile.gemm %a, %b -> %d : memref<64x32xf16, #s>, memref<32x64xf16, #s> -> memref<64x64xf32, #f>
    }
  }
  func.return
}

// Cleared on one side of a choice: the product is told which side it was.

// CHECK-LABEL: func.func @chosen
// CHECK:         %[[NOT:.*]] = arith.xori %[[P:.*]], %{{.*}} : i1
// CHECK-NEXT:    scf.if %[[P]] {
// CHECK-NEXT:      tile.fill
// CHECK-NOT:       tile.fill
// CHECK:         tile.gemm {{.*}} clear_if %[[NOT]]
func.func @chosen(%a: memref<64x32xf16, #s>, %b: memref<32x64xf16, #s>, %p: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<64x64xf32, #f>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    scf.if %p {
      tile.fill %c, %one : memref<64x64xf32, #f>, f32
    } else {
      tile.fill %c, %zero : memref<64x64xf32, #f>, f32
    }
    tile.gemm %a, %b -> %c : memref<64x32xf16, #s>, memref<32x64xf16, #s> -> memref<64x64xf32, #f>
  }
  func.return
}

// Somebody looks at what was cleared before the product comes.

// CHECK-LABEL: func.func @looked_at
// CHECK-COUNT-2: tile.fill
// CHECK-NOT:     clear_if
func.func @looked_at(%a: memref<64x32xf16, #s>, %b: memref<32x64xf16, #s>, %d: memref<64x64xf32, #s>, %p: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    %c = tile.alloc "c" : memref<64x64xf32, #f>
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    scf.if %p {
      tile.fill %c, %one : memref<64x64xf32, #f>, f32
    } else {
      tile.fill %c, %zero : memref<64x64xf32, #f>, f32
      tile.copy %c -> %d : memref<64x64xf32, #f> -> memref<64x64xf32, #s>
    }
    tile.gemm %a, %b -> %c : memref<64x32xf16, #s>, memref<32x64xf16, #s> -> memref<64x64xf32, #f>
  }
  func.return
}
