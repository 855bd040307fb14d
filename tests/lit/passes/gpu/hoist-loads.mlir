// RUN: tilewright-opt -hoist-loads -split-input-file %s | filecheck %s

// All loads of an unrolled loop are issued before its first store to another shared buffer.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @before_stores
// CHECK:         %[[AHEAD:.*]] = tile.alloc "S_ahead" : memref<16xi8, #local>
// CHECK-NEXT:    scf.for %[[I:.*]] = %c0 to %c4 step %c1 {
// CHECK:           %[[FROM:.*]] = arith.addi %{{.*}}, %thread_id_x : index
// CHECK-NEXT:      arith.constant 4 : index
// CHECK-NEXT:      %[[TO:.*]] = arith.muli %[[I]], %{{.*}} : index
// CHECK-NEXT:      simt.move %S[%[[FROM]]] -> %[[AHEAD]][%[[TO]]] lanes(4)
// CHECK-NEXT:    } {tile.unroll}
// CHECK-NEXT:    scf.for %[[J:.*]] = %c0 to %c4 step %c1 {
// CHECK-NOT:       simt.move %S
// CHECK:           tile.alloc "lanes"
// CHECK:           %[[AT:.*]] = arith.muli %[[J]], %{{.*}} : index
// CHECK-NEXT:      simt.move %[[AHEAD]][%[[AT]]] -> %lanes[%c0] lanes(4)
// CHECK-NEXT:      simt.move %lanes[%c0] -> %D
func.func @before_stores() attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c128 = arith.constant 128 : index
  %S = tile.alloc "S" offset 0 : memref<512xi8, #s>
  %D = tile.alloc "D" offset 512 : memref<512xi8, #s>
  %tid = gpu.thread_id x
  scf.for %i = %c0 to %c4 step %c1 {
    %row = arith.muli %i, %c128 : index
    %from = arith.addi %row, %tid : index
    %lanes = tile.alloc "lanes" : memref<4xi8, #l>
    simt.move %S[%from] -> %lanes[%c0] lanes(4) : memref<512xi8, #s>, memref<4xi8, #l>
    simt.move %lanes[%c0] -> %D[%from] lanes(4) : memref<4xi8, #l>, memref<512xi8, #s>
  } {tile.unroll}
  func.return
}

// -----

// A function that gets registers computes.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @call
// CHECK:         memref.store %{{.*}}, %S_ahead
// CHECK:         tile.extern
func.func @call() attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %S = tile.alloc "S" offset 0 : memref<512xi32, #s>
  %D = tile.alloc "D" offset 2048 : memref<512xi32, #s>
  %v = tile.alloc "v" : memref<1xi32, #l>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %S[%i] : memref<512xi32, #s>
    memref.store %x, %v[%c0] : memref<1xi32, #l>
    %p = tile.ptr_of rw %v[%c0] : memref<1xi32, #l>
    tile.extern "decode"(%p) : (!tile.ptr<i32, #l>) -> ()
    %y = memref.load %v[%c0] : memref<1xi32, #l>
    memref.store %y, %D[%i] : memref<512xi32, #s>
  } {tile.unroll}
  func.return
}

// -----

// The buffers overlap: what is loaded may be what was stored.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @overlapping
// CHECK-NOT:     ahead
func.func @overlapping() attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %S = tile.alloc "S" offset 0 : memref<512xi8, #s>
  %D = tile.alloc "D" offset 508 : memref<512xi8, #s>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %S[%i] : memref<512xi8, #s>
    memref.store %x, %D[%i] : memref<512xi8, #s>
  } {tile.unroll}
  func.return
}

// -----

// Threads synchronise in the loop, or call a function that may; the index is loaded; the loop is not
// unrolled; too many registers.

#s = #tile.space<shared>
#l = #tile.space<local>

// CHECK-LABEL: func.func @others
// CHECK-NOT:     ahead
func.func @others() attributes {simt.kernel, simt.threads = 32 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %S = tile.alloc "S" offset 0 : memref<512xi32, #s>
  %D = tile.alloc "D" offset 2048 : memref<512xi32, #s>
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %S[%i] : memref<512xi32, #s>
    memref.store %x, %D[%i] : memref<512xi32, #s>
    gpu.barrier
  } {tile.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %S[%i] : memref<512xi32, #s>
    tile.extern "meet"(%x) : (i32) -> ()
    memref.store %x, %D[%i] : memref<512xi32, #s>
  } {tile.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %y = memref.load %D[%i] : memref<512xi32, #s>
    %at = arith.index_cast %y : i32 to index
    %x = memref.load %S[%at] : memref<512xi32, #s>
    memref.store %x, %D[%i] : memref<512xi32, #s>
  } {tile.unroll}
  scf.for %i = %c0 to %c4 step %c1 {
    %x = memref.load %S[%i] : memref<512xi32, #s>
    memref.store %x, %D[%i] : memref<512xi32, #s>
  }
  scf.for %i = %c0 to %c64 step %c1 {
    %x = memref.load %S[%i] : memref<512xi32, #s>
    memref.store %x, %D[%i] : memref<512xi32, #s>
  } {tile.unroll}
  func.return
}

