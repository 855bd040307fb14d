// RUN: tilewright-opt %s --expand-explicit-unroll --split-input-file --verify-diagnostics

func.func @unknown(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{needs bounds that are known at compile time}}
  scf.for %i = %c0 to %n step %c1 {
  } {tile.unroll_explicit}
  func.return
}

// -----

func.func @both(%n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @+1 {{explicit=True writes out every turn, unroll_factor some: give one of them}}
  scf.for %i = %c0 to %c1 step %c1 {
  } {tile.unroll_explicit, tile.unroll_factor = 4 : i64}
  func.return
}
