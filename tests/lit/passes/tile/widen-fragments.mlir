// RUN: tilewright-opt %s --widen-fragments --split-input-file --verify-diagnostics
// RUN: tilewright-opt %s --widen-fragments --split-input-file | filecheck %s

// CHECK-LABEL: func.func @eight_of_64
func.func @eight_of_64(%a: memref<64xf32, #tile.space<global>>) {
  tile.kernel (%bx) in (4) threads(128) {
    // CHECK: tile.alloc : memref<64xf32, #fragment>
    // expected-note @+1 {{declare it as T.alloc_fragment([64], ...)}}
    %f = tile.alloc : memref<8xf32, #tile.space<fragment>>
    tile.parallel (%i) in (64) {
      %v = memref.load %a[%i] : memref<64xf32, #tile.space<global>>
      // expected-warning @+1 {{has 8 elements, but 64 are accessed: it is allocated with 64}}
      memref.store %v, %f[%i] : memref<8xf32, #tile.space<fragment>>
    }
  }
  func.return
}

// -----

// A condition keeps the accesses inside.
// CHECK-LABEL: func.func @guarded
func.func @guarded(%a: memref<64xf32, #tile.space<global>>) {
  tile.kernel (%bx) in (4) threads(128) {
    // CHECK: tile.alloc : memref<8xf32, #fragment>
    %f = tile.alloc : memref<8xf32, #tile.space<fragment>>
    %c8 = arith.constant 8 : index
    tile.parallel (%i) in (64) {
      %inside = arith.cmpi slt, %i, %c8 : index
      scf.if %inside {
        %v = memref.load %a[%i] : memref<64xf32, #tile.space<global>>
        memref.store %v, %f[%i] : memref<8xf32, #tile.space<fragment>>
      }
    }
  }
  func.return
}
