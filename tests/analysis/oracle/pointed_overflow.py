"""Kernels in which sums and products overflow: what rests on their fitting must say so."""

from __future__ import annotations

BODIES: dict[str, str] = {}

BODIES["sums_that_overflow"] = """
  %a = arith.muli %n0, %c4 : i32
  %b = arith.addi %a, %pid : i32
  %d = arith.minsi %a, %c63 : i32
  %e = arith.subi %pid1, %a : i32
  %f = arith.muli %b, %pid1 : i32
  %g = arith.muli %n0, %c4 overflow<nuw> : i32
  %h = arith.muli %pid1, %a : i32
  $ %a
  $ %b
  $ %d
  $ %e
  $ %f
  $ %g
  $ %h
"""

BODIES["choices_that_overflow"] = """
  %a = arith.muli %n0, %c4 : i32
  %t = arith.cmpi sgt, %a, %c63 : i32
  %b = arith.select %t, %pid, %pid1 : i32
  %d = arith.select %t, %n1, %n1 : i32
  %most = arith.constant 2147483647 : i32
  %e = arith.andi %n0, %most : i32
  %f = arith.addi %e, %c16 : i32
  %u = arith.cmpi sgt, %f, %c0 : i32
  %g = arith.select %u, %pid, %n1 : i32
  %h = arith.select %t, %a, %pid : i32
  %k = arith.select %t, %pid, %a : i32
  %at = tt.addptr %p0, %a : !tt.ptr<f32>, i32
  %to = arith.select %u, %at, %p0 : !tt.ptr<f32>
  %v = arith.xori %t, %u : i1
  %w = arith.select %u, %t, %v : i1
  $ %b
  $ %d
  $ %g
  $ %h
  $ %k
  $ %n1, %t
  $ %n1, %v
  $ %n1, %w
  %same = arith.cmpi eq, %t, %no : i1
  $ %n1, %same
  tt.store %to, %z : !tt.ptr<f32>
  scf.if %t {
    $ %n1
  }
"""

BODIES["branches_that_overflow"] = """
  %a = arith.muli %n0, %c4 : i32
  %t = arith.cmpi sgt, %a, %c63 : i32
  %b = scf.if %t -> (i32) {
    scf.yield %a : i32
  } else {
    scf.yield %pid : i32
  }
  $ %b
  %x = tt.call @twice(%n0) : (i32) -> i32
  $ %x
  cf.cond_br %t, ^m(%pid : i32), ^m(%a : i32)
^m(%y: i32):
  $ %y
HELPERS
tt.func private @twice(%x: i32) -> i32 {
  %y = arith.addi %x, %x : i32
  tt.return %y : i32
}
"""

BODIES["loops_that_overflow"] = """
  %a = arith.muli %n0, %c4 : i32
  %d = arith.minsi %a, %c5 : i32
  %r:5 = scf.for %i = %c0 to %c3 step %c1
      iter_args(%x = %a, %y = %pid, %w = %pid, %v = %a, %s = %d) -> (i32, i32, i32, i32, i32)
      : i32 {
    $ %x
    $ %y
    $ %w
    $ %v
    $ %s
    %b = arith.addi %x, %pid : i32
    %e = arith.addi %y, %d : i32
    %f = arith.xori %s, %c1 : i32
    scf.yield %b, %e, %d, %v, %f : i32, i32, i32, i32, i32
  }
  $ %r#0
  $ %r#1
  $ %r#2
  $ %r#3
  scf.for %i = %c0 to %d step %c1 : i32 {
    $ %i
  }
"""

BODIES["tensors_that_overflow"] = """
  %far = arith.addi %s0, %lane : tensor<16xi32>
  %a = arith.muli %s0, %t4 : tensor<16xi32>
  %c15 = arith.constant dense<15> : tensor<16xi32>
  %none = arith.constant dense<0> : tensor<16xi32>
  %b = arith.minsi %a, %c15 : tensor<16xi32>
  %d = arith.maxsi %b, %none : tensor<16xi32>
  %e = tt.gather %place[%d] {axis = 0 : i32} : (tensor<16xi32>, tensor<16xi32>) -> tensor<16xi32>
  %f = tt.join %far, %d : tensor<16xi32> -> tensor<16x2xi32>
  %g:2 = tt.split %f : tensor<16x2xi32> -> tensor<16xi32>
  %h = arith.cmpi sgt, %a, %t16 : tensor<16xi32>
  %k = arith.select %h, %place, %a : tensor<16xi1>, tensor<16xi32>
  $16 %far
  $16 %e
  $16 %g#0
  $16 %g#1
  $16 %k
  $16 %place, %h
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%t = %far, %s = %n1)
      -> (tensor<16xi32>, i32) : i32 {
    $16 %t
    %m = arith.andi %s, %c3 : i32
    %o = arith.xori %m, %c1 : i32
    %v = tt.splat %o : i32 -> tensor<16xi32>
    %w = arith.addi %t, %v : tensor<16xi32>
    scf.yield %w, %o : tensor<16xi32>, i32
  }
"""

BODIES["blocks_that_overflow"] = """
  %a = arith.muli %n0, %c4 : i32
  %d = tt.make_tensor_descriptor %p0, [%a, %c63], [%w64, %w1] : <f32>, <4x16xf32>
  tt.descriptor_store %d[%c0, %c0], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
  %e = tt.make_tensor_descriptor %p0, [%n2, %c63], [%w64, %w1] : <f32>, <4x16xf32>
  tt.descriptor_store %e[%a, %pid], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
"""