// -----

// What the kernel only reads is loaded for the next iteration while MMAs are in flight, the last
// one's again at the end; the loop may have no iteration.

#s = #tile.space<shared>
#g = #tile.space<global>
#l = #tile.space<local>

// CHECK-LABEL: func.func @an_iteration_ahead
// CHECK:         %[[AHEAD:.*]] = tile.alloc "values_ahead" : memref<4xi32, #local>
// CHECK-NEXT:    %[[RUNS:.*]] = arith.cmpi slt, %c0, %arg1
// CHECK-NEXT:    scf.if %[[RUNS]] {
// CHECK:           %[[FIRST:.*]] = memref.load %arg0
// CHECK-NEXT:      memref.store %[[FIRST]], %[[AHEAD]]
// CHECK:         scf.for %[[K:.*]] = %c0 to %arg1 step %c1 {
// CHECK-NEXT:      scf.for %[[I:.*]] = %c0 to %c4 step %c1 {
// CHECK-NOT:         memref.load %arg0
// CHECK:             %[[X:.*]] = memref.load %[[AHEAD]][%[[I]]]
// CHECK-NEXT:        memref.store %[[X]], %D
// CHECK:           nv.wgmma.commit
// CHECK:           %[[NEXT:.*]] = arith.addi %[[K]], %{{.*}} : index
// CHECK-NEXT:      %[[LAST:.*]] = arith.subi %arg1, %{{.*}} : index
// CHECK-NEXT:      %[[CLAMPED:.*]] = arith.minsi %[[NEXT]], %[[LAST]] : index
// CHECK-NEXT:      scf.for
// CHECK:             arith.muli %[[CLAMPED]], %c4
// CHECK:             memref.load %arg0
// CHECK:           nv.wgmma.wait 0
func.func @an_iteration_ahead(%T: memref<512xi32, #g> {simt.const, simt.restrict}, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %D = tile.alloc "D" offset 0 : memref<512xi32, #s>
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %first = arith.muli %k, %c4 : index
      %from = arith.addi %first, %i : index
      %x = memref.load %T[%from] : memref<512xi32, #g>
      memref.store %x, %D[%i] : memref<512xi32, #s>
    } {tile.unroll}
    nv.wgmma.commit
    nv.wgmma.wait 0
  }
  func.return
}

// -----

// The kernel writes the tensor, or waits for another kernel in the loop; a loop that waits for no
// MMAs has nothing to load beside.

#s = #tile.space<shared>
#g = #tile.space<global>
#l = #tile.space<local>

// CHECK-LABEL: func.func @not_ahead
// CHECK-NOT:     ahead
func.func @not_ahead(%T: memref<512xi32, #g> {simt.const, simt.restrict}, %W: memref<512xi32, #g> {simt.restrict}, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %D = tile.alloc "D" offset 0 : memref<512xi32, #s>
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %W[%i] : memref<512xi32, #g>
      memref.store %x, %D[%i] : memref<512xi32, #s>
    } {tile.unroll}
    nv.wgmma.wait 0
  }
  scf.for %k = %c0 to %n step %c1 {
    nv.grid.wait
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %T[%i] : memref<512xi32, #g>
      memref.store %x, %D[%i] : memref<512xi32, #s>
    } {tile.unroll}
    nv.wgmma.wait 0
  }
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %T[%i] : memref<512xi32, #g>
      memref.store %x, %D[%i] : memref<512xi32, #s>
    } {tile.unroll}
    gpu.barrier
  }
  func.return
}

// -----

// Other blocks of the multiprocessor work while one waits.

#s = #tile.space<shared>
#g = #tile.space<global>

// CHECK-LABEL: func.func @several_blocks
// CHECK-NOT:     tile.alloc "values
func.func @several_blocks(%T: memref<512xi32, #g> {simt.const, simt.restrict}, %n: index) attributes {simt.kernel, simt.threads = 128 : i64, simt.min_blocks = 2 : i64} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %D = tile.alloc "D" offset 0 : memref<512xi32, #s>
  scf.for %k = %c0 to %n step %c1 {
    scf.for %i = %c0 to %c4 step %c1 {
      %x = memref.load %T[%i] : memref<512xi32, #g>
      memref.store %x, %D[%i] : memref<512xi32, #s>
    } {tile.unroll}
    nv.wgmma.wait 0
  }
  func.return
}
