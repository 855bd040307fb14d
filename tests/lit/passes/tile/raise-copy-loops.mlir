// RUN: tilewright-opt %s --raise-copy-loops --split-input-file | filecheck %s

// CHECK-LABEL: func.func @tile
func.func @tile(%a: memref<512x256xf16, #tile.space<global>>) {
  %c128 = arith.constant 128 : index
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (4) threads(128) {
    %s = tile.alloc : memref<128x32xf16, #tile.space<shared>>
    tile.pipeline %k = 0 to 8 num_stages(2) {
      // CHECK: %[[Y:.*]] = arith.muli %{{.*}}, %{{.*}}
      // CHECK: %[[X:.*]] = arith.muli %{{.*}}, %{{.*}}
      // CHECK: %[[R:.*]] = tile.region %{{.*}}[%[[Y]], %[[X]]] [128, 32]
      // CHECK-NEXT: tile.copy %[[R]] -> %{{.*}}
      // CHECK-NOT: tile.parallel
      tile.parallel (%i, %j) in (128, 32) {
        %y = arith.muli %bx, %c128 : index
        %x = arith.muli %k, %c32 : index
        %row = arith.addi %y, %i : index
        %column = arith.addi %j, %x : index
        %v = memref.load %a[%row, %column] : memref<512x256xf16, #tile.space<global>>
        memref.store %v, %s[%i, %j] : memref<128x32xf16, #tile.space<shared>>
      }
    }
  }
  func.return
}

// -----

// A transposed tile, a stride, and part of a buffer are no copies.
// CHECK-LABEL: func.func @others
func.func @others(%a: memref<512x256xf16, #tile.space<global>>) {
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (4) threads(128) {
    %s = tile.alloc : memref<32x32xf16, #tile.space<shared>>
    tile.pipeline %k = 0 to 8 num_stages(2) {
      // CHECK-COUNT-3: tile.parallel
      // CHECK-NOT: tile.copy
      tile.parallel (%i, %j) in (32, 32) {
        %v = memref.load %a[%j, %i] : memref<512x256xf16, #tile.space<global>>
        memref.store %v, %s[%i, %j] : memref<32x32xf16, #tile.space<shared>>
      }
      tile.parallel (%i, %j) in (32, 32) {
        %row = arith.muli %i, %c2 : index
        %v = memref.load %a[%row, %j] : memref<512x256xf16, #tile.space<global>>
        memref.store %v, %s[%i, %j] : memref<32x32xf16, #tile.space<shared>>
      }
      tile.parallel (%i, %j) in (16, 32) {
        %v = memref.load %a[%i, %j] : memref<512x256xf16, #tile.space<global>>
        memref.store %v, %s[%i, %j] : memref<32x32xf16, #tile.space<shared>>
      }
    }
  }
  func.return
}
