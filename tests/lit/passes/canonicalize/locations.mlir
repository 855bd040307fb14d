// RUN: tilewright-opt %s -canonicalize -mlir-print-debuginfo | filecheck %s

// A folded constant takes the place of the op it came from; of merged constants the first counts.

// CHECK-LABEL: @folded
// CHECK: arith.constant 3 : i32 loc([[SUM:#loc[0-9]*]])
// CHECK: [[SUM]] = loc("kernel.py":7:9)
tt.func @folded() -> i32 {
  %a = arith.constant 1 : i32 loc("kernel.py":5:5)
  %b = arith.constant 2 : i32 loc("kernel.py":6:5)
  %r = arith.addi %a, %b : i32 loc("kernel.py":7:9)
  tt.return %r : i32 loc("kernel.py":8:1)
} loc("kernel.py":4:1)
