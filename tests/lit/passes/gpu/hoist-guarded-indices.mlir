// RUN: tilewright-opt -hoist-guarded-indices -split-input-file %s | filecheck %s

// What all iterations add to the index of a guarded update is computed before the unrolled loop.

#l = #tile.space<local>
#g = #tile.space<global>

// CHECK-LABEL: func.func @guarded
// CHECK:         %[[BLOCK:.*]] = arith.muli %{{.*}}, %c4096
// CHECK:         %[[ROW:.*]] = arith.muli %{{.*}}, %c64
// CHECK-NEXT:    %[[SUM:.*]] = arith.addi %[[BLOCK]], %[[ROW]]
// CHECK-NEXT:    %[[BASE:.*]] = nv.opaque %[[SUM]]
// CHECK-NEXT:    scf.for %[[I:.*]] = %c0 to %c4
// CHECK:           scf.if
// CHECK-NEXT:        %[[OWN:.*]] = arith.muli %{{.*}}, %c64
// CHECK-NEXT:        %[[AT:.*]] = arith.addi %[[BASE]], %[[OWN]]
// CHECK-NEXT:        nv.red_add %{{.*}}[%c0] -> %{{.*}}[%[[AT]]]
func.func @guarded(%C: memref<8192xf32, #g>, %n: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %c4096 = arith.constant 4096 : index
  %v = tile.alloc "v" : memref<2xf32, #l>
  %tid = gpu.thread_id x
  %b = gpu.block_id x
  scf.for %i = %c0 to %c4 step %c1 {
    %own = arith.muli %i, %c8 : index
    %row = arith.addi %tid, %own : index
    %inside = arith.cmpi slt, %row, %n : index
    scf.if %inside {
      %block = arith.muli %b, %c4096 : index
      %start = arith.muli %row, %c64 : index
      %at = arith.addi %block, %start : index
      nv.red_add %v[%c0] -> %C[%at] lanes(2) : memref<2xf32, #l>, memref<8192xf32, #g>
    }
  } {tile.unroll}
  func.return
}

// -----

// Without a branch around it, the compiler shares what iterations have in common by itself.

#l = #tile.space<local>
#g = #tile.space<global>

// CHECK-LABEL: func.func @unguarded
// CHECK-NOT:     nv.opaque
func.func @unguarded(%C: memref<8192xf32, #g>) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = tile.alloc "v" : memref<2xf32, #l>
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.addi %tid, %i : index
    %at = arith.muli %row, %c64 : index
    nv.red_add %v[%c0] -> %C[%at] lanes(2) : memref<2xf32, #l>, memref<8192xf32, #g>
  } {tile.unroll}
  func.return
}

// -----

// A loop that stays a loop has one branch.

#l = #tile.space<local>
#g = #tile.space<global>

// CHECK-LABEL: func.func @a_loop
// CHECK-NOT:     nv.opaque
func.func @a_loop(%C: memref<8192xf32, #g>, %n: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %v = tile.alloc "v" : memref<2xf32, #l>
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %n step %c1 {
    %row = arith.addi %tid, %i : index
    %inside = arith.cmpi slt, %row, %n : index
    scf.if %inside {
      %at = arith.muli %row, %c64 : index
      nv.red_add %v[%c0] -> %C[%at] lanes(2) : memref<2xf32, #l>, memref<8192xf32, #g>
    }
  }
  func.return
}

// -----

// A sum of which a guard skips the sequel could overflow 32 bits here.

#l = #tile.space<local>
#g = #tile.space<global>

// CHECK-LABEL: func.func @large
// CHECK-NOT:     nv.opaque
func.func @large(%C: memref<2147483647xf32, #g>, %n: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = tile.alloc "v" : memref<2xf32, #l>
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.addi %tid, %i : index
    %inside = arith.cmpi slt, %row, %n : index
    scf.if %inside {
      %at = arith.muli %row, %c64 : index
      nv.red_add %v[%c0] -> %C[%at] lanes(2) : memref<2xf32, #l>, memref<2147483647xf32, #g>
    }
  } {tile.unroll}
  func.return
}

// -----

// A divisor that is not a constant may be 0 where the guard does not hold: the quotient stays.

#l = #tile.space<local>
#g = #tile.space<global>

// CHECK-LABEL: func.func @quotient
// CHECK-NOT:     arith.divui
// CHECK:         nv.opaque
// CHECK:         scf.if
// CHECK-NEXT:      arith.divui
func.func @quotient(%C: memref<8192xf32, #g>, %n: index) attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %v = tile.alloc "v" : memref<2xf32, #l>
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c4 step %c1 {
    %inside = arith.cmpi slt, %i, %n : index
    scf.if %inside {
      %part = arith.divui %tid, %n : index
      %row = arith.addi %tid, %i : index
      %start = arith.muli %row, %c64 : index
      %at = arith.addi %part, %start : index
      nv.red_add %v[%c0] -> %C[%at] lanes(2) : memref<2xf32, #l>, memref<8192xf32, #g>
    }
  } {tile.unroll}
  func.return
}
