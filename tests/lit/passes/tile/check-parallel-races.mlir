// RUN: tilewright-opt %s --keep-names --check-parallel-races --split-input-file --verify-diagnostics

#global = #tile.space<global>
#fragment = #tile.space<fragment>

// Every iteration has elements of its own: by each index standing alone, by enumeration, under any
// size. Nothing is reported.
func.func @apart(%A: memref<?x?xf32, #global>, %m: index, %n: index) {
  %c16 = arith.constant 16 : index
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (4) threads(128) {
    %f = tile.alloc "f" : memref<64x16xf32, #fragment>
    %flat = tile.alloc "flat" : memref<1024xf32, #fragment>
    %base = arith.muli %bx, %c64 : index
    tile.parallel (%i, %j) in (64, 16) {
      %r = arith.addi %base, %i : index
      %v = memref.load %A[%r, %j] : memref<?x?xf32, #global>
      %w = memref.load %f[%i, %j] : memref<64x16xf32, #fragment>
      %s = arith.addf %v, %w : f32
      memref.store %s, %f[%i, %j] : memref<64x16xf32, #fragment>
      %row = arith.muli %i, %c16 : index
      %at = arith.addi %row, %j : index
      memref.store %s, %flat[%at] : memref<1024xf32, #fragment>
    }
    tile.parallel (%i, %j) in (%m, %n) {
      %v = memref.load %A[%i, %j] : memref<?x?xf32, #global>
      memref.store %v, %A[%i, %j] : memref<?x?xf32, #global>
    }
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>

func.func @both_write(%x: f32) {
  tile.kernel (%bx) in (1) threads(128) {
    %row = tile.alloc "row" : memref<64xf32, #fragment>
    %f = tile.alloc "f" : memref<64x16xf32, #fragment>
    tile.parallel (%i, %j) in (64, 16) {
      // expected-note @below {{the read is here}}
      %v = memref.load %row[%i] : memref<64xf32, #fragment>
      %w = memref.load %f[%i, %j] : memref<64x16xf32, #fragment>
      %s = arith.addf %v, %w : f32
      // expected-error @below {{data race on row[0]: written by iterations (0, 0) and (0, 1) of the T.Parallel loop}}
      // expected-note @below {{help: combine the values with T.atomic_add, T.reduce_sum or T.alloc_reducer, or write in one iteration only}}
      // expected-error @below {{data race on row[0]: written by iteration (0, 1), read by iteration (0, 0) of the T.Parallel loop; iterations are not ordered}}
      // expected-note @below {{help: read into a fragment in one T.Parallel loop and write from it in a second one}}
      memref.store %s, %row[%i] : memref<64xf32, #fragment>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>

// A guard keeps the last iteration from meeting the first of the next tile, or does not.
func.func @shifted(%A: memref<65xf32, #global>) {
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  tile.kernel (%bx) in (2) threads(128) {
    tile.parallel (%i) in (64) {
      %next = arith.addi %i, %c1 : index
      // expected-note @below {{the read is here}}
      %v = memref.load %A[%next] : memref<65xf32, #global>
      // expected-error @below {{data race on A[1]: written by iteration 1, read by iteration 0 of the T.Parallel loop}}
      // expected-note @below {{help: read into a fragment}}
      memref.store %v, %A[%i] : memref<65xf32, #global>
    }
    tile.parallel (%i) in (64) {
      %far = arith.addi %i, %c32 : index
      %low = arith.cmpi slt, %i, %c32 : index
      scf.if %low {
        %v = memref.load %A[%far] : memref<65xf32, #global>
        memref.store %v, %A[%i] : memref<65xf32, #global>
      }
    }
  }
  func.return
}

// -----

#global = #tile.space<global>

// All iterations write one value; some write what was loaded, to where a loaded index says.
func.func @values(%A: memref<64xf32, #global>, %idx: memref<64xi32, #global>, %x: f32) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (2) threads(128) {
    tile.parallel (%i) in (64) {
      memref.store %x, %A[%c0] : memref<64xf32, #global>
    }
    tile.parallel (%i) in (64) {
      %n = memref.load %idx[%i] : memref<64xi32, #global>
      %at = arith.index_cast %n : i32 to index
      memref.store %x, %A[%at] : memref<64xf32, #global>
      // expected-remark @below {{races not analysed: the index is data-dependent}}
      %v = memref.load %A[%at] : memref<64xf32, #global>
    }
  }
  func.return
}

// -----

#fragment = #tile.space<fragment>
#local = #tile.space<local>

// Reducers are made for it, and what a thread has for itself nobody else touches.
func.func @private() {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    %r = tile.reducer.alloc "r" sum replication(all) : memref<64xf32, #fragment>
    %l = tile.alloc "l" : memref<1xf32, #local>
    tile.parallel (%i, %j) in (64, 16) {
      %v = memref.load %r[%i] : memref<64xf32, #fragment>
      %s = arith.addf %v, %v : f32
      memref.store %s, %r[%i] : memref<64xf32, #fragment>
      memref.store %s, %l[%c0] : memref<1xf32, #local>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>

// The block decides whether iterations meet: block 0 shows it.
func.func @strided(%A: memref<?xf32, #global>, %B: memref<64xf32, #global>) {
  tile.kernel (%bx) in (8) threads(128) {
    tile.parallel (%i) in (64) {
      %v = memref.load %B[%i] : memref<64xf32, #global>
      %at = arith.muli %i, %bx : index
      // expected-error @below {{data race on A[0]: written by iterations 0 and 1 of the T.Parallel loop (with bx = 0)}}
      // expected-note @below {{combine the values with}}
      memref.store %v, %A[%at] : memref<?xf32, #global>
    }
  }
  func.return
}
