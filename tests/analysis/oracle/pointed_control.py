"""Kernels made to show what loops carry, how ways meet, and what calls and program ids do."""

from __future__ import annotations

BODIES: dict[str, str] = {}

# What loops carry.

BODIES["tangled_carries"] = """
  %r:4 = scf.for %i = %c0 to %c5 step %c1 iter_args(%x = %pid, %y = %n0, %w = %n1, %v = %pid1)
      -> (i32, i32, i32, i32) : i32 {
    $ %x
    $ %y
    $ %w
    $ %v
    %a = arith.xori %x, %y : i32
    %b = arith.andi %a, %c63 : i32
    %d = arith.xori %y, %c5 : i32
    %e = arith.xori %w, %x : i32
    %f = arith.andi %v, %c3 : i32
    %g = arith.addi %f, %c3 : i32
    scf.yield %b, %d, %e, %g : i32, i32, i32, i32
  }
  $ %r#0
  $ %r#1
  $ %r#2
  $ %r#3
"""

BODIES["late_carries"] = """
  %r:3 = scf.for %i = %n1 to %c16 step %c3 iter_args(%x = %n0, %y = %pid, %w = %c4)
      -> (i32, i32, i32) : i32 {
    $ %x
    $ %y
    $ %w
    %a = arith.muli %i, %c4 : i32
    %b = arith.addi %a, %pid : i32
    scf.yield %b, %x, %y : i32, i32, i32
  }
  $ %r#0
  $ %r#1
  $ %r#2
"""

BODIES["sums_and_triangles"] = """
  %r:5 = scf.for %i = %c2 to %n1 step %c3
      iter_args(%x = %n0, %y = %pid, %w = %c4, %v = %pid1, %u = %c0)
      -> (i32, i32, i32, i32, i32) : i32 {
    $ %x
    $ %y
    $ %w
    $ %v
    $ %u
    %a = arith.addi %x, %pid : i32
    %b = arith.subi %y, %n0 : i32
    %d = arith.muli %i, %c5 : i32
    %e = arith.addi %w, %d : i32
    %f = arith.muli %i, %c4 : i32
    %g = arith.subi %v, %f : i32
    %h = arith.muli %i, %i : i32
    %k = arith.addi %u, %h : i32
    scf.yield %a, %b, %e, %g, %k : i32, i32, i32, i32, i32
  }
  $ %r#0
  $ %r#1
  $ %r#2
  $ %r#3
  $ %r#4
"""

BODIES["tensors_with_common_steps"] = """
  %r:4 = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %place, %u = %place, %v = %lane, %s = %n0)
      -> (tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, i32) : i32 {
    $16 %t
    $16 %u
    $16 %v
    %a = arith.andi %s, %c3 : i32
    %b = arith.addi %s, %c5 : i32
    %d = arith.xori %b, %pid : i32
    %e = arith.muli %a, %c4 : i32
    %f = tt.splat %e : i32 -> tensor<16xi32>
    %g = arith.addi %t, %f : tensor<16xi32>
    %h = arith.subi %u, %f : tensor<16xi32>
    %k = arith.xori %v, %f : tensor<16xi32>
    scf.yield %g, %h, %k, %d : tensor<16xi32>, tensor<16xi32>, tensor<16xi32>, i32
  }
  $16 %r#0
  $16 %r#1
  $16 %r#2
"""

BODIES["pointers_with_common_steps"] = """
  %ahead = tt.addptr %ps, %place : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
  %one = tt.addptr %p0, %pid : !tt.ptr<f32>, i32
  %r:3 = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %ahead, %u = %one, %s = %n0)
      -> (tensor<16x!tt.ptr<f32>>, !tt.ptr<f32>, i32) : i32 {
    tt.store %t, %zs : tensor<16x!tt.ptr<f32>>
    tt.store %u, %z : !tt.ptr<f32>
    %a = arith.andi %s, %c3 : i32
    %b = arith.addi %s, %c5 : i32
    %d = arith.xori %b, %pid1 : i32
    %f = tt.splat %a : i32 -> tensor<16xi32>
    %g = tt.addptr %t, %f : tensor<16x!tt.ptr<f32>>, tensor<16xi32>
    %h = tt.addptr %u, %a : !tt.ptr<f32>, i32
    scf.yield %g, %h, %d : tensor<16x!tt.ptr<f32>>, !tt.ptr<f32>, i32
  }
  tt.store %r#0, %zs : tensor<16x!tt.ptr<f32>>
  tt.store %r#1, %z : !tt.ptr<f32>
"""

