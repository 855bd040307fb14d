// RUN: tilewright-opt -split-addresses -split-input-file %s | filecheck %s

// What an unrolled loop adds to the address of a copy is added to the pointer.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @gather
// CHECK:         scf.for %[[U:.*]] = %c0 to %c9
// CHECK:           %[[PART:.*]] = arith.muli %[[U]], %c64
// CHECK-NEXT:      %{{.*}} = arith.addi %[[PART]], %[[TID:.*]] : index
// CHECK-NEXT:      %[[BASE:.*]] = arith.addi %{{.*}}, %[[TID]] : index
// CHECK-NEXT:      %[[AT:.*]] = arith.addi %[[BASE]], %[[PART]]
// CHECK-NEXT:      nv.async_move %{{.*}}[%[[AT]]] -> %{{.*}} lanes(4) {nv.split}
func.func @gather(%A: memref<8192xf32, #g>, %row: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %c64 = arith.constant 64 : index
  %S = tile.alloc "S" offset 0 : memref<576xf32, #s>
  %tid = gpu.thread_id x
  scf.for %u = %c0 to %c9 step %c1 {
    %part = arith.muli %u, %c64 : index
    %column = arith.addi %part, %tid : index
    %at = arith.addi %row, %column : index
    nv.async_move %A[%at] -> %S[%column] lanes(4) : memref<8192xf32, #g>, memref<576xf32, #s>
  }
  func.return
}

// -----

// A loop that stays one, one that the user wants rolled, and an address without a loop.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @others
// CHECK-NOT:     nv.split
func.func @others(%A: memref<8192xf32, #g>, %row: index, %n: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c9 = arith.constant 9 : index
  %S = tile.alloc "S" offset 0 : memref<576xf32, #s>
  %tid = gpu.thread_id x
  scf.for %u = %c0 to %n step %c1 {
    %at = arith.addi %row, %u : index
    nv.async_move %A[%at] -> %S[%tid] lanes(1) : memref<8192xf32, #g>, memref<576xf32, #s>
  }
  scf.for %v = %c0 to %c9 step %c1 {
    %at = arith.addi %row, %v : index
    nv.async_move %A[%at] -> %S[%tid] lanes(1) : memref<8192xf32, #g>, memref<576xf32, #s>
  } {tile.unroll_factor = 1 : i64}
  %at = arith.addi %row, %tid : index
  nv.async_move %A[%at] -> %S[%tid] lanes(1) : memref<8192xf32, #g>, memref<576xf32, #s>
  func.return
}
