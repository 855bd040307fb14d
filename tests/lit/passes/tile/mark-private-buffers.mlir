// RUN: tilewright-opt --mark-private-buffers %s | filecheck %s

// Every turn fills "rows" before it reads them; "sum" hands what it holds to the next turn, and
// "alone" is in no loop.

#global = #tile.space<global>
#shared = #tile.space<shared>

// CHECK-LABEL: func.func @turns
// CHECK:         tile.alloc "rows" {tile.private} :
// CHECK:         tile.alloc "sum" :
// CHECK:         tile.alloc "alone" :
func.func @turns(%A: memref<64x32xf16, #global>, %B: memref<64x32xf16, #global>, %n: index) {
  tile.kernel (%bx) in (1) threads(128) {
    %rows = tile.alloc "rows" : memref<64x32xf16, #shared>
    %sum = tile.alloc "sum" : memref<64x32xf16, #shared>
    %alone = tile.alloc "alone" : memref<64x32xf16, #shared>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    tile.copy %A -> %alone : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %A -> %rows : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
      tile.copy %rows -> %B : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
      tile.copy %sum -> %B : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
      tile.copy %A -> %sum : memref<64x32xf16, #global> -> memref<64x32xf16, #shared>
    }
    tile.copy %alone -> %B : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
  }
  func.return
}
