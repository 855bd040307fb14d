// RUN: tilewright-opt -merge-guards %s | filecheck %s

#l = #tile.space<local>

// CHECK-LABEL: func.func @neighbours
// CHECK:         arith.addi
// CHECK-NEXT:    scf.if %{{.*}} {
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      memref.store
// CHECK-NEXT:    }
// CHECK-NEXT:    gpu.barrier
// CHECK-NEXT:    scf.if
func.func @neighbours(%c: i1, %x: f32, %m: memref<8xf32, #l>, %i: index) {
  scf.if %c {
    memref.store %x, %m[%i] : memref<8xf32, #l>
  }
  %j = arith.addi %i, %i : index
  scf.if %c {
    memref.store %x, %m[%j] : memref<8xf32, #l>
  }
  gpu.barrier
  scf.if %c {
    memref.store %x, %m[%i] : memref<8xf32, #l>
  }
  func.return
}

// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: scf.if
func.func @others(%c: i1, %d: i1, %x: f32, %m: memref<8xf32, #l>, %i: index) {
  scf.if %c {
    memref.store %x, %m[%i] : memref<8xf32, #l>
  }
  scf.if %d {
    memref.store %x, %m[%i] : memref<8xf32, #l>
  }
  func.return
}