BODIES["pointers_that_change_places"] = """
  %one = tt.addptr %p0, %pid : !tt.ptr<f32>, i32
  %two = tt.addptr %p1, %n0 : !tt.ptr<f32>, i32
  %r:2 = scf.for %i = %c0 to %c5 step %c1 iter_args(%t = %one, %u = %two)
      -> (!tt.ptr<f32>, !tt.ptr<f32>) : i32 {
    tt.store %t, %z : !tt.ptr<f32>
    %a = tt.addptr %u, %pid1 : !tt.ptr<f32>, i32
    scf.yield %a, %t : !tt.ptr<f32>, !tt.ptr<f32>
  }
  tt.store %r#0, %z : !tt.ptr<f32>
"""

BODIES["carried_conditions"] = """
  %odd = arith.cmpi slt, %n0, %n1 : i32
  %r:4 = scf.for %i = %c0 to %c5 step %c1 iter_args(%f = %yes, %g = %odd, %h = %odd, %k = %no)
      -> (i1, i1, i1, i1) : i32 {
    scf.if %f {
      $ %pid
    }
    scf.if %g {
      $ %n0
    }
    scf.if %h {
      $ %n1
    }
    scf.if %k {
      $ %i
    }
    %a = arith.cmpi sgt, %pid, %i : i32
    %b = arith.xori %g, %a : i1
    %d = arith.cmpi eq, %i, %c2 : i32
    scf.yield %a, %b, %h, %d : i1, i1, i1, i1
  }
  scf.if %r#0 {
    $ %pid
  }
  scf.if %r#1 {
    $ %n0
  }
  scf.if %r#3 {
    $ %n1
  }
"""

BODIES["floats_that_become_indices"] = """
  %start = arith.sitofp %pid : i32 to f32
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%f = %start, %g = %z) -> (f32, f32) : i32 {
    %a = arith.fptosi %f : f32 to i32
    %b = arith.fptosi %g : f32 to i32
    $ %a
    $ %b
    %d = arith.sitofp %n0 : i32 to f32
    %e = arith.addf %g, %d : f32
    %h = arith.addf %f, %e : f32
    scf.yield %h, %e : f32, f32
  }
  %k = arith.fptosi %r#0 : f32 to i32
  %m = arith.fptosi %r#1 : f32 to i32
  $ %k
  $ %m
"""

BODIES["a_while_that_carries"] = """
  %r:3 = scf.while (%x = %pid, %y = %n0, %w = %pid1) : (i32, i32, i32) -> (i32, i32, i32) {
    %a = arith.cmpi slt, %x, %c8 : i32
    %b = arith.addi %y, %c1 : i32
    scf.condition(%a) %x, %b, %w : i32, i32, i32
  } do {
  ^bb0(%x: i32, %y: i32, %w: i32):
    $ %x
    $ %y
    $ %w
    %d = arith.addi %x, %c3 : i32
    %e = arith.xori %w, %y : i32
    scf.yield %d, %y, %e : i32, i32, i32
  }
  $ %r#0
  $ %r#1
  $ %r#2
"""

BODIES["a_deep_nest"] = """
  scf.for %i = %c0 to %c2 step %c1 : i32 {
    scf.for %j = %c0 to %c2 step %c1 : i32 {
      scf.for %k = %pid to %c2 step %c1 : i32 {
        scf.for %l = %c0 to %c2 step %c1 : i32 {
          %r = scf.for %m = %l to %c2 step %c1 iter_args(%x = %pid1) -> (i32) : i32 {
            $ %x
            $ %m
            %y = arith.addi %x, %k : i32
            scf.yield %y : i32
          }
          $ %r
        }
      }
    }
  }
"""

