// RUN: tilewright-opt %s --narrow-guarded-loops --split-input-file | filecheck %s

// Without the guard the loop would leave the fragment.
// CHECK-LABEL: func.func @upper_half
func.func @upper_half() {
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc : memref<32x64xf32, #tile.space<fragment>>
    %s = tile.alloc : memref<16x64xf32, #tile.space<shared>>
    %c16 = arith.constant 16 : index
    // CHECK: tile.parallel (%{{.*}}, %{{.*}}) in (16, 64)
    // CHECK-NOT: scf.if
    tile.parallel (%i, %j) in (32, 64) {
      %inside = arith.cmpi slt, %i, %c16 : index
      %row = arith.addi %i, %c16 : index
      scf.if %inside {
        %v = memref.load %f[%row, %j] : memref<32x64xf32, #tile.space<fragment>>
        memref.store %v, %s[%i, %j] : memref<16x64xf32, #tile.space<shared>>
      }
    }
  }
  func.return
}

// -----

// All elements exist: their owners run the loop, some of them for nothing.
// CHECK-LABEL: func.func @lower_half
func.func @lower_half() {
  tile.kernel (%bx) in (1) threads(128) {
    %f = tile.alloc : memref<32x64xf32, #tile.space<fragment>>
    %s = tile.alloc : memref<16x64xf32, #tile.space<shared>>
    %c16 = arith.constant 16 : index
    // CHECK: tile.parallel (%{{.*}}, %{{.*}}) in (32, 64)
    // CHECK: scf.if
    tile.parallel (%i, %j) in (32, 64) {
      %inside = arith.cmpi slt, %i, %c16 : index
      scf.if %inside {
        %v = memref.load %f[%i, %j] : memref<32x64xf32, #tile.space<fragment>>
        memref.store %v, %s[%i, %j] : memref<16x64xf32, #tile.space<shared>>
      }
    }
  }
  func.return
}
