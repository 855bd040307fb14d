// RUN: tilewright-opt -unswitch-loops %s | filecheck %s

#l = #tile.space<local>

// What the condition is computed from goes in front; the marks of the loop stay.
// CHECK-LABEL: func.func @guarded
// CHECK:         %[[C:.*]] = arith.cmpi slt
// CHECK-NEXT:    scf.if %[[C]] {
// CHECK-NEXT:      scf.for %[[I:.*]] =
// CHECK-NEXT:        %[[J:.*]] = arith.addi %[[I]]
// CHECK-NEXT:        memref.store %{{.*}}, %{{.*}}[%[[J]]]
// CHECK-NEXT:      } {tile.unroll}
// CHECK-NEXT:    }
// CHECK-NEXT:    func.return
func.func @guarded(%m: memref<8xf32, #l>, %x: f32, %row: index, %rows: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %j = arith.addi %i, %c4 : index
    %inside = arith.cmpi slt, %row, %rows : index
    scf.if %inside {
      memref.store %x, %m[%j] : memref<8xf32, #l>
    }
  } {tile.unroll}
  func.return
}

// CHECK-LABEL: func.func @both_ways
// CHECK:         scf.if
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        memref.store %arg1
// CHECK-NEXT:      }
// CHECK-NEXT:    } else {
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        memref.store %arg2
// CHECK-NEXT:      }
// CHECK-NEXT:    }
func.func @both_ways(%m: memref<8xf32, #l>, %x: f32, %y: f32, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %c {
      memref.store %x, %m[%i] : memref<8xf32, #l>
    } else {
      memref.store %y, %m[%i] : memref<8xf32, #l>
    }
  }
  func.return
}

// Two loops: the branch leaves both.
// CHECK-LABEL: func.func @nested
// CHECK:         scf.if
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        scf.for
func.func @nested(%m: memref<8x8xf32, #l>, %x: f32, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      scf.if %c {
        memref.store %x, %m[%i, %j] : memref<8x8xf32, #l>
      }
    }
  }
  func.return
}

// The answer depends on the turn; on what the loop writes; something is done in any case; a
// division might trap if the loop would not run.
// CHECK-LABEL: func.func @left_alone
// CHECK:         scf.for
// CHECK-NEXT:      arith.cmpi
// CHECK-NEXT:      scf.if
// CHECK:         scf.for
// CHECK-NEXT:      memref.load
// CHECK-NEXT:      scf.if
// CHECK:         scf.for
// CHECK-NEXT:      memref.store
// CHECK-NEXT:      scf.if
// CHECK:         scf.for
// CHECK-NEXT:      arith.divui
// CHECK-NEXT:      arith.cmpi
// CHECK-NEXT:      scf.if
func.func @left_alone(%m: memref<8xf32, #l>, %f: memref<1xi1, #l>, %x: f32, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %n step %c1 {
    %turn = arith.cmpi slt, %i, %n : index
    scf.if %turn {
      memref.store %x, %m[%i] : memref<8xf32, #l>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %flag = memref.load %f[%c0] : memref<1xi1, #l>
    scf.if %flag {
      memref.store %x, %m[%i] : memref<8xf32, #l>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %m[%c0] : memref<8xf32, #l>
    scf.if %c {
      memref.store %x, %m[%i] : memref<8xf32, #l>
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    %part = arith.divui %c1, %n : index
    %some = arith.cmpi eq, %part, %c0 : index
    scf.if %some {
      memref.store %x, %m[%i] : memref<8xf32, #l>
    }
  }
  func.return
}

// Threads that answer differently must not come to different barriers: the first loop stays. All
// threads of a block give the second answer.
// CHECK-LABEL: func.func @barriers
// CHECK:         gpu.thread_id
// CHECK:         scf.for
// CHECK:           scf.if
// CHECK-NEXT:        gpu.barrier
// CHECK:         scf.if
// CHECK-NEXT:      scf.for
// CHECK-NEXT:        gpu.barrier
func.func @barriers(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = gpu.thread_id x
  %b = gpu.block_id x
  %one = arith.cmpi eq, %t, %c0 : index
  %all = arith.cmpi eq, %b, %c0 : index
  scf.for %i = %c0 to %n step %c1 {
    scf.if %one {
      gpu.barrier
    }
  }
  scf.for %i = %c0 to %n step %c1 {
    scf.if %all {
      gpu.barrier
    }
  }
  func.return
}