BODIES["carried_blocks"] = """
  %w0 = arith.extsi %n2 : i32 to i64
  %b = tt.make_tensor_ptr %p0, [%w0, %w64], [%w64, %w1], [%pid, %c4] {order = array<i32: 1, 0>}
      : <tensor<4x16xf32>>
  %d = tt.make_tensor_descriptor %p0, [%n2, %c63], [%w64, %w1] : <f32>, <4x16xf32>
  %e = tt.make_tensor_descriptor %p1, [%n0, %c16], [%w16, %w1] : <f32>, <4x16xf32>
  %r:4 = scf.for %i = %c0 to %c4 step %c1 iter_args(%x = %b, %y = %d, %u = %e, %s = %n0)
      -> (!tt.ptr<tensor<4x16xf32>>, !tt.tensordesc<4x16xf32>, !tt.tensordesc<4x16xf32>, i32)
      : i32 {
    tt.store %x, %zb {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4x16xf32>>
    tt.descriptor_store %y[%s, %c4], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
    tt.descriptor_store %u[%c0, %i], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
    %a = arith.andi %s, %c3 : i32
    %k = arith.xori %a, %pid1 : i32
    %m = tt.advance %x, [%k, %c16] : <tensor<4x16xf32>>
    scf.yield %m, %u, %y, %k
      : !tt.ptr<tensor<4x16xf32>>, !tt.tensordesc<4x16xf32>, !tt.tensordesc<4x16xf32>, i32
  }
  tt.store %r#0, %zb {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<4x16xf32>>
  tt.descriptor_store %r#1[%c0, %c4], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
"""

# Choices.

BODIES["chosen_pointers"] = """
  %t = arith.cmpi slt, %pid, %n0 : i32
  %one = tt.addptr %p0, %pid : !tt.ptr<f32>, i32
  %two = tt.addptr %p1, %n0 : !tt.ptr<f32>, i32
  %three = tt.addptr %p0, %n1 : !tt.ptr<f32>, i32
  %a = arith.select %t, %one, %two : !tt.ptr<f32>
  %b = arith.select %t, %one, %three : !tt.ptr<f32>
  tt.store %a, %z : !tt.ptr<f32>
  tt.store %b, %z : !tt.ptr<f32>
  %d = scf.if %t -> (!tt.ptr<f32>) {
    scf.yield %three : !tt.ptr<f32>
  } else {
    scf.yield %one : !tt.ptr<f32>
  }
  tt.store %d, %z : !tt.ptr<f32>
  %e = scf.if %t -> (!tt.ptr<f32>) {
    scf.yield %two : !tt.ptr<f32>
  } else {
    scf.yield %one : !tt.ptr<f32>
  }
  tt.store %e, %z : !tt.ptr<f32>
  cf.cond_br %t, ^m(%three : !tt.ptr<f32>), ^m(%two : !tt.ptr<f32>)
^m(%f: !tt.ptr<f32>):
  tt.store %f, %z : !tt.ptr<f32>
"""

BODIES["chosen_blocks"] = """
  %t = arith.cmpi slt, %pid, %n0 : i32
  %b = tt.make_tensor_ptr %p0, [%w16, %w64], [%w64, %w1], [%pid, %c4] {order = array<i32: 1, 0>}
      : <tensor<4x16xf32>>
  %c = tt.make_tensor_ptr %p0, [%w64, %w16], [%w16, %w1], [%n0, %c0] {order = array<i32: 1, 0>}
      : <tensor<4x16xf32>>
  %d = tt.make_tensor_descriptor %p0, [%n2, %c63], [%w64, %w1] : <f32>, <4x16xf32>
  %e = tt.make_tensor_descriptor %p1, [%n0, %c16], [%w16, %w1] : <f32>, <4x16xf32>
  %f = arith.select %t, %b, %c : !tt.ptr<tensor<4x16xf32>>
  tt.store %f, %zb {boundaryCheck = array<i32: 0, 1>} : !tt.ptr<tensor<4x16xf32>>
  %g = arith.select %t, %d, %e : !tt.tensordesc<4x16xf32>
  tt.descriptor_store %g[%pid, %c4], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
  %h = scf.if %t -> (!tt.tensordesc<4x16xf32>) {
    scf.yield %e : !tt.tensordesc<4x16xf32>
  } else {
    scf.yield %d : !tt.tensordesc<4x16xf32>
  }
  tt.descriptor_store %h[%c0, %pid], %zb : !tt.tensordesc<4x16xf32>, tensor<4x16xf32>
"""

