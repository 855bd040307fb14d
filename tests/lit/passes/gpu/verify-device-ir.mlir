// RUN: tilewright-opt -verify-device-ir -split-input-file -verify-diagnostics %s

#s = #tile.space<shared>

func.func @tile_op(%v: f32) attributes {simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 64 : i64} {
  %S = tile.alloc "S" offset 0 : memref<16xf32, #s>
  // expected-error @+1 {{internal compiler error: 'tile.fill' was not lowered}}
  tile.fill %S, %v : memref<16xf32, #s>, f32
  func.return
}

// -----

#s = #tile.space<shared>

func.func @places(%v: f32, %i: index) attributes {simt.kernel, simt.threads = 128 : i64, simt.shared_bytes = 64 : i64} {
  // expected-error @+1 {{'A' has no shared-memory offset}}
  %A = tile.alloc "A" : memref<16xf32, #s>
  // expected-error @+1 {{'B' ends at byte 96, past the end of the 64 B arena}}
  %B = tile.alloc "B" offset 32 : memref<16xf32, #s>
  memref.store %v, %A[%i] : memref<16xf32, #s>
  memref.store %v, %B[%i] : memref<16xf32, #s>
  func.return
}

// -----

func.func @divergent() attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %tid = gpu.thread_id x
  %first = arith.cmpi eq, %tid, %c0 : index
  scf.if %first {
    // expected-error @+1 {{barrier under a divergent condition}}
    gpu.barrier
  }
  func.return
}

// -----

func.func @lane() attributes {simt.kernel, simt.threads = 128 : i64} {
  %c0 = arith.constant 0 : index
  %lane = gpu.lane_id
  %first = arith.cmpi eq, %lane, %c0 : index
  scf.if %first {
    // expected-error @+1 {{barrier under a divergent condition}}
    gpu.barrier
  }
  func.return
}

// -----

// A barrier of some threads may be where they are.

func.func @some_threads() attributes {simt.kernel, simt.threads = 128 : i64} {
  %c64 = arith.constant 64 : index
  %tid = gpu.thread_id x
  %half = arith.cmpi ult, %tid, %c64 : index
  scf.if %half {
    nv.bar sync 3, 64
  }
  scf.if %half {
    // expected-error @+1 {{barrier under a divergent condition}}
    nv.bar sync 3, 128
  }
  func.return
}
