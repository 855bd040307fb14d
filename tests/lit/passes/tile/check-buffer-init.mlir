// RUN: tilewright-opt %s --check-buffer-init --split-input-file --verify-diagnostics

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

func.func @accumulator(%A: memref<64x64xf16, #global>, %n: index) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x64xf16, #shared>
    // expected-note @below {{acc is allocated here}}
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.pipeline %k = 0 to %n {
      tile.copy %A -> %a : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
      // expected-error @below {{uninitialised read: acc is read before it is written}}
      // expected-note @below {{help: clear it first with T.clear(acc), or pass clear_accum=True to T.gemm}}
      tile.gemm %a, %a -> %acc : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Written in front, cleared by the product itself, or by one half of two.
func.func @written(%A: memref<64x64xf16, #global>, %c: i1, %zero: f32) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x64xf16, #shared>
    %one = tile.alloc "one" : memref<64x64xf32, #fragment>
    %two = tile.alloc "two" : memref<64x64xf32, #fragment>
    %three = tile.alloc "three" : memref<64x64xf32, #fragment>
    tile.copy %A -> %a : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
    tile.fill %one, %zero : memref<64x64xf32, #fragment>, f32
    tile.gemm %a, %a -> %one : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    tile.gemm %a, %a -> %two {clear} : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    scf.if %c {
      tile.fill %three, %zero : memref<64x64xf32, #fragment>, f32
    }
    %v = memref.load %three[%c0, %c0] : memref<64x64xf32, #fragment>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// Another part was written, and the part that is read only afterwards.
func.func @parts(%x: f32, %out: memref<1xf32, #tile.space<global>>) {
  %c0 = arith.constant 0 : index
  %c40 = arith.constant 40 : index
  tile.kernel (%bx) in (1) threads(128) {
    // expected-note @below {{s is allocated here}}
    %s = tile.alloc "s" : memref<64xf32, #shared>
    %low = tile.region %s[0] [32] : memref<64xf32, #shared> to !tile.region<32xf32, #shared>
    tile.fill %low, %x : !tile.region<32xf32, #shared>, f32
    // expected-error @below {{uninitialised read: s is read before it is written}}
    // expected-note @below {{clear it first}}
    %v = memref.load %s[%c40] : memref<64xf32, #shared>
    memref.store %v, %out[%c0] : memref<1xf32, #tile.space<global>>
    // expected-note @below {{first write is here}}
    memref.store %x, %s[%c40] : memref<64xf32, #shared>
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// Under a condition: an earlier turn may have written, or nobody.
func.func @conditions(%x: f32, %c: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  tile.kernel (%bx) in (1) threads(128) {
    %s = tile.alloc "s" : memref<64xf32, #shared>
    // expected-note @below {{never is allocated here}}
    %never = tile.alloc "never" : memref<64xf32, #shared>
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        %v = memref.load %s[%c0] : memref<64xf32, #shared>
        // expected-warning @below {{uninitialised read: never is read before it is written}}
        // expected-note @below {{help: clear it first with T.clear(never)}}
        %w = memref.load %never[%c0] : memref<64xf32, #shared>
      }
      memref.store %x, %s[%c0] : memref<64xf32, #shared>
    }
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// Roles run side by side: the second writes what the first reads.
func.func @roles(%x: f32) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64xf32, #shared>
    tile.ws
    role "reader" threads(0 to 128) {
      %v = memref.load %s[%c0] : memref<64xf32, #shared>
    }
    role "writer" threads(128 to 256) {
      tile.fill %s, %x : memref<64xf32, #shared>, f32
    }
  }
  func.return
}

// -----

#shared = #tile.space<shared>

// So do branches on the number of a thread.
func.func @threads(%x: f32) {
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  tile.kernel (%bx) in (1) threads(256) {
    %s = tile.alloc "s" : memref<64xf32, #shared>
    %t = gpu.thread_id x
    %low = arith.cmpi ult, %t, %c128 : index
    scf.if %low {
      %v = memref.load %s[%c0] : memref<64xf32, #shared>
    } else {
      tile.fill %s, %x : memref<64xf32, #shared>, f32
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// A product that clears its sums in the first iteration reads them in the others only.
func.func @cleared_in_the_first_iteration(%A: memref<64x64xf16, #global>, %n: index) {
  %c0 = arith.constant 0 : index
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x64xf16, #shared>
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.pipeline %k = 0 to %n {
      tile.copy %A -> %a : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
      %first = arith.cmpi eq, %k, %c0 : index
      tile.gemm %a, %a -> %acc clear_if %first : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
    }
  }
  func.return
}

// -----

#global = #tile.space<global>
#shared = #tile.space<shared>
#fragment = #tile.space<fragment>

// Outside of loops nothing else can have written them.
func.func @cleared_at_times(%A: memref<64x64xf16, #global>, %first: i1) {
  tile.kernel (%bx) in (1) threads(128) {
    %a = tile.alloc "a" : memref<64x64xf16, #shared>
    // expected-note @below {{acc is allocated here}}
    %acc = tile.alloc "acc" : memref<64x64xf32, #fragment>
    tile.copy %A -> %a : memref<64x64xf16, #global> -> memref<64x64xf16, #shared>
    // expected-warning @below {{uninitialised read: acc is read before it is written}}
    // expected-note @below {{help: clear it first with T.clear(acc), or pass clear_accum=True to T.gemm}}
    tile.gemm %a, %a -> %acc clear_if %first : memref<64x64xf16, #shared>, memref<64x64xf16, #shared> -> memref<64x64xf32, #fragment>
  }
  func.return
}