BODIES["chosen_numbers"] = """
  %t = arith.cmpi slt, %pid, %n0 : i32
  %u = arith.cmpi sgt, %pid1, %n1 : i32
  %a = arith.select %t, %pid, %pid1 : i32
  %b = arith.select %t, %pid, %pid : i32
  %d = arith.select %u, %n0, %n1 : i32
  %e = arith.muli %pid, %c4 : i32
  %f = arith.addi %e, %n0 : i32
  %g = arith.addi %e, %n1 : i32
  %h = arith.select %u, %f, %g : i32
  %k = arith.select %yes, %f, %a : i32
  $ %a
  $ %b
  $ %d
  $ %h
  $ %k
  %m = arith.select %t, %u, %no : i1
  %o = arith.select %u, %t, %yes : i1
  scf.if %m {
    $ %pid
  }
  scf.if %o {
    $ %pid1
  }
  %v = arith.cmpi slt, %lane, %s0 : tensor<16xi32>
  %w = arith.select %v, %place, %lane : tensor<16xi1>, tensor<16xi32>
  %x = arith.select %v, %place, %s1 : tensor<16xi1>, tensor<16xi32>
  $16 %w
  $16 %x
"""

BODIES["ways_that_meet"] = """
  %t = arith.cmpi slt, %pid, %n0 : i32
  %u = arith.cmpi sgt, %pid1, %n1 : i32
  cf.cond_br %t, ^a, ^b(%n0 : i32)
^a:
  $ %pid
  cf.cond_br %u, ^b(%pid : i32), ^c(%pid1, %t : i32, i1)
^b(%x: i32):
  $ %x
  cf.br ^c(%x, %u : i32, i1)
^c(%y: i32, %v: i1):
  $ %y
  scf.if %v {
    $ %pid1
  }
  cf.cond_br %v, ^d, ^e
^d:
  $ %n1
  tt.return
^e:
  $ %n0
"""

# Programs.

BODIES["several_axes"] = """
  %np = tt.get_num_programs y : i32
  %pid2 = tt.get_program_id z : i32
  %a = arith.muli %pid, %n0 : i32
  %b = arith.muli %pid1, %c16 : i32
  %d = arith.addi %a, %b : i32
  %e = arith.muli %pid, %pid1 : i32
  %f = arith.muli %pid, %np : i32
  %g = arith.addi %f, %pid1 : i32
  %h = arith.divsi %g, %c2 : i32
  %k = arith.remsi %g, %c2 : i32
  %m = arith.muli %h, %n0 : i32
  %o = arith.addi %m, %k : i32
  %v = arith.muli %pid, %pid : i32
  %w = arith.addi %d, %pid2 : i32
  %x = arith.subi %pid, %pid : i32
  %y = arith.xori %pid, %c1 : i32
  $ %d
  $ %e
  $ %g
  $ %h
  $ %o
  $ %v
  $ %w
  $ %x
  $ %y
  scf.for %i = %pid to %c8 step %np : i32 {
    %s = arith.muli %i, %pid1 : i32
    %t = arith.muli %i, %n0 : i32
    %u = arith.addi %t, %k : i32
    $ %s
    $ %u
  }
"""

BODIES["calls"] = """
  %a = tt.call @inner(%pid, %n0) : (i32, i32) -> i32
  $ %a
  %b = tt.call @inner(%a, %pid1) : (i32, i32) -> i32
  $ %b
  tt.call @outer(%p0, %pid) : (!tt.ptr<f32>, i32) -> ()
  tt.call @outer(%p1, %n0) : (!tt.ptr<f32>, i32) -> ()
HELPERS
tt.func private @inner(%x: i32, %y: i32) -> i32 {
  %c1 = arith.constant 1 : i32
  %t = arith.cmpi slt, %x, %y : i32
  cf.cond_br %t, ^a, ^b
^a:
  %s = arith.addi %x, %c1 : i32
  tt.return %s : i32
^b:
  %u = arith.muli %y, %x : i32
  tt.return %u : i32
}
tt.func private @outer(%p: !tt.ptr<f32>, %x: i32) {
  %z = arith.constant 0.0 : f32
  %c2 = arith.constant 2 : i32
  %a = tt.call @inner(%x, %c2) : (i32, i32) -> i32
  %q = tt.addptr %p, %a : !tt.ptr<f32>, i32
  tt.store %q, %z : !tt.ptr<f32>
  tt.return
}
"""
