// RUN: tilewright-opt %s --keep-names --check-parallel-races="certain=true" --split-input-file --verify-diagnostics

#shared = #tile.space<shared>

// Iterations meet in shared memory, whoever calls: by a constant, or in some turn of a loop, or in
// some block.
func.func @certain() {
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  tile.kernel (%bx) in (4) threads(128) {
    %s = tile.alloc "s" : memref<80xf32, #shared>
    tile.parallel (%i) in (64) {
      %next = arith.addi %i, %c1 : index
      // expected-note @below {{the read is here}}
      %v = memref.load %s[%next] : memref<80xf32, #shared>
      // expected-error @below {{data race on s[1]: written by iteration 1, read by iteration 0 of the T.Parallel loop; iterations are not ordered}}
      // expected-note @below {{help: read into a fragment}}
      memref.store %v, %s[%i] : memref<80xf32, #shared>
    }
    scf.for %k = %c1 to %c4 step %c1 {
      tile.parallel (%i) in (64) {
        %far = arith.addi %i, %k : index
        // expected-note @below {{the read is here}}
        %v = memref.load %s[%far] : memref<80xf32, #shared>
        // expected-error @below {{data race on s[1]: written by iteration 1, read by iteration 0 of the T.Parallel loop; iterations are not ordered (with k = 1)}}
        // expected-note @below {{help: read into a fragment}}
        memref.store %v, %s[%i] : memref<80xf32, #shared>
      }
    }
    tile.parallel (%i) in (64) {
      %far = arith.addi %i, %bx : index
      // expected-note @below {{the read is here}}
      %v = memref.load %s[%far] : memref<80xf32, #shared>
      // expected-error @below {{data race on s[3]: written by iteration 3, read by iteration 0 of the T.Parallel loop; iterations are not ordered (with bx = 3)}}
      // expected-note @below {{help: read into a fragment}}
      memref.store %v, %s[%i] : memref<80xf32, #shared>
    }
  }
  func.return
}

// -----

#shared = #tile.space<shared>

func.func @two_writes(%x: f32, %y: f32) {
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc "s" : memref<80xf32, #shared>
    tile.parallel (%i) in (64) {
      %next = arith.addi %i, %c1 : index
      // expected-error @below {{data race on s[1]: written by iterations 1 and 0 of the T.Parallel loop}}
      // expected-note @below {{put each of the two writes into its own T.Parallel loop}}
      memref.store %x, %s[%i] : memref<80xf32, #shared>
      // expected-note @below {{the other write is here}}
      memref.store %y, %s[%next] : memref<80xf32, #shared>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>

// Of tensors, of what only the caller or the data know, and of one statement that may write one
// value, nothing is said.
func.func @others(%A: memref<65xf32, #global>, %where: memref<64xi32, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc "s" : memref<80xf32, #shared>
    tile.parallel (%i) in (64) {
      %next = arith.addi %i, %c1 : index
      %v = memref.load %A[%next] : memref<65xf32, #global>
      memref.store %v, %A[%i] : memref<65xf32, #global>
    }
    tile.parallel (%i) in (64) {
      %far = arith.addi %i, %n : index
      %v = memref.load %s[%far] : memref<80xf32, #shared>
      memref.store %v, %s[%i] : memref<80xf32, #shared>
    }
    tile.parallel (%i) in (64) {
      %number = memref.load %where[%i] : memref<64xi32, #global>
      %far = arith.index_cast %number : i32 to index
      %v = memref.load %s[%far] : memref<80xf32, #shared>
      memref.store %v, %s[%i] : memref<80xf32, #shared>
    }
    tile.parallel (%i) in (64) {
      %v = memref.load %A[%c0] : memref<65xf32, #global>
      memref.store %v, %s[%c0] : memref<80xf32, #shared>
    }
  }
  func.return
}
