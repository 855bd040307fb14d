// RUN: tilewright-opt %s --raise-thread-ranges --split-input-file | filecheck %s

// Branches of whole warps that share tile operations are roles; so is what `else` leaves.
// CHECK-LABEL: func.func @three_ranges
func.func @three_ranges(%n: index) {
  tile.kernel (%bx) in (4) threads(256) {
    %s = tile.alloc : memref<64xf32, #tile.space<shared>>
    %one = arith.constant 1.0 : f32
    %c96 = arith.constant 96 : index
    %c128 = arith.constant 128 : index
    %tx = gpu.thread_id x
    %first = arith.cmpi slt, %tx, %c96 : index
    // CHECK: %[[SUM:.*]] = arith.addi
    // CHECK: tile.ws custom
    // CHECK-NEXT: role "threads0_96" threads(0 to 96) {
    // CHECK: tile.fill
    // CHECK: tile.ws custom
    // CHECK-NEXT: role "threads96_128" threads(96 to 128) {
    // CHECK: tile.ws custom
    // CHECK-NEXT: role "group1" threads(128 to 256) {
    // CHECK-NOT: scf.if
    scf.if %first {
      tile.fill %s, %one : memref<64xf32, #tile.space<shared>>, f32
    } else {
      %sum = arith.addi %n, %c96 : index
      %second = arith.cmpi ult, %tx, %c128 : index
      scf.if %second {
        memref.store %one, %s[%sum] : memref<64xf32, #tile.space<shared>>
      } else {
        tile.fill %s, %one : memref<64xf32, #tile.space<shared>>, f32
      }
    }
  }
  func.return
}

// -----

// Without tile operations each thread runs its own code, and half a warp is no role.
// CHECK-LABEL: func.func @no_roles
func.func @no_roles() {
  tile.kernel (%bx) in (4) threads(256) {
    %s = tile.alloc : memref<64xf32, #tile.space<shared>>
    %one = arith.constant 1.0 : f32
    %c32 = arith.constant 32 : index
    %c16 = arith.constant 16 : index
    %tx = gpu.thread_id x
    %warp = arith.cmpi slt, %tx, %c32 : index
    // CHECK-NOT: tile.ws
    scf.if %warp {
      memref.store %one, %s[%tx] : memref<64xf32, #tile.space<shared>>
    }
    %half = arith.cmpi slt, %tx, %c16 : index
    scf.if %half {
      tile.fill %s, %one : memref<64xf32, #tile.space<shared>>, f32
    }
  }
  func.return
}
