// RUN: tilewright-opt -check-divergent-code -split-input-file -verify-diagnostics %s

#s = #tile.space<shared>

// Each thread has its own elements: nobody waits for anybody.

func.func @own_elements(%v: f32) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64x4xf32, #s>
    %tx = gpu.thread_id x
    %few = arith.constant 48 : index
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    %four = arith.constant 4 : index
    %some = arith.cmpi slt, %tx, %few : index
    scf.if %some {
      scf.for %k = %zero to %four step %one {
        memref.store %v, %S[%tx, %k] : memref<64x4xf32, #s>
        %y = memref.load %S[%tx, %zero] : memref<64x4xf32, #s>
      }
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>

func.func @the_next_thread(%v: f32) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64xf32, #s>
    %tx = gpu.thread_id x
    %few = arith.constant 8 : index
    %one = arith.constant 1 : index
    %some = arith.cmpi slt, %tx, %few : index
    // expected-note @+1 {{the other threads do not take this branch}}
    scf.if %some {
      // expected-note @+1 {{'S' is written here}}
      memref.store %v, %S[%tx] : memref<64xf32, #s>
      %next = arith.addi %tx, %one : index
      // expected-error @+2 {{data race on S[1]: written by thread 1, read by thread 0; a block barrier is required between them, but only 8 of 64 threads reach it}}
      // expected-note @+1 {{help: end the if}}
      %y = memref.load %S[%next] : memref<64xf32, #s>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>

// One thread waits for nobody; an author's barrier is the author's; both branches count.

func.func @fine(%v: f32) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64xf32, #s>
    %tx = gpu.thread_id x
    %zero = arith.constant 0 : index
    %few = arith.constant 32 : index
    %first = arith.cmpi eq, %tx, %zero : index
    scf.if %first {
      memref.store %v, %S[%tx] : memref<64xf32, #s>
      %y = memref.load %S[%zero] : memref<64xf32, #s>
    }
    %some = arith.cmpi slt, %tx, %few : index
    scf.if %some {
      memref.store %v, %S[%tx] : memref<64xf32, #s>
      nv.bar sync 3, 32
      %last = arith.constant 31 : index
      %other = arith.subi %last, %tx : index
      %y = memref.load %S[%other] : memref<64xf32, #s>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>

func.func @between_branches(%v: f32) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64xf32, #s>
    %tx = gpu.thread_id x
    %half = arith.constant 32 : index
    %lower = arith.cmpi slt, %tx, %half : index
    // expected-note @+1 {{the other threads do not take this branch}}
    scf.if %lower {
      // expected-note @+1 {{'S' is written here}}
      memref.store %v, %S[%tx] : memref<64xf32, #s>
    } else {
      %other = arith.subi %tx, %half : index
      // expected-error @+2 {{data race on S[0]: written by thread 0, read by thread 32; a block barrier is required between them, but only 32 of 64 threads reach it}}
      // expected-note @+1 {{help}}
      %y = memref.load %S[%other] : memref<64xf32, #s>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>
#g = #tile.space<global>

func.func @by_data(%v: f32, %A: memref<64xi32, #g>) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64xf32, #s>
    %tx = gpu.thread_id x
    %zero = arith.constant 0 : i32
    %last = arith.constant 63 : index
    %flag = memref.load %A[%tx] : memref<64xi32, #g>
    %some = arith.cmpi ne, %flag, %zero : i32
    // expected-note @+1 {{the other threads do not take this branch}}
    scf.if %some {
      // expected-note @+1 {{'S' is written here}}
      memref.store %v, %S[%tx] : memref<64xf32, #s>
      %other = arith.subi %last, %tx : index
      // expected-warning @+2 {{data race on S[63]: written by thread 63, read by thread 0; a block barrier is required between them, but not all threads reach it}}
      // expected-note @+1 {{help}}
      %y = memref.load %S[%other] : memref<64xf32, #s>
    }
  }
  func.return
}

// -----

#s = #tile.space<shared>

// A tile operation is everybody's; one that all threads skip together is not.

func.func @shares_are_lost(%v: f32, %n: index) {
  tile.kernel (%x) in (1) threads(64) {
    %S = tile.alloc "S" : memref<64xf32, #s>
    %tx = gpu.thread_id x
    %few = arith.constant 32 : index
    %together = arith.cmpi slt, %n, %few : index
    scf.if %together {
      tile.parallel (%i) in (64) {
        memref.store %v, %S[%i] : memref<64xf32, #s>
      }
    }
    %some = arith.cmpi slt, %tx, %few : index
    // expected-note @+1 {{only some threads take this branch}}
    scf.if %some {
      // expected-error @+2 {{T.Parallel in a divergent branch: the work is distributed over all threads of the block, but only some of them reach it}}
      // expected-note @+1 {{help: move it out of the if}}
      tile.parallel (%i) in (64) {
        memref.store %v, %S[%i] : memref<64xf32, #s>
      }
    }
  }
  func.return
}
