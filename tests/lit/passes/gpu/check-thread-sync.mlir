// RUN: tilewright-opt -check-thread-sync -split-input-file -verify-diagnostics %s

#s = #tile.space<shared>

// One thread reads what another wrote; with a barrier between the two, nothing is wrong.

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @exchange(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<129xf32, #s>
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  %next = arith.addi %tid, %c1 : index
  // expected-note @+1 {{written here by thread 1: S[1]}}
  memref.store %x, %S[%tid] : memref<129xf32, #s>
  // expected-note @+2 {{both access bytes 4 to 7 of shared memory}}
  // expected-error @+1 {{data race: thread 0 reads S[1], and nothing orders it after thread 1}}
  %y = memref.load %S[%next] : memref<129xf32, #s>
  func.return
}

func.func @met(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<129xf32, #s>
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  %next = arith.addi %tid, %c1 : index
  memref.store %x, %S[%tid] : memref<129xf32, #s>
  gpu.barrier
  %y = memref.load %S[%next] : memref<129xf32, #s>
  func.return
}

// -----

// Each thread has its own elements: nobody waits for anybody.

#s = #tile.space<shared>

func.func @own_elements(%x: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %tid = gpu.thread_id x
  memref.store %x, %S[%tid] : memref<128xf32, #s>
  %y = memref.load %S[%tid] : memref<128xf32, #s>
  func.return
}

// -----

// The end of a turn meets the beginning of the next.

#s = #tile.space<shared>

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @turns(%x: f32) attributes {simt.kernel, simt.threads = 64 : i64} {
  %S = tile.alloc "S" offset 0 : memref<64xf32, #s>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c63 = arith.constant 63 : index
  %tid = gpu.thread_id x
  %other = arith.subi %c63, %tid : index
  scf.for %k = %c0 to %c4 step %c1 {
    // expected-note @+2 {{both access bytes 252 to 255 of shared memory}}
    // expected-error @+1 {{data race: thread 63 writes S[63], and nothing orders it after thread 0}}
    memref.store %x, %S[%tid] : memref<64xf32, #s>
    gpu.barrier
    // expected-note @+1 {{read here by thread 0: S[63]}}
    %y = memref.load %S[%other] : memref<64xf32, #s>
  }
  func.return
}

// -----

// What threads wrote, the copy engine reads: a barrier is not enough.

#g = #tile.space<global>
#s = #tile.space<shared>

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @store(%x: f32, %C: memref<128xf32, #g>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  // expected-note @+1 {{written here}}
  memref.store %x, %S[%tid] : memref<128xf32, #s>
  gpu.barrier
  scf.if %first {
    // expected-note @+2 {{both access bytes 0 to 511 of shared memory}}
    // expected-error @+1 {{TMA reads S[0] to [127], written by threads without an async proxy fence after it}}
    nv.bulk_store %S[%c0] -> %C[%c0] elements(128) : memref<128xf32, #s>, memref<128xf32, #g>
    nv.tma_store.commit
    nv.tma_store.wait 0
  }
  func.return
}

// -----

// Twice the bytes that come are announced: nobody is told that they are there.

#g = #tile.space<global>
#s = #tile.space<shared>
#b = #tile.space<barrier>

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @bytes(%A: memref<128xf32, #g>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %full = tile.alloc "full" init [1] offset 512 : memref<1x!nv.mbarrier, #b>
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %full[%c0], 1 : memref<1x!nv.mbarrier, #b>
    nv.fence_barrier_init
  }
  gpu.barrier
  scf.if %first {
    // expected-error @+1 {{transaction count mismatch on full[0]: 1024 B expected in this phase, 512 B completed}}
    nv.mbarrier.arrive_expect_tx %full[%c0], 1024 : memref<1x!nv.mbarrier, #b>
    // expected-note @+1 {{the last of the copies}}
    nv.bulk_load %A[%c0] -> %S[%c0] elements(128) barrier %full[%c0] : memref<128xf32, #g>, memref<128xf32, #s>, memref<1x!nv.mbarrier, #b>
  }
  // expected-note @+1 {{the block waits for phase 0 of full[0], parity 0}}
  nv.mbarrier.wait %full[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
  %y = memref.load %S[%tid] : memref<128xf32, #s>
  func.return
}

// -----

// A barrier that counts one arrival more than come; and a wait for a phase that never comes.

