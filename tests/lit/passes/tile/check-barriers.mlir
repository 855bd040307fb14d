// RUN: tilewright-opt %s --keep-names --check-barriers --split-input-file --verify-diagnostics

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// One slot, handed to and fro.
func.func @right(%A: memref<?x64xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64x64xf16, #shared>
    %full = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
    %empty = tile.alloc "empty" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "loader" threads(0 to 128) {
      scf.for %k = %c0 to %n step %c1 {
        %p = arith.remui %k, %c2 : index
        %q = arith.xori %p, %c1 : index
        nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #barrier>, index
        nv.mbarrier.arrive_expect_tx %full[%c0], 8192 : memref<1x!nv.mbarrier, #barrier>
        %r = tile.region %A[%k, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
        tile.async_copy %r -> %s barrier %full[%c0] {instruction = "tma"} : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
      }
    }
    role "user" threads(128 to 256) {
      %f = tile.alloc "f" : memref<64x64xf16, #tile.space<fragment>>
      scf.for %k = %c0 to %n step %c1 {
        %p = arith.remui %k, %c2 : index
        nv.mbarrier.wait %full[%c0], %p : memref<1x!nv.mbarrier, #barrier>, index
        tile.copy %s -> %f : memref<64x64xf16, #shared> -> memref<64x64xf16, #tile.space<fragment>>
        nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// Nobody waits before the slot is filled again.
func.func @overwritten(%A: memref<?x64xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<2x64x64xf16, #shared>
    %full = tile.alloc "full" init [1, 1] : memref<2x!nv.mbarrier, #barrier>
    tile.ws custom
    role "loader" threads(0 to 128) {
      scf.for %k = %c0 to %c2 step %c1 {
        nv.mbarrier.arrive_expect_tx %full[%k], 8192 : memref<2x!nv.mbarrier, #barrier>
        %r = tile.region %A[%k, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
        %slot = tile.slot %s[%c0] : memref<2x64x64xf16, #shared> to memref<64x64xf16, #shared>
        // expected-error @below {{data race: nothing orders the asynchronous write of s[0:1, 0:64, 0:64] issued by loader after the same write in an earlier iteration}}
        // expected-note @below {{help: call T.mbarrier_wait_parity(full[0], 0) before this: the asynchronous write signals full[0] when it completes}}
        tile.async_copy %r -> %slot barrier %full[%k] {instruction = "tma"} : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>, memref<2x!nv.mbarrier, #barrier>
      }
    }
    role "user" threads(128 to 256) {
      nv.mbarrier.wait %full[%c0], %c0 : memref<2x!nv.mbarrier, #barrier>, index
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// The parity does not change: from the second turn on the user does not wait, and runs ahead.
func.func @stale(%A: memref<?x64xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64x64xf16, #shared>
    %full = tile.alloc "full" init [1] : memref<1x!nv.mbarrier, #barrier>
    // expected-note @below {{the barrier is initialised here}}
    %empty = tile.alloc "empty" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "loader" threads(0 to 128) {
      scf.for %k = %c0 to %n step %c1 {
        %p = arith.remui %k, %c2 : index
        %q = arith.xori %p, %c1 : index
        // expected-error @below {{loader may miss a phase at this wait: the next phase of empty[0] may complete before the wait}}
        // expected-note @below {{help: let the roles that arrive on empty[0] wait, before the next phase, on another barrier that loader arrives on after this wait; where they do, the parity of that wait has to alternate: with the parity of a completed phase it passes at once}}
        nv.mbarrier.wait %empty[%c0], %q : memref<1x!nv.mbarrier, #barrier>, index
        nv.mbarrier.arrive_expect_tx %full[%c0], 8192 : memref<1x!nv.mbarrier, #barrier>
        %r = tile.region %A[%k, 0] [64, 64] : memref<?x64xf16, #global> to !tile.region<64x64xf16, #global>
        tile.async_copy %r -> %s barrier %full[%c0] {instruction = "tma"} : !tile.region<64x64xf16, #global> -> memref<64x64xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
      }
    }
    role "user" threads(128 to 256) {
      %f = tile.alloc "f" : memref<64x64xf16, #tile.space<fragment>>
      scf.for %k = %c0 to %n step %c1 {
        nv.mbarrier.wait %full[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
        tile.copy %s -> %f : memref<64x64xf16, #shared> -> memref<64x64xf16, #tile.space<fragment>>
        nv.mbarrier.arrive %empty[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
    }
  }
  func.return
}

// -----

#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// Both wait for the other.
func.func @deadlock() {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(256) {
    %a = tile.alloc "a" init [128] : memref<1x!nv.mbarrier, #barrier>
    %b = tile.alloc "b" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "one" threads(0 to 128) {
      // expected-error @below {{deadlock: one waits for phase 0 of a[0], where 0 of 128 arrivals occurred}}
      // expected-note @below {{help: check for a missing arrival, an arrive count that is too high, or a wrong parity}}
      nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      nv.mbarrier.arrive %b[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
    role "two" threads(128 to 256) {
      // expected-note @below {{two waits for phase 0 of b[0], where 0 of 128 arrivals occurred}}
      nv.mbarrier.wait %b[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
      nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
  }
  func.return
}

// -----

#barrier = #tile.space<barrier>

// Half of the threads arrive, and then more than there are.
func.func @counts(%n: index) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  tile.kernel (%bx) in (1) threads(256) {
    %a = tile.alloc "a" init [64] : memref<1x!nv.mbarrier, #barrier>
    // expected-note @below {{the barrier is initialised here}}
    %b = tile.alloc "b" init [64] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "one" threads(0 to 128) {
      %t = gpu.thread_id x
      %half = arith.cmpi ult, %t, %c64 : index
      scf.if %half {
        nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
      // expected-error @below {{128 arrivals on b[0] in one phase, but its arrive count is 64}}
      // expected-note @below {{help: set the arrive count of b[0] to 128, the threads of one that arrive here, or let only 64 of them arrive}}
      nv.mbarrier.arrive %b[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
    role "two" threads(128 to 256) {
      nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    }
  }
  func.return
}

// -----

#barrier = #tile.space<barrier>

// Parity 1 on a new barrier waits for nothing.
func.func @parity(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(256) {
    // expected-note @below {{the barrier is initialised here}}
    %a = tile.alloc "a" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "one" threads(0 to 128) {
      nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
    role "two" threads(128 to 256) {
      // expected-error @below {{two may miss a phase at this wait}}
      // expected-note @below {{help: use parity 0 here: a wait with parity 1 returns at once on a newly initialised barrier}}
      nv.mbarrier.wait %a[%c0], %c1 : memref<1x!nv.mbarrier, #barrier>, index
    }
  }
  func.return
}

// -----

#barrier = #tile.space<barrier>

// Two arrivals in one phase.
func.func @twice(%n: index) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(256) {
    // expected-note @below {{the barrier is initialised here}}
    %a = tile.alloc "a" init [192] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "one" threads(0 to 128) {
      nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
      // expected-error @below {{256 arrivals on a[0] in one phase, but its arrive count is 192}}
      // expected-note @below {{help: set the arrive count of a[0] to 256 if these arrivals belong to one phase; otherwise let one wait for the phase before it arrives again}}
      nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
    }
    role "two" threads(128 to 256) {
      nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#barrier = #tile.space<barrier>

// How often the loop runs depends on data that changes: not followed.
func.func @unknown(%A: memref<4xf32, #global>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  tile.kernel (%bx) in (1) threads(256) {
    %a = tile.alloc "a" init [128] : memref<1x!nv.mbarrier, #barrier>
    tile.ws custom
    role "one" threads(0 to 128) {
      %v = memref.load %A[%c0] : memref<4xf32, #global>
      %c = arith.cmpf ogt, %v, %zero : f32
      // expected-remark @below {{barriers not analysed: an integer depends on unknown values}}
      scf.if %c {
        nv.mbarrier.arrive %a[%c0] : memref<1x!nv.mbarrier, #barrier>
      }
    }
    role "two" threads(128 to 256) {
      nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#barrier = #tile.space<barrier>

// Threads that take different branches run side by side, which is not followed.
func.func @branches(%A: memref<64xf16, #global>) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64xf16, #shared>
    %a = tile.alloc "a" init [1] : memref<1x!nv.mbarrier, #barrier>
    %t = gpu.thread_id x
    %low = arith.cmpi ult, %t, %c128 : index
    scf.if %low {
      // expected-remark @below {{barriers not analysed: only some threads of a role wait here}}
      nv.mbarrier.wait %a[%c0], %c0 : memref<1x!nv.mbarrier, #barrier>, index
    } else {
      nv.mbarrier.arrive_expect_tx %a[%c0], 128 : memref<1x!nv.mbarrier, #barrier>
      tile.async_copy %A -> %s barrier %a[%c0] {instruction = "tma"} : memref<64xf16, #global> -> memref<64xf16, #shared>, memref<1x!nv.mbarrier, #barrier>
    }
  }
  func.return
}
