// RUN: tilewright-opt %s --expand-explicit-unroll --split-input-file --verify-diagnostics

func.func @unknown(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{explicit=True: the loop bounds are run-time values}}
  scf.for %i = %c0 to %n step %c1 {
  } {tile.unroll_explicit}
  func.return
}

// -----

func.func @both(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{explicit=True and unroll_factor are mutually exclusive}}
  scf.for %i = %c0 to %c1 step %c1 {
  } {tile.unroll_explicit, tile.unroll_factor = 4 : i64}
  func.return
}
