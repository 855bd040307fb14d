// RUN: tilewright-opt -remark-register-indices -split-input-file -verify-diagnostics %s

#l = #tile.space<local>

// Constant once loops are unrolled.

func.func @unrolled(%v: f32) attributes {simt.kernel, simt.threads = 128 : i64} {
  %L = tile.alloc "L" : memref<16xf32, #l>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  scf.for %i = %zero to %four step %one {
    scf.for %j = %zero to %four step %one {
      %row = arith.muli %i, %four : index
      %place = arith.addi %row, %j : index
      memref.store %v, %L[%place] : memref<16xf32, #l>
    }
  }
  func.return
}

// -----

#l = #tile.space<local>

func.func @counted_by_the_run(%v: f32, %n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %L = tile.alloc "L" : memref<16xf32, #l>
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  scf.for %i = %zero to %n step %one {
    // expected-remark @+2 {{'L' is indexed by a run-time value: registers have no addresses, so its 16 elements (64 B per thread) are placed in local memory or selected by comparisons}}
    // expected-note @+1 {{help: make the index constant by unrolling}}
    memref.store %v, %L[%i] : memref<16xf32, #l>
    // Said once.
    %x = memref.load %L[%i] : memref<16xf32, #l>
  }
  func.return
}

// -----

#l = #tile.space<local>

// A cell has no index, and what is no kernel is not looked at.

func.func @cell(%n: index) attributes {simt.kernel, simt.threads = 128 : i64} {
  %L = tile.alloc "L" : memref<1xf32, #l>
  %x = memref.load %L[%n] : memref<1xf32, #l>
  func.return
}
func.func @host(%n: index) {
  %L = tile.alloc "L" : memref<16xf32, #l>
  %x = memref.load %L[%n] : memref<16xf32, #l>
  func.return
}
