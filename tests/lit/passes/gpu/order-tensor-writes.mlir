// RUN: tilewright-opt --order-tensor-writes %s | filecheck %s

#global = #tile.space<global>
#shared = #tile.space<shared>

// Two statements that write all of C, and one that writes what nobody wrote before.

// CHECK-LABEL: func.func @one_after_the_other
// CHECK:         tile.copy %{{.*}} -> %arg0
// CHECK-NEXT:    tile.sync
// CHECK-NEXT:    tile.copy %{{.*}} -> %arg0
// CHECK-NEXT:    tile.copy %{{.*}} -> %arg1
// CHECK-NOT:     tile.sync
func.func @one_after_the_other(%C: memref<64x32xf16, #global>, %D: memref<64x32xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    %b = tile.alloc "b" : memref<64x32xf16, #shared>
    tile.copy %a -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    tile.copy %b -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    tile.copy %b -> %D : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
  }
  func.return
}

// Parts that lie apart.

// CHECK-LABEL: func.func @apart
// CHECK-NOT:     tile.sync
func.func @apart(%C: memref<64x32xf16, #global>) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32x32xf16, #shared>
    %top = tile.region %C[0, 0] [32, 32] : memref<64x32xf16, #global> to !tile.region<32x32xf16, #global>
    tile.copy %a -> %top : memref<32x32xf16, #shared> -> !tile.region<32x32xf16, #global>
    %rest = tile.region %C[32, 0] [32, 32] : memref<64x32xf16, #global> to !tile.region<32x32xf16, #global>
    tile.copy %a -> %rest : memref<32x32xf16, #shared> -> !tile.region<32x32xf16, #global>
  }
  func.return
}

// In a loop the second one is followed by the first one, in the next turn.

// CHECK-LABEL: func.func @in_turns
// CHECK:         scf.for
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.copy
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.copy
// CHECK-NEXT:    }
func.func @in_turns(%C: memref<64x32xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    %b = tile.alloc "b" : memref<64x32xf16, #shared>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %a -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
      tile.copy %b -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    }
  }
  func.return
}

// One statement in a loop deals its elements out in every turn alike.

// CHECK-LABEL: func.func @one_in_a_loop
// CHECK-NOT:     tile.sync
func.func @one_in_a_loop(%C: memref<64x32xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    scf.for %k = %c0 to %n step %c1 {
      tile.copy %a -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    }
  }
  func.return
}

// In a role only its threads synchronise.

// CHECK-LABEL: func.func @in_a_role
// CHECK:         tile.copy %{{.*}} -> %arg0
// CHECK-NEXT:    tile.sync {nv.role_barrier}
// CHECK-NEXT:    tile.copy %{{.*}} -> %arg0
// CHECK-NOT:     tile.sync
func.func @in_a_role(%C: memref<64x32xf16, #global>, %D: memref<64x32xf16, #global>) {
  tile.kernel (%bx) in (1) threads(256) {
    %a = tile.alloc "a" : memref<64x32xf16, #shared>
    %b = tile.alloc "b" : memref<64x32xf16, #shared>
    tile.ws
    role "one" threads(0 to 128) {
      tile.copy %a -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
      tile.copy %b -> %C : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    }
    role "other" threads(128 to 256) {
      tile.copy %b -> %D : memref<64x32xf16, #shared> -> memref<64x32xf16, #global>
    }
  }
  func.return
}

// Iterations whose parts overlap at other elements need a barrier; those that lie apart do not.

// CHECK-LABEL: func.func @shifted_by_less_than_a_part
// CHECK:         scf.for
// CHECK-NEXT:      tile.region
// CHECK-NEXT:      tile.sync
// CHECK-NEXT:      tile.copy
// CHECK-NEXT:    }
func.func @shifted_by_less_than_a_part(%C: memref<256xf16, #global>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32xf16, #shared>
    scf.for %k = %c0 to %c8 step %c1 {
      %part = tile.region %C[%k] [32] : memref<256xf16, #global> to !tile.region<32xf16, #global>
      tile.copy %a -> %part : memref<32xf16, #shared> -> !tile.region<32xf16, #global>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @in_steps_of_a_part
// CHECK-NOT:     tile.sync
func.func @in_steps_of_a_part(%C: memref<256xf16, #global>) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %c256 = arith.constant 256 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<32xf16, #shared>
    scf.for %k = %c0 to %c256 step %c32 {
      %part = tile.region %C[%k] [32] : memref<256xf16, #global> to !tile.region<32xf16, #global>
      tile.copy %a -> %part : memref<32xf16, #shared> -> !tile.region<32xf16, #global>
    }
  }
  func.return
}

// CHECK-LABEL: func.func @elements_between_each_other
// CHECK-NOT:     tile.sync
func.func @elements_between_each_other(%C: memref<256xi32, #global>, %v: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.kernel (%bx) in (1) threads(64) {
    scf.for %k = %c0 to %c4 step %c1 {
      tile.parallel (%i) in (64) {
        %row = arith.muli %i, %c4 : index
        %at = arith.addi %row, %k : index
        memref.store %v, %C[%at] : memref<256xi32, #global>
      }
    }
  }
  func.return
}

// An atomic update of another tensor makes no store atomic.

// CHECK-LABEL: func.func @store_beside_an_atomic
// CHECK:         tile.parallel
// CHECK:         tile.sync
// CHECK-NEXT:    tile.parallel
func.func @store_beside_an_atomic(%C: memref<64xi32, #global>, %D: memref<64xi32, #global>, %v: i32) {
  %c63 = arith.constant 63 : index
  tile.kernel (%bx) in (1) threads(64) {
    tile.parallel (%i) in (64) {
      memref.store %v, %C[%i] : memref<64xi32, #global>
      tile.atomic add %D[%i], %v : memref<64xi32, #global>, i32
    }
    tile.parallel (%i) in (64) {
      %at = arith.subi %c63, %i : index
      memref.store %v, %C[%at] : memref<64xi32, #global>
      tile.atomic add %D[%i], %v : memref<64xi32, #global>, i32
    }
  }
  func.return
}