#b = #tile.space<barrier>

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @count() attributes {simt.kernel, simt.threads = 128 : i64} {
  %bar = tile.alloc "bar" init [129] offset 0 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    // expected-error @+1 {{bar[0] is initialised with arrive count 129, but 128 threads arrive}}
    nv.mbarrier.init %bar[%c0], 129 : memref<1x!nv.mbarrier, #b>
  }
  gpu.barrier
  nv.mbarrier.arrive %bar[%c0] : memref<1x!nv.mbarrier, #b>
  // expected-note @+1 {{the block waits for phase 0 of bar[0], parity 0}}
  nv.mbarrier.wait %bar[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
  func.return
}

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @never() attributes {simt.kernel, simt.threads = 256 : i64} {
  %bar = tile.alloc "bar" init [128] offset 0 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %bar[%c0], 128 : memref<1x!nv.mbarrier, #b>
  }
  gpu.barrier
  tile.ws
  role "producer" threads(0 to 128) {
    nv.mbarrier.arrive %bar[%c0] : memref<1x!nv.mbarrier, #b>
  }
  role "consumer" threads(128 to 256) {
    scf.for %k = %c0 to %c3 step %c1 {
      // expected-error @+1 {{deadlock: consumer, in iteration 1, waits for phase 1 of bar[0], parity 1, but only 1 phase completes}}
      nv.mbarrier.wait %bar[%c0], %k : memref<1x!nv.mbarrier, #b>, index
    }
  }
  func.return
}

// -----

// Only the run knows where the access goes.

#g = #tile.space<global>
#s = #tile.space<shared>

func.func @by_data(%x: f32, %I: memref<128xi32, #g>) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<128xf32, #s>
  %tid = gpu.thread_id x
  %i = memref.load %I[%tid] : memref<128xi32, #g>
  %at = arith.index_cast %i : i32 to index
  // expected-remark @+1 {{races not analysed for this write: whether it executes, or its address, is a run-time value}}
  memref.store %x, %S[%at] : memref<128xf32, #s>
  func.return
}

// -----

// Only the run knows whether threads meet: what follows is a guess, and not told.

#s = #tile.space<shared>

func.func @met_by_data(%x: f32, %y: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %S = tile.alloc "S" offset 0 : memref<129xf32, #s>
  %c1 = arith.constant 1 : index
  %tid = gpu.thread_id x
  %next = arith.addi %tid, %c1 : index
  %less = arith.cmpf olt, %x, %y : f32
  memref.store %x, %S[%tid] : memref<129xf32, #s>
  // expected-remark @+1 {{synchronisation not analysed: this branch or trip count is a run-time value}}
  scf.if %less {
  } else {
    gpu.barrier
  }
  %z = memref.load %S[%next] : memref<129xf32, #s>
  func.return
}

// -----

// The last turns of a long loop have the indices that they have: this one waits for a turn too many.

#b = #tile.space<barrier>

// expected-note @+1 {{found in block (0, 0, 0) of (1, 1, 1)}}
func.func @last_turn() attributes {simt.kernel, simt.threads = 256 : i64} {
  %full = tile.alloc "full" init [128, 128] offset 0 : memref<2x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c999 = arith.constant 999 : index
  %c1000 = arith.constant 1000 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %full[%c0], 128 : memref<2x!nv.mbarrier, #b>
    nv.mbarrier.init %full[%c1], 128 : memref<2x!nv.mbarrier, #b>
  }
  gpu.barrier
  tile.ws
  role "producer" threads(0 to 128) {
    scf.for %k = %c0 to %c1000 step %c1 {
      %slot = arith.remui %k, %c2 : index
      nv.mbarrier.arrive %full[%slot] : memref<2x!nv.mbarrier, #b>
      // expected-note @+1 {{producer, in iteration 999, waits for 256 threads on barrier 1}}
      nv.bar sync 1, 256
    }
  }
  role "consumer" threads(128 to 256) {
    scf.for %k = %c0 to %c1000 step %c1 {
      %last = arith.cmpi eq, %k, %c999 : index
      %turn = arith.select %last, %c1000, %k : index
      %slot = arith.remui %turn, %c2 : index
      %round = arith.divui %turn, %c2 : index
      %parity = arith.remui %round, %c2 : index
      // expected-error @+1 {{deadlock: consumer, in iteration 999, waits for phase 500 of full[0], parity 0, but only 500 phases complete}}
      nv.mbarrier.wait %full[%slot], %parity : memref<2x!nv.mbarrier, #b>, index
      nv.bar sync 1, 256
    }
  }
  func.return
}

// -----

// Roles one after the other: whoever has none goes on.

#b = #tile.space<barrier>

func.func @one_after_the_other() attributes {simt.kernel, simt.threads = 256 : i64} {
  %bar = tile.alloc "bar" init [128] offset 0 : memref<1x!nv.mbarrier, #b>
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    nv.mbarrier.init %bar[%c0], 128 : memref<1x!nv.mbarrier, #b>
  }
  gpu.barrier
  tile.ws custom
  role "consumer" threads(128 to 256) {
    nv.mbarrier.wait %bar[%c0], %c0 : memref<1x!nv.mbarrier, #b>, index
  }
  tile.ws custom
  role "producer" threads(0 to 128) {
    nv.mbarrier.arrive %bar[%c0] : memref<1x!nv.mbarrier, #b>
  }
  func.return
}
